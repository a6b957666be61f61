"""Verdicts on rows made by hand: every word, what stops a claim, conjunctions, controls and preconditions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from bench.leaderboards.claim.claim_files import Claim, ClaimFile, Run, claim_of
from bench.leaderboards.claim.evaluation import Verdict, evaluate
from bench.leaderboards.claim.report import evidence_lines, paper_text, verdict_text
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.table import Table

DECODING = {"mle.decoupled": "decoupled:topk=3+max_new_tokens=64"}
HIGHER = {"kld": False, "ppl/token": False, "ms-jaccard-1": True, "distinct-1": True, "rank": None, "acc@2/cache": True}
"""Which way of a column is better."""


def row(method: str, steps: int = 300, start: int = 0, **columns: Sequence[float]) -> TableRow:
    """A row, by column one value for each seed; `start` is how long the model that it starts from was trained."""
    config: dict[str, Any] = {"method": method, "trainer": {"steps": steps}}
    if start:
        config["start"] = {"trainer": {"steps": start}}
    made = TableRow(method, "small-causal", DECODING.get(method, "topk=3+max_new_tokens=64"), config, parameters=459136)
    for name, values in columns.items():
        made.values[name] = Value(dict(enumerate(values)), HIGHER[name], "s")
    return made


def table(*rows: TableRow, human: Mapping[str, float] | None = None, **options: Any) -> Table:
    """A leaderboard on the King James Bible; `human` has the values of what people wrote."""
    people = TableRow("human", "", "", {})
    people.values = {name: Value({0: value}, HIGHER[name], "s") for name, value in (human or {}).items()}
    status = {"train": "own", "test": "own"}
    made = Table("text", "test", 10, status, list(rows), [], (), "small", True, [people], data_title="King James Bible")
    return replace(made, **options)


def two(ours: Sequence[float], theirs: Sequence[float], column: str = "kld") -> Table:
    """F2-Softmax and MLE in one column."""
    return table(row("f2softmax", **{column: ours}), row("mle", **{column: theirs}))


def claim(**options: Any) -> Claim:
    """F2-Softmax has a lower KLD than MLE, changed by some fields."""
    fields = {"method": "f2softmax", "against": "mle", "columns": "kld", "relation": "lower", "run": "run"}
    return claim_of({"quote": "q", "where": "section 1", **fields, **options})


def paper(*claims: Claim, controls: Sequence[str] = (), where: Mapping[str, Any] | None = None) -> ClaimFile:
    """A paper with one run."""
    run = Run(name="run", task="text", methods=("mle",), seeds=(0, 1, 2), decoding="topk=3", controls=tuple(controls),
              where={"trainer.steps": 300} if where is None else where)  # fmt: skip
    return ClaimFile("Paper", "paper", {"run": run}, claims)


def verdict_of(one: Claim, *tables: Table, **options: Any) -> Verdict:
    return evaluate(paper(one, **options), tables).verdicts[0]


# The words --------------------------------------------------------------------------------------------------------

THEIRS = [4.0, 4.1, 4.2]


@pytest.mark.parametrize(
    ("ours", "word"),
    [
        ([1.0, 1.2, 1.1], "seen here"),
        ([7.0, 7.2, 7.1], "reversed here"),
        ([1.0, 7.0, 4.0], "open"),
        ([4.0, 4.1, 4.2], "open"),
    ],
)
def test_a_difference_paired_by_seed_is_seen_reversed_or_open(ours: list[float], word: str) -> None:
    assert verdict_of(claim(), two(ours, THEIRS)).word == word


def test_a_verdict_names_size_start_steps_text_and_seeds() -> None:
    text = verdict_text(verdict_of(claim(beyond="GPT-2 large"), two([1.0, 1.2, 1.1], THEIRS)))
    assert text == (
        "seen here (459k parameters from scratch, 300 steps, King James Bible, 3 seeds); not tested: GPT-2 large"
    )


def test_a_run_reads_the_tables_of_its_preset_alone() -> None:
    small, mid = two([7.0, 7.2, 7.1], THEIRS), replace(two([1.0, 1.2, 1.1], THEIRS), preset="mid")
    file = paper(claim())
    pretrained = replace(file, runs={"run": replace(file.runs["run"], preset="mid")})
    for tables in ([small, mid], [mid, small]):
        assert [evaluate(of, tables).verdicts[0].word for of in (file, pretrained)] == ["reversed here", "seen here"]


def test_two_seeds_leave_a_claim_open_and_say_so() -> None:
    found = verdict_of(claim(), two([1.0, 1.1], [4.0, 4.2]))
    assert (found.word, found.why, found.p) == ("open", ("2 seeds, and an interval takes 3",), None)


def test_what_is_not_stored_is_named() -> None:
    found = verdict_of(claim(), table(row("f2softmax", kld=[1.0, 1.1, 1.2])))
    assert (found.word, found.why) == ("not run", ("mle",))
    assert verdict_text(verdict_of(claim())) == "not run: f2softmax, mle"


def test_a_claim_out_of_reach_is_not_testable_and_counts() -> None:
    one = claim_of({"quote": "q", "where": "w", "out_of_reach": "needs LLaMA-2 7B", "beyond": "GPT-2"})
    assert verdict_text(verdict_of(one)) == "not testable here: needs LLaMA-2 7B; not tested: GPT-2"


def test_runs_that_were_not_made_are_the_reason_of_not_run() -> None:
    one = claim_of({"quote": "q", "where": "w", "not_run": "greedy texts"})
    assert verdict_text(verdict_of(one)) == "not run: greedy texts"


def test_the_papers_own_numbers_stand_beside_a_claim_out_of_reach() -> None:
    columns = {"columns": ["rouge-4", "bleu"], "printed": ["RG-4", "BLEU"], "relation": "higher"}
    rows = {"adadec": "This work (ADADEC)", "theirs": "Wiseman et al. (2018)"}
    one = claim_of({"quote": "q", "where": "w", "method": "adadec", "against": "theirs", "table": "adadec/table4",
                    "rows": rows, "out_of_reach": "needs GloVe", **columns})  # fmt: skip
    found = verdict_of(one)
    assert (found.word, found.parts, paper_text(found)) == ("not testable here", (), "rouge-4 +2.00; bleu +8.80")


def test_the_p_of_a_claim_is_adjusted_over_the_tested_claims_of_its_paper() -> None:
    near_the_edge = two([3.0, 3.5, 3.25], [4.0, 4.0, 4.0])
    alone = evaluate(paper(claim()), [near_the_edge]).verdicts[0]
    stopped = claim_of({"quote": "q", "where": "w", "out_of_reach": "needs more"})
    among = evaluate(
        paper(claim(), claim(relation="higher"), claim(relation="higher"), stopped), [near_the_edge]
    ).verdicts
    assert alone.p is not None
    assert among[0].p == pytest.approx(3 * alone.p)
    assert (alone.word, among[0].word, among[3].p) == ("seen here", "open", None)


# What is measured -------------------------------------------------------------------------------------------------


def effect(one: Claim, *tables: Table) -> dict[int, float]:
    (part,) = verdict_of(one, *tables).parts
    assert part.effect is not None
    return dict(part.effect.by_seed)


def test_an_effect_is_positive_in_the_claimed_direction_and_of_the_sentences_unit() -> None:
    board = two([1.0, 2.0, 3.0], [4.0, 4.0, 4.0])
    assert effect(claim(), board) == {0: 3.0, 1: 2.0, 2: 1.0}
    assert effect(claim(relation="higher"), board) == {0: -3.0, 1: -2.0, 2: -1.0}
    assert effect(claim(estimand="percent"), board) == {0: 75.0, 1: 50.0, 2: 25.0}


def test_nearness_is_the_difference_of_the_gaps_to_human_text() -> None:
    one = claim(relation="nearer", columns="distinct-1", precondition="kld")
    rows = [row("f2softmax", **{"distinct-1": [90.0] * 3}), row("mle", **{"distinct-1": [40.0] * 3})]
    assert effect(one, table(*rows, human={"distinct-1": 80.0})) == pytest.approx(dict.fromkeys(range(3), 50.0 - 12.5))
    assert verdict_of(one, table(*rows)).word == "not run"  # nobody's text was scored


def test_a_row_is_compared_with_what_people_wrote() -> None:
    one = claim(method="mle", against="human", relation="higher", estimand="percent", columns="distinct-1")
    board = table(row("mle", **{"distinct-1": [60.0, 62.0, 61.0]}), human={"distinct-1": 40.0})
    assert effect(one, board) == {0: 50.0, 1: 55.0, 2: 52.5}
    assert verdict_of(one, board).word == "seen here"


MARGIN = {"margin": 1.0, "margin_why": "half of the printed gain"}


@pytest.mark.parametrize(
    ("relation", "ours", "word"),
    [
        ("near", [4.3, 4.2, 4.1], "seen here"),
        ("near", [7.0, 7.1, 7.2], "reversed here"),
        ("near", [1.0, 1.1, 1.2], "reversed here"),
        ("near", [5.0, 4.9, 5.3], "open"),
        ("no_higher", [4.3, 4.2, 4.1], "seen here"),
        ("no_higher", [1.0, 1.1, 1.2], "seen here"),
        ("no_higher", [7.0, 7.1, 7.2], "reversed here"),
    ],
)
def test_likeness_is_an_interval_inside_the_smallest_difference_of_interest(
    relation: str, ours: list[float], word: str
) -> None:
    assert verdict_of(claim(relation=relation, **MARGIN), two(ours, THEIRS)).word == word


# Conjunctions -----------------------------------------------------------------------------------------------------


def columns(kld: Sequence[float], jaccard: Sequence[float]) -> Verdict:
    parts = [{"columns": "kld", "relation": "lower"}, {"columns": "ms-jaccard-1", "relation": "higher"}]
    one = claim_of({"quote": "q", "where": "w", "method": "f2softmax", "against": "mle", "run": "run", "parts": parts})
    ours = row("f2softmax", **{"kld": kld, "ms-jaccard-1": jaccard})
    return verdict_of(one, table(ours, row("mle", **{"kld": THEIRS, "ms-jaccard-1": [30.0, 31.0, 32.0]})))


def test_a_conjunction_is_seen_when_every_comparison_is() -> None:
    found = columns([1.0, 1.2, 1.1], [50.0, 52.0, 51.0])
    assert found.word == "seen here"
    assert found.p == max(part.effect.p for part in found.parts if part.effect and part.effect.p is not None)
    assert columns([1.0, 1.2, 1.1], [33.0, 30.0, 34.0]).word == "open"


def test_a_conjunction_is_reversed_by_one_comparison_which_is_named() -> None:
    found = columns([1.0, 1.2, 1.1], [10.0, 10.5, 12.0])
    assert (found.word, found.why) == ("reversed here", ("in ms-jaccard-1 against mle",))
    both = columns([7.0, 7.2, 7.1], [10.0, 10.5, 12.0])
    assert (both.word, both.why) == ("reversed here", ("in all 2 comparisons",))
    weak = columns([1.0, 1.2, 1.1], [27.0, 28.5, 27.5])  # p is 0.03 alone, and 0.06 among two
    assert weak.word == "open"


def test_lists_of_methods_and_columns_are_parts_of_one_claim() -> None:
    one = claim(against=["mle", "face"], columns=["kld", "ppl/token"])
    assert [(part.against.method, part.columns) for part in one.parts] == [
        ("mle", ("kld",)), ("mle", ("ppl/token",)), ("face", ("kld",)), ("face", ("ppl/token",)),
    ]  # fmt: skip


# Pairs and controls -----------------------------------------------------------------------------------------------


def controlled(control: Sequence[float], **options: Any) -> Verdict:
    board = two([1.0, 1.1, 0.9], [5.0, 5.1, 4.9])
    board.rows.append(row("mle.decoupled", kld=control))
    return verdict_of(claim(controls=["mle.decoupled"], **options), board)


@pytest.mark.parametrize(("control", "percent"), [(2.04, 74), (1.96, 76), (1.0, 100), (0.6, 110), (4.6, 10)])
def test_the_share_of_a_control_is_printed_and_changes_no_verdict(control: float, percent: int) -> None:
    found = controlled([control, control + 0.1, control - 0.1])
    assert found.word == "seen here"
    assert verdict_text(found).endswith(
        f"; an MLE model with the same classes and decoding (mle.decoupled) has {percent} % of the effect (3 seeds)"
    )


def test_a_control_whose_memory_got_no_weight_is_no_test() -> None:
    board = two([1.0, 1.1, 0.9], [5.0, 5.1, 4.9])
    board.rows.append(row("mle.decoupled", kld=[5.0, 5.1, 4.9]))
    one = claim(controls=["mle.decoupled"])
    assert verdict_text(verdict_of(one, board)).endswith("(mle.decoupled) has none of the effect")
    board.rows[-1].seeds = {0, 1, 2}
    board.rows[-1].seeds_without_memory = {0, 1}
    assert verdict_text(verdict_of(one, board)).endswith("(mle.decoupled) has none of the effect"), (
        "one seed has a memory"
    )
    board.rows[-1].seeds_without_memory = {0, 1, 2}
    assert "(mle.decoupled) is no test" in verdict_text(verdict_of(one, board))


def test_a_control_with_nine_tenths_of_an_effect_is_counted() -> None:
    assert controlled([1.3, 1.4, 1.2]).is_shared
    assert not controlled([1.5, 1.6, 1.4]).is_shared
    assert not controlled([5.0, 5.1, 4.9], relation="higher").is_shared, "nothing is seen"


def test_a_method_with_other_settings_is_a_control_of_itself() -> None:
    untied = {"method": "mle", "where": {"backbone.tied": False}}
    one = claim(against=untied, controls=["mle"])
    board = two([1.0, 1.1, 0.9], [5.0, 5.1, 4.9])
    assert verdict_of(one, board).why == ("mle (tied=false)",)
    other = row("mle", kld=[6.0, 6.1, 5.9])
    other.tried, other.config = 3, {**other.config, "backbone_options": {"tied": False}}
    board.rows.append(other)
    found = verdict_of(one, board)
    assert (found.word, found.parts[0].theirs) == ("seen here", 6.0), "with the setting it is the untied row"
    assert verdict_text(found).endswith(
        "; against MLE with a tied output layer (mle) the effect is 80 % as large (3 seeds)"
    )


def test_what_is_beyond_a_control_has_a_paired_interval() -> None:
    (line,) = evidence_lines(controlled([2.0, 2.3, 1.8]))
    assert line.endswith("; f2softmax against the control mle.decoupled (2.03): +1.03 (+0.65 to +1.41)")
    (line,) = evidence_lines(controlled([1.0, 0.9, 1.2]))
    assert line.endswith("(1.03): +0.03 (−0.59 to +0.66), an interval that contains 0")


def test_a_declared_control_that_was_not_run_makes_a_claim_not_run() -> None:
    found = verdict_of(claim(controls=["mle.decoupled"]), two([1.0, 1.1, 0.9], [5.0, 5.1, 4.9]))
    assert verdict_text(found).startswith("not run: mle.decoupled")
    assert found.why == ("mle.decoupled",)
    assert controlled([2.0, 2.1]).why == ("3 seeds of mle.decoupled",)


def test_a_control_of_the_other_side_takes_its_place() -> None:
    board = table(row("f2softmax", kld=[1.0] * 3), row("face", steps=50, start=300, kld=[5.0, 5.1, 4.9]),
                  row("mle.continued", steps=50, start=300, kld=[3.0, 3.1, 2.9]))  # fmt: skip
    text = verdict_text(verdict_of(claim(against="face", controls=["mle.continued"]), board))
    assert text == (
        "seen here (459k parameters from scratch, 300 steps, 300 + 50 steps, King James Bible, 3 seeds); "
        "against MLE trained for as many steps (mle.continued) the effect is 50 % as large (3 seeds)"
    )
    board.rows[-1] = row("mle.continued", steps=50, start=300, kld=[0.9, 1.0, 0.8])
    text = verdict_text(verdict_of(claim(against="face", controls=["mle.continued"]), board))
    assert text.endswith("; against MLE trained for as many steps (mle.continued) there is no effect")


def test_without_a_known_fault_the_same_comparison_stands_beside() -> None:
    corrected = {"histalign.released": {"method": "histalign"}, "trime.released": "trime"}
    one = claim(method="histalign.released", against="trime.released", corrected=corrected, fault="It has a fault.",
                instead="by the equations")  # fmt: skip
    rows = [row("histalign.released", kld=[1.0] * 3), row("trime.released", kld=[2.0] * 3), row("trime", kld=[0.5] * 3)]
    lines = evidence_lines(verdict_of(one, table(*rows)))
    assert lines[-1] == "It has a fault. By the equations: not run: histalign"
    rows.append(row("histalign", kld=[0.5] * 3))
    found = verdict_of(one, table(*rows))
    assert (found.word, len(found.corrected)) == ("seen here", 1)
    assert (
        "histalign against trime: 0.50 against 0.50; +0.00 in each of 3 seeds, so no test" in evidence_lines(found)[-1]
    )
    assert verdict_text(found).endswith("; by the equations, histalign is equal to trime (0.50 against 0.50)")
    rows[-1].values["kld"] = Value({0: 3.0, 1: 3.1, 2: 3.2}, HIGHER["kld"], "s")
    text = verdict_text(verdict_of(one, table(*rows)))
    assert text.endswith("; by the equations, histalign is above trime (3.10 against 0.50)")


def test_a_row_that_a_search_picked_stands_for_all_and_two_rows_are_ambiguous() -> None:
    board = two([1.0] * 3, [4.0] * 3)
    board.rows.append(row("mle", kld=[0.0] * 3))
    assert verdict_of(claim(), board).why == ("one row of mle, of which 2 are stored",)
    board.rows[1].tried = 3
    assert effect(claim(), board) == {0: 3.0, 1: 3.0, 2: 3.0}


def test_metrics_of_two_signatures_are_not_compared() -> None:
    board = two([1.0] * 3, [4.0] * 3)
    board.rows[0].values["kld [a]"] = board.rows[0].values.pop("kld")
    board.rows[1].values["kld [b]"] = board.rows[1].values.pop("kld")
    assert verdict_of(claim(), board).why == ("kld of both sides",)


# Preconditions --------------------------------------------------------------------------------------------------------


def conditioned(bigram: Sequence[float], *, ours: Sequence[float] = (1.0, 1.1, 0.9), **options: Any) -> Verdict:
    board = two(ours, THEIRS)
    board.rows.append(row("bigram", kld=bigram))
    return verdict_of(claim(**options), board, controls=["bigram"])


def test_both_sides_must_beat_the_trivial_controls_with_their_interval() -> None:
    assert conditioned([7.0, 7.1, 7.2]).word == "seen here"
    worse = conditioned([3.0, 3.1, 3.2])
    assert (worse.word, worse.why) == (
        "not testable here",
        ("in kld, mle (4.10) does not clearly beat a bigram model (3.10)",),
    )
    assert conditioned([0.1, 0.2, 0.3]).why[0].startswith("in kld, f2softmax (1.00) does not clearly beat")
    assert conditioned([4.2, 4.0, 4.4]).word == "not testable here", "a better mean, and an interval that reaches 0"


def test_a_trivial_control_that_was_not_run_makes_a_claim_not_run() -> None:
    found = verdict_of(claim(), two([1.0, 1.1, 0.9], THEIRS), controls=["bigram"])
    assert (found.word, found.why) == ("not run", ("the trivial control bigram (topk=3)",))
    assert evidence_lines(found) == [
        "means over the 3 seeds that both sides have, without a test: kld: f2softmax 1.00, mle 4.10. "
        "What stops the test: the trivial control bigram (topk=3)"
    ]
    assert conditioned([7.0, 7.1]).why == ("3 seeds of f2softmax and of bigram", "3 seeds of mle and of bigram")


def test_a_weakness_that_the_paper_prints_does_not_stop_its_claim() -> None:
    """GPT-2's cache-only Acc@2 is printed as 0.00; TRIME's Acc@5 as 39.89."""
    of_paper = {"table": "histalign/table1", "backbone": "gpt2", "printed": "Cache-Only Acc@2", "relation": "higher",
                "rows": {"mle": "GPT2-Small", "histalign": "HISTALIGN"}, "columns": "acc@2/cache",
                "method": "histalign"}  # fmt: skip
    board = two([20.0, 21.0, 19.0], [0.7, 0.8, 0.6], "acc@2/cache")
    board.rows[0].method = "histalign"
    board.rows.append(row("bigram", **{"acc@2/cache": [2.0, 2.1, 2.2]}))
    found = verdict_of(claim(**of_paper), board, controls=["bigram"])
    assert found.word == "seen here"
    assert evidence_lines(found)[-1] == (
        "acc@2/cache of mle is 0.70; the paper itself prints 0, no more than a trivial control has, "
        "so it need not beat one"
    )
    strong = {**of_paper, "printed": "Cache-Only Acc@5"}
    assert verdict_of(claim(**strong), board, controls=["bigram"]).word == "not testable here"


def test_a_claim_on_diversity_is_gated_on_a_column_of_quality() -> None:
    with pytest.raises(ValueError, match="random words are as diverse as human text"):
        claim(relation="nearer", columns="distinct-1")
    one = claim(relation="nearer", columns="distinct-1", precondition="kld")
    rows = [row("f2softmax", **{"distinct-1": [70.0, 71.0, 72.0], "kld": [1.0, 1.1, 0.9]}),
            row("mle", **{"distinct-1": [40.0, 41.0, 42.5], "kld": THEIRS}),
            row("bigram", **{"distinct-1": [79.0, 80.0, 81.0], "kld": [7.0, 7.1, 7.2]})]  # fmt: skip
    human = {"distinct-1": 80.0}
    assert verdict_of(one, table(*rows, human=human), controls=["bigram"]).word == "seen here"
    rows[1].values["kld"] = Value(dict(enumerate([8.0, 8.1, 8.2])), False, "s")
    assert verdict_of(one, table(*rows, human=human), controls=["bigram"]).word == "not testable here"


def test_a_column_without_a_better_way_has_no_precondition() -> None:
    board = two([9.0] * 3, [5.0] * 3, "rank")
    board.rows.append(row("bigram", rank=[20.0] * 3))
    found = verdict_of(claim(columns="rank", relation="higher"), board, controls=["bigram"])
    assert (found.word, found.p) == ("seen here", 0.0)
