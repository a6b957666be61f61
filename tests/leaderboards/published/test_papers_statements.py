"""Where the papers' texts contradict their own tables: the numbers of the notes are computed from the tables again."""

import pandas as pd
import pytest

from bench.leaderboards.published.papers import paper_table, papers

WIKI, LYRICS = "(a)", "(b)"
F2, SEQ, HUMAN = "F²-Softmax", "UL-token+seq", "Human"
METHODS = ["MLE", "FACE", "UL-token", SEQ, F2]
HIST, TRIME, BART = "HISTALIGN", "TRIME", "BART"
ORIGINALS = {"gpt2": "GPT2-Small", "gpt2-large": "GPT2-Large"}
CELLS = pd.DataFrame(
    {"address": table.address, **cell.model_dump()}
    for paper in papers()
    for table in paper.tables
    for row in table.rows
    for cell in row
)


def table(address: str, part: str = "", backbone: str = "", columns: str = "") -> pd.DataFrame:
    """The numbers of a part of a table, by row and column; those of columns that contain some text."""
    kept = CELLS[(CELLS.address == address) & CELLS.part.str.startswith(part) & CELLS.column.str.contains(columns)]
    if backbone:
        kept = kept[kept.backbone == backbone]
    return kept.pivot(index="row", columns="column", values="value")


def away(address: str, part: str) -> pd.DataFrame:
    """How far each method is from the best there can be: from people where they have a number; lower is better."""
    numbers = table(address, part)
    found = (numbers - numbers.loc[HUMAN]).abs()
    for column in found:
        if column in ("PPL", "KLD"):
            found[column] = numbers[column]
        elif column.startswith("MS-Jaccard"):
            found[column] = -numbers[column]
    return found.loc[METHODS].round(9)


def below_mle(columns: str) -> int:
    """In how many columns of table 2 FACE is below MLE."""
    return sum((numbers.loc["FACE"] < numbers.loc["MLE"]).sum() for numbers in of_table_2(columns))


def of_table_2(columns: str) -> list[pd.DataFrame]:
    """The methods' numbers on each data set."""
    return [table("f2softmax/table2", part, columns=columns).loc[METHODS] for part in (WIKI, LYRICS)]


def contradictions() -> list[tuple[str, str, float, float]]:
    """A table, a part of its sentence on a contradiction, the number that this has, and that from the tables."""
    of_sizes = {name: table("histalign/table1", backbone=name, columns="Acc") for name in ORIGINALS}
    full, cache = ([f"{mode} Acc@{k}" for k in (2, 5, 10, 25)] for mode in ("Full", "Cache-Only"))
    trime = {name: sizes.loc[TRIME] - sizes.loc[ORIGINALS[name]] for name, sizes in of_sizes.items()}
    informative = table("histalign/table6")["Informativeness"]
    adadec, sizes = table("adadec/table2"), table("f2softmax/table6").iloc[0] / 1e6
    uniq, lyrics = table("f2softmax/table1", WIKI)["Uniq"], away("f2softmax/table1", LYRICS).drop(columns="PPL")
    counted = ["PPL", "KLD", "Rep", "Uniq", "MS-Jaccard n=2", "Self-BLEU n=2", "Distinct n=2"]
    duel = away("f2softmax/table2", LYRICS)[counted]
    return [
        ("histalign/table1", "best alone in 14 of 16 columns, tied in one", 15,
         sum((one.loc[HIST] == one.max()).sum() for one in of_sizes.values())),
        ("histalign/table1", "above the original in 6 of 8 full columns", 6,
         sum((one[full] > 0).sum() for one in trime.values())),
        ("histalign/table1", "at k = 5 they are 22.32 and 37.83", 15.51,
         max(one[cache[:2]].abs().max() for one in trime.values())),
        ("histalign/table6", "65.33 is below TRIME's 66.33 and above BART's 63.67", 1,
         (informative[HIST] < informative[[BART, TRIME]]).sum()),
        ("adadec/table2", "printed 1.1, computed 1.0", 1.0,
         (adadec.loc["This work (ADADEC)"] - adadec.loc["This work (SEQ2SEQ)"]).min()),
        ("f2softmax/table6", "printed 76.5, computed 78.98", 78.98,
         sizes["Wikitext-103"] + (2 * 10_000 * 512 - 512 * 512) / 1e6),
        ("f2softmax/table1", "printed 30, computed 48.11", 48.11,
         100 * (uniq[F2] / uniq[SEQ] - 1)),
        ("f2softmax/table1", "it is in 10 of their 11 columns", 10,
         (lyrics.loc[F2] <= lyrics.min()).drop("Uniq").sum()),
        ("f2softmax/table2", "it is in 5 of 6 columns", 5,
         sum((one.idxmin() == SEQ).sum() for one in of_table_2("MS-Jaccard"))),
        ("f2softmax/table2", "it is lower in 3 of 6 columns", 3,
         below_mle("Self-BLEU")),
        ("f2softmax/table2", "it does in 4 of 6 columns", 4,
         below_mle("MS-Jaccard")),
        ("f2softmax/table9a", "printed 4, computed 5", 5,
         (duel.loc["MLE"] < duel.loc["UL-token"]).sum()),
    ]  # fmt: skip


def test_notes_on_contradictions_have_the_numbers_of_the_tables() -> None:
    found = contradictions()
    for address, part, number, computed in found:
        (_,) = [sentence for sentence in paper_table(address).contradictions if part in sentence]
        assert number == pytest.approx(computed, abs=0.005), part
    sentences = {sentence for paper in papers() for table in paper.tables for sentence in table.contradictions}
    assert len(sentences) == len(found)


def test_one_number_in_two_tables_is_one_number() -> None:
    """Tables 1 and 10 of F2-Softmax print the same numbers; so do 1 and 2 for perplexity."""
    for part, k, shared in ((WIKI, 3, 63), (LYRICS, 20, 42)):
        first, again = table("f2softmax/table1", part).loc[METHODS], CELLS[CELLS.address == "f2softmax/table10"]
        again = again[again.part.str.startswith(part) & again.part.str.endswith(f"={k}")]
        both = again[~again.printed.str.endswith("?")].dropna(subset="value")
        assert [first.at[row, column] for row, column in zip(both.row, both.column, strict=True)] == list(both.value)
        assert len(both) == shared
        perplexity = table("f2softmax/table2", part).loc[METHODS, "PPL"]
        assert first["PPL"].tolist() == perplexity.tolist()
