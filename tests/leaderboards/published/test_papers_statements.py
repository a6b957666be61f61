"""What the papers' texts say of their own tables, added up again; what does not add up is in the files, and no more."""

from itertools import product

import pytest

from bench.leaderboards.published.papers import paper_table, papers

WIKI, LYRICS = "(a)", "(b)"
F2, SEQ = "F²-Softmax", "UL-token+seq"
HUMAN = "Human"
HIST, BART = "HISTALIGN", "BART"
N = ("n=1", "n=2", "n=3")
ONE = ("PPL", "KLD", "Rep", "Uniq")


def at(address, row, column, part="", backbone=""):
    """The number of one cell; an address without paper and table is an error here and not a default."""
    (found,) = (
        c
        for cells in paper_table(address).rows
        for c in cells
        if c.row == row and c.column == column and c.part.startswith(part) and backbone in ("", c.backbone)
    )
    assert found.value is not None
    return found.value


def f2(table, row, column, part):
    return at(f"f2softmax/{table}", row, column, part)


def gain(address, better, worse, column, **where):
    return at(address, better, column, **where) - at(address, worse, column, **where)


def fall(part, row, column, table="table1"):
    """How far below MLE a row is, in percent of MLE."""
    mle = f2(table, "MLE", column, part)
    return 100 * (mle - f2(table, row, column, part)) / mle


def mean_gap(row, metric):
    """Mean over n of the distance from people, in percent of theirs."""
    pairs = [(f2("table1", row, f"{metric} {n}", WIKI), f2("table1", HUMAN, f"{metric} {n}", WIKI)) for n in N]
    return sum(100 * abs(one - people) / people for one, people in pairs) / 3


def nearest_in(columns, part, table="table1"):
    """In how many columns F2-Softmax is best: nearest to people where there is such a number; ties count."""
    methods, count = ("MLE", "FACE", "UL-token", SEQ, F2), 0
    for column in columns:
        values = {m: f2(table, m, column, part) for m in methods}
        if column == "KLD" or column.startswith("MS"):
            away = {m: v if column == "KLD" else -v for m, v in values.items()}
        else:
            away = {m: abs(v - f2(table, HUMAN, column, part)) for m, v in values.items()}
        count += away[F2] <= min(away.values()) + 1e-9
    return count


def duel(one, other, part):
    """(Wins, losses) over seven metrics: n = 2, and nearest to people for all that has a number of theirs."""
    wins = losses = 0
    for column in ("PPL", "KLD", "MS-Jaccard n=2", "Self-BLEU n=2", "Distinct n=2", "Rep", "Uniq"):
        a, b = (f2("table2", m, column, part) for m in (one, other))
        if column in ("PPL", "KLD"):
            a, b = -a, -b
        elif not column.startswith("MS"):
            people = f2("table2", HUMAN, column, part)
            a, b = -abs(a - people), -abs(b - people)
        wins, losses = wins + (a - b > 1e-9), losses + (b - a > 1e-9)
    return wins, losses


def best_accuracies():
    columns = [f"{mode} Acc@{k}" for mode in ("Full", "Cache-Only") for k in (2, 5, 10, 25)]
    cells = [c for row in paper_table("histalign/table1").rows for c in row if c.column in columns]
    values = {}
    for cell in cells:
        values.setdefault((cell.backbone, cell.column), []).append(cell.value)
    return sum(c.value == max(values[c.backbone, c.column]) for c in cells if c.row == HIST)


def faithful():
    """In how many of twelve comparisons HistAlign is the more faithful."""
    pairs = product(("XSum", "CNN/DM"), (("FactCC", 1), ("DAE", -1), ("P_ent", 1)), (BART, "TRIME"))
    return sum(
        sign * gain("histalign/table5", HIST, other, f"{data} {metric}") > 0 for data, (metric, sign), other in pairs
    )


def smallest(table, better, worse, columns):
    return round(min(gain(f"adadec/{table}", better, worse, column) for column in columns), 6)


def votes(row, column, of=300):
    """The printed share that the whole number of votes behind it would have."""
    table = "histalign/table4" if row == HIST and " " in column else "histalign/table6"
    return round(100 * round(at(table, row, column) * of / 100) / of, 2)


def wins(method, column, of="beats"):
    """How often a method wins or loses in Table 9a."""
    pairs = [row[0].row.replace(SEQ, "UL-token-seq").split(" beats ") for row in paper_table("f2softmax/table9a").rows]
    return sum(pair[0 if column == "Wins" else 1] == method for pair in pairs)


T1, T3, T4, T5, T7 = (f"histalign/table{n}" for n in (1, 3, 4, 5, 7))
SMALL, LARGE = {"backbone": "gpt2"}, {"backbone": "gpt2-large"}
OURS = [f"This work ({name})" for name in ("SEQ2SEQ", "ATTEXP", "ADADEC")]
RG = ("RG-1", "RG-2", "RG-L")
BASIC = "Cao et al., 2018a (BASIC)"
ORIGINALS = (("GPT2-Small", "gpt2"), ("GPT2-Large", "gpt2-large"))
PARAMETERS = "Total # of parameters"

# name: (printed, computed, how far they may be apart: half of the last printed digit if nothing else is said)
STATEMENTS = {
    "histalign-best-everywhere": (16, best_accuracies(), 0),
    "trime-over-original": (8, sum(gain(T1, "TRIME", original, f"Full Acc@{k}", backbone=backbone) > 0
                                   for k in (2, 5, 10, 25) for original, backbone in ORIGINALS), 0),
    "trime-cache-as-original": (0, max(
        abs(at(T1, "TRIME", f"Cache-Only Acc@{k}", backbone=backbone)
            - at(T1, original, f"Cache-Only Acc@{k}", backbone=backbone))
        for k in (2, 5) for original, backbone in ORIGINALS), 5),
    "coherence-over-gpt2": (7.5, gain(T3, HIST, "GPT2-small", "coherence", **SMALL), 0.05),
    "coherence-over-trime": (3.7, gain(T3, HIST, "TRIME", "coherence", **SMALL), 0.05),
    "mauve-over-gpt2": (0.8, gain(T3, HIST, "GPT2-small", "MAUVE", **SMALL), 0.05),
    "mauve-over-trime": (0.7, gain(T3, HIST, "TRIME", "MAUVE", **SMALL), 0.05),
    "mauve-large": (0.7, gain(T3, HIST, "GPT2-large", "MAUVE", **LARGE), 0.05),
    "votes-lost": (19.66, votes(HIST, "Coherence Lose"), 0.01),  # cut after two decimals
    "informativeness-drop": (2, sum(gain("histalign/table6", HIST, other, "Informativeness") < 0
                                    for other in (BART, "TRIME")), 0),
    **{f"votes-{c}": (at(T4, HIST, c), votes(HIST, c), 0.005)
       for c in ("Fluency Win", "Fluency Tie", "Fluency Lose", "Coherence Win", "Coherence Tie")},
    **{f"votes-{row}-{c}": (at("histalign/table6", row, c), votes(row, c), 0.005)
       for row in (BART, "TRIME", HIST) for c in ("Faithfulness", "Informativeness")},
    "factcc": (0.91, gain(T5, HIST, BART, "XSum FactCC"), 0.005),
    "dae": (4.78, -gain(T5, HIST, BART, "XSum DAE"), 0.005),
    "p_ent": (3, gain(T5, HIST, BART, "XSum P_ent"), 0.5),
    "faithful-everywhere": (12, faithful(), 0),
    "tapex-over-bart": (0.6, gain(T7, HIST, BART, "TX"), 0.05),
    "tapex-over-trime": (0.8, gain(T7, HIST, "TRIME", "TX"), 0.05),
    "tapas-over-bart": (1.74, gain(T7, HIST, BART, "TS"), 0.005),
    "best-of-logicnlg": (6, sum(gain(T7, HIST, other, c) > 0 for c in ("BLEU-1", "BLEU-2", "BLEU-3", "NA", "TX", "TS")
                                for other in (BART, "TRIME")) / 2, 0),
    "gap-self-bleu": (3.4, mean_gap(F2, "Self-BLEU"), 0.14),
    "gap-self-bleu-second": (6.5, mean_gap("FACE", "Self-BLEU"), 0.05),
    "gap-distinct": (3, mean_gap(F2, "Distinct"), 0.5),
    "gap-distinct-second": (8.1, mean_gap(SEQ, "Distinct"), 0.05),
    "rep-gain": (50, fall(WIKI, F2, "Rep"), 1),
    "uniq-gain": (30, 100 * (f2("table1", F2, "Uniq", WIKI) / f2("table1", SEQ, "Uniq", WIKI) - 1), 0.5),
    "kld-gain": (59, fall(WIKI, F2, "KLD"), 0.5),
    "ms-jaccard-gain": (19, -sum(fall(WIKI, F2, f"MS-Jaccard {n}") for n in N) / 3, 0.5),
    "smallest-ppl-drop": (F2, min(("FACE", "UL-token", SEQ, F2), key=lambda m: f2("table1", m, "PPL", WIKI)), 0),
    "lyrics-nearest": (11, nearest_in(["KLD", "Rep", *(f"{m} {n}" for m in ("MS-Jaccard", "Self-BLEU", "Distinct")
                                                       for n in N)], LYRICS), 0),
    "seq-best-distinct-rep": (8, sum(max(("MLE", "FACE", "UL-token", SEQ, F2), key=lambda m: sign * f2(
        "table2", m, column, part)) == SEQ for part in (WIKI, LYRICS) for column, sign in
        (("Distinct n=1", 1), ("Distinct n=2", 1), ("Distinct n=3", 1), ("Rep", -1))), 0),
    "seq-worst-ms-jaccard": (6, sum(min(("MLE", "FACE", "UL-token", SEQ, F2), key=lambda m: f2(
        "table2", m, f"MS-Jaccard {n}", part)) == SEQ for part in (WIKI, LYRICS) for n in N), 0),
    "face-self-bleu": (6, sum(fall(part, "FACE", f"Self-BLEU {n}", "table2") > 0 for part in (WIKI, LYRICS)
                              for n in N), 0),
    "face-ms-jaccard": (6, sum(fall(part, "FACE", f"MS-Jaccard {n}", "table2") > 0 for part in (WIKI, LYRICS)
                               for n in N), 0),
    "seven-of-eight": (7, wins(F2, "Wins"), 0),
    **{f"{what}-{m}": (at("f2softmax/table9b", m, what), wins(m, what), 0)
       for m in (F2, "UL-token", "FACE", "MLE", "UL-token-seq") for what in ("Wins", "Losses")},
    "not-decoupled-above-mle": (4, sum(
        sign * gain("f2softmax/table3", f"{F2}, not decoupled", "MLE", column) > 0
        for column, sign in (("KLD", -1), ("MSJ", 1), ("SB", -1), ("Uniq", 1))), 0),
    "lyrics-parameters": (at("f2softmax/table6", PARAMETERS, "Melo-Lyrics") / 1e6, (
        at("f2softmax/table6", PARAMETERS, "Wikitext-103") + 2 * 10_000 * 512 - 512 * 512) / 1e6, 0.1),
    "songs": (478e3, sum(c.value for row in paper_table("f2softmax/table5").rows for c in row
                         if c.row == "# of songs"), 1e3),
    "nyt-train": (91834, at("adadec/table1", "# inst. Train", "NYT"), 500),
    "attexp-wikibio": (0.6, sum(gain("adadec/table4", OURS[1], OURS[0], c) for c in ("RG-4", "BLEU")) / 2, 0.1),
    "adadec-rouge4": (1.3, gain("adadec/table4", OURS[2], OURS[0], "RG-4"), 0.05),
    "adadec-bleu": (1.1, gain("adadec/table4", OURS[2], OURS[0], "BLEU"), 0.05),
    "both-over-adadec": (0.5, sum(gain("adadec/table4", "This work (ADADEC+ATTEXP)", OURS[2], c)
                                  for c in ("RG-4", "BLEU")) / 2, 0.05),
}  # fmt: skip
MORE_THAN = {  # a difference of two printed numbers is known to their last digit
    "adadec-over-seq2seq": (1.1, smallest("table2", OURS[2], OURS[0], RG), 0.1),
    "adadec-over-basic": (1.3, smallest("table2", OURS[2], BASIC, RG), 0.1),
    "adadec-over-paulus": (0.0, smallest("table3", OURS[2], "Paulus et al. (2018)", ("Rouge-1", "Rouge-2")), 0.1),
}
DUELS = {row[0].row: row for row in paper_table("f2softmax/table9a").rows}


def found():
    """Every statement that does not add up: name -> (printed, computed)."""
    odd = {
        name: (a, b)
        for name, (a, b, near) in STATEMENTS.items()
        if (a != b if isinstance(a, str) else abs(a - b) > near + 1e-6)
    }
    odd |= {name: (a, b) for name, (a, b, last) in MORE_THAN.items() if not round(b + last, 6) > a}
    for row in paper_table("f2softmax/table9a").rows:
        one, other = row[0].row.replace("UL-token-seq", SEQ).split(" beats ")
        won, lost = duel(one, other, WIKI if row[0].part == "Wikitext-103" else LYRICS)
        if won > row[0].value or lost > row[1].value:  # a tie of rounded scores was none
            odd[f"duel {row[0].part}: {row[0].row}"] = (row[0].value, won)
    return odd


def test_what_does_not_add_up_is_listed_and_nothing_else():
    listed = {one["id"]: (one["printed"], one["computed"]) for paper in papers() for one in paper.inconsistencies}
    odd = found()
    assert sorted(odd) == sorted(listed)
    for name, (printed, computed) in listed.items():
        assert odd[name] == pytest.approx((printed, computed), abs=0.005), name


def test_every_inconsistency_says_where_and_what():
    for paper in papers():
        names = {table.name for table in paper.tables}
        for one in paper.inconsistencies:
            assert set(one["where"].split(", ")) <= names
            assert len(one["says"]) > 20


def test_one_number_in_two_tables_is_one_number():
    """Tables 1, 3, 8 and 10 of F2-Softmax print the same cells; so do 1 and 2 for people and perplexity."""
    for part, k in ((WIKI, 3), (LYRICS, 20)):
        again = {
            (c.row, c.column): c
            for row in paper_table("f2softmax/table10").rows
            for c in row
            if c.part.startswith(part) and c.part.endswith(f"={k}")
        }
        first = {
            (c.row, c.column): c
            for row in paper_table("f2softmax/table1").rows
            for c in row
            if c.part.startswith(part) and c.row != HUMAN
        }
        assert set(again) == set(first)
        both = [name for name in first if again[name].value is not None and "?" not in again[name].printed]
        assert len(both) == {WIKI: 63, LYRICS: 42}[part]
        assert {name: again[name].value for name in both} == {name: first[name].value for name in both}
    names = {"KLD": "KLD", "MSJ": "MS-Jaccard n=2", "SB": "Self-BLEU n=2", "Uniq": "Uniq", "PPL": "PPL"}
    for table, row, here in (
        ("table3", f"{F2}, decoupled", F2),
        ("table3", "MLE", "MLE"),
        ("table8", "From scratch", F2),
    ):
        for column in paper_table(f"f2softmax/{table}").columns:
            assert at(f"f2softmax/{table}", row, column) == f2("table1", here, names[column], LYRICS)
    for part in (WIKI, LYRICS):
        for method in ("MLE", "FACE", "UL-token", SEQ, F2):
            assert f2("table1", method, "PPL", part) == f2("table2", method, "PPL", part)
        for column in [c for c in paper_table("f2softmax/table1").columns if c not in ("PPL", "KLD") and "MS" not in c]:
            assert f2("table1", HUMAN, column, part) == f2("table2", HUMAN, column, part)


def test_the_rank_of_a_model_without_cache_is_at_most_its_width():
    for backbone, row, width in (("gpt2", "GPT2-Small", 768), ("gpt2-large", "GPT2-Large", 1280)):
        assert at(T1, row, "Full Rank", backbone=backbone) <= width
        assert min(at(T1, name, "Full Rank", backbone=backbone) for name in ("TRIME", HIST)) > width


CHECKS = [(table, check) for paper in papers() for table in paper.tables for check in table.checks]


def test_the_printed_numbers_keep_to_what_the_text_says_of_them():
    """HistAlign 6.1; numbers that no table has are checked against ours alone."""
    assert [table.address for table, _ in CHECKS] == [T1] * 6 + ["histalign/table2"] * 6
    for table, check in CHECKS:
        if check.column:
            assert check.holds_for(at(table.address, check.row, check.column, backbone=check.backbone)), check
    assert 4096 / 1280 == 3.2  # the same section: "the hidden size is 3.2x larger (1280 -> 4096)"
    assert min(at("histalign/table2", "LLaMA2-7B", f"Acc@{k}") for k in (2, 5, 10)) == 0
    assert max(at("histalign/table2", "TRIME", f"Acc@{k}") for k in (2, 5, 10)) == 0
    assert min(at("histalign/table2", HIST, f"Acc@{k}") for k in (2, 5, 10, 25)) == 100
