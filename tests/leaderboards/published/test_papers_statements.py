"""Where the papers' texts contradict their own tables: the numbers of the notes are computed from the tables again."""

from __future__ import annotations

import pandas as pd
import pytest

from bench.leaderboards.published.papers import papers

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


def computed() -> dict[str, float]:
    """The numbers of all contradictions, from the tables."""
    of_sizes = {name: table("histalign/table1", backbone=name, columns="Acc") for name in ORIGINALS}
    full, cache = ([f"{mode} Acc@{k}" for k in (2, 5, 10, 25)] for mode in ("Full", "Cache-Only"))
    trime = {name: sizes.loc[TRIME] - sizes.loc[ORIGINALS[name]] for name, sizes in of_sizes.items()}
    informative = table("histalign/table6")["Informativeness"]
    adadec, sizes = table("adadec/table2"), table("f2softmax/table6").iloc[0] / 1e6
    uniq, lyrics = table("f2softmax/table1", WIKI)["Uniq"], away("f2softmax/table1", LYRICS).drop(columns="PPL")
    counted = ["PPL", "KLD", "Rep", "Uniq", "MS-Jaccard n=2", "Self-BLEU n=2", "Distinct n=2"]
    duel = away("f2softmax/table2", LYRICS)[counted]
    return {
        "histalign-best-everywhere": sum((one.loc[HIST] == one.max()).sum() for one in of_sizes.values()),
        "trime-over-original": sum((one[full] > 0).sum() for one in trime.values()),
        "trime-cache-as-original": max(one[cache[:2]].abs().max() for one in trime.values()),
        "informativeness-drop": (informative[HIST] < informative[[BART, TRIME]]).sum(),
        "adadec-over-seq2seq": (adadec.loc["This work (ADADEC)"] - adadec.loc["This work (SEQ2SEQ)"]).min(),
        "lyrics-parameters": sizes["Wikitext-103"] + (2 * 10_000 * 512 - 512 * 512) / 1e6,
        "uniq-gain": 100 * (uniq[F2] / uniq[SEQ] - 1),
        "lyrics-nearest": (lyrics.loc[F2] <= lyrics.min()).drop("Uniq").sum(),
        "seq-worst-ms-jaccard": sum((one.idxmin() == SEQ).sum() for one in of_table_2("MS-Jaccard")),
        "face-self-bleu": below_mle("Self-BLEU"),
        "face-ms-jaccard": below_mle("MS-Jaccard"),
        "duel Melo-Lyrics: MLE beats UL-token": (duel.loc["MLE"] < duel.loc["UL-token"]).sum(),
    }


def test_notes_on_contradictions_have_the_numbers_of_the_tables() -> None:
    notes = {one.id: one for paper in papers() for one in paper.inconsistencies}
    assert {name: note.computed for name, note in notes.items()} == pytest.approx(computed(), abs=0.005)
    assert all(note.printed != note.computed for note in notes.values())


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
