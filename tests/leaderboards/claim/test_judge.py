"""leaderboards/claim/judge.py: every kind of verdict, what stops a claim, and what adjusts it, on rows made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from bench.leaderboards.claim.checks import checked
from bench.leaderboards.claim.claim_files import Cells, Claim, ClaimFile, Corrected, Gate, RegressionCheck, Run
from bench.leaderboards.claim.counts import by_kind, counted, share_stopped, summary
from bench.leaderboards.claim.judge import judge
from bench.leaderboards.claim.lines import evidence_lines
from bench.leaderboards.claim.scale import off_scale
from bench.leaderboards.claim.verdicts import Paper, Verdict
from bench.leaderboards.table import Table
from tests.leaderboards.claim.test_evidence import CONTROL, LEFT, RIGHT, RIGHTED, human, table

RUN = Run("text", ("mle",), (0,))
GATE = Gate("kld", RIGHT, ("unigram", "bigram"), lower=True)
CELLS = Cells("f2softmax/table1", "KLD", "F²-Softmax", "MLE", part="(a) Wikitext-103")
FAR = {"left": [1.0, 1.1, 0.9], "right": [5.0, 5.2, 4.9], "control": [3.0, 3.1, 3.1], "righted": [4.0, 4.1, 3.8]}


def claim(relation: str = "lower", **options: Any) -> Claim:
    return Claim("a table", "says so", "kld", relation, LEFT, RIGHT, **{"quote": "q", "published": 1.0, **options})


def paper(*claims: Claim, run: Run = RUN) -> ClaimFile:
    return ClaimFile("Paper", "paper", (run,), claims)


def verdict_of(one: Claim, built: Table, run: Run = RUN, preset: str = "small") -> Verdict:
    return judge(paper(one, run=run), [built], preset).verdicts[0]


def rows(**values: list[float]) -> Table:
    return table(**{**FAR, **values})


# Direction --------------------------------------------------------------------------------------------------------


def test_a_clear_effect_is_established_and_its_opposite_refuted() -> None:
    found = verdict_of(claim(), rows())
    assert (found.kind, found.decision and found.decision.direction) == ("established", "established")
    assert found.interval is not None
    assert found.interval.low is not None
    assert found.interval.low > 0
    assert found.p is not None
    assert found.p < 0.05
    assert verdict_of(claim("higher"), rows()).kind == "refuted"


def test_an_effect_within_its_noise_is_inconclusive_and_says_how_many_seeds_it_takes() -> None:
    found = verdict_of(claim(), rows(left=[4.8, 5.3, 4.6]))
    assert found.kind == "inconclusive"
    assert found.needs is not None
    assert found.needs > 3
    assert verdict_of(claim(), rows()).needs is None


def test_one_seed_and_no_seed_decide_nothing() -> None:
    one = verdict_of(claim(), table(left=[1.0], right=[5.0]))
    assert (one.kind, one.effect, one.decision) == ("inconclusive", None, None)
    none = verdict_of(claim(), table(left=[1.0]))
    assert none.kind == "not run"


def test_seeds_beyond_a_look_wait_for_the_next() -> None:
    """Who judges at every number of seeds looks too often."""
    four = rows(left=[4.8, 5.3, 4.6, 1.0], right=[5.0, 5.2, 4.9, 5.0])
    found = verdict_of(claim(), four)
    assert found.evidence.by_seed == verdict_of(claim(), rows(left=[4.8, 5.3, 4.6])).evidence.by_seed
    assert "1 seeds wait for the look at 5" in found.evidence.why
    many = verdict_of(claim(), table(left=[1.0] * 22, right=[float(place) for place in range(22)]))
    assert len(many.evidence.by_seed) == 20
    assert "2 seeds are beyond the last look" in many.evidence.why
    every = Claim("t", "s", "kld", "below", LEFT, bound=2.0, quote="q", published=1.0, estimand="sign", every_seed=True)
    assert verdict_of(every, table(left=[1.0, 1.0, 1.0, 3.0])).kind == "refuted"  # no counterexample waits


def test_one_seed_on_the_other_side_does_not_refute() -> None:
    assert verdict_of(claim(), rows(left=[4.0, 4.1, 5.0])).kind == "inconclusive"


def test_the_rows_of_a_column_tell_how_noisy_one_is() -> None:
    """Two seeds that happen to agree do not establish an effect where the column is noisy."""
    alone = table(left=[3.0, 3.001], right=[4.0, 4.0])
    noisy = replace(alone, rows=list(alone.rows))
    for place, spread in enumerate((1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 1.2, 1.8, 2.2, 2.8)):
        row = replace(alone.rows[0], method=f"other{place}", values={})
        row.values["kld"] = replace(alone.rows[0].values["kld"], by_seed={0: 3.0, 1: 3.0 + spread})
        noisy.rows.append(row)
    assert verdict_of(claim(), alone).kind == "established"
    found = verdict_of(claim(), noisy)
    assert found.kind == "inconclusive"
    assert found.effect is not None
    assert found.effect.degrees > 1


def test_many_claims_of_a_paper_make_each_harder() -> None:
    built = table(left=[1.0, 1.6, 1.3], right=[5.0, 5.2, 4.5])
    alone = judge(paper(claim()), [built]).verdicts[0]
    many = judge(paper(*[claim()] * 12), [built]).verdicts
    assert alone.kind == "established"
    assert {verdict.kind for verdict in many} == {"inconclusive"}
    assert alone.p is not None
    assert [verdict.p for verdict in many] == [pytest.approx(min(1.0, 12 * alone.p))] * 12


def test_a_stopped_claim_costs_the_others_nothing() -> None:
    stopped = claim("near", smallest=1.0, smallest_why="ours")
    both = judge(paper(claim(), stopped), [rows()]).verdicts
    assert both[1].kind == "not testable here"
    assert both[1].p is None
    assert both[0].p == verdict_of(claim(), rows()).p


def test_what_is_said_of_every_model_needs_no_spread() -> None:
    one = Claim("t", "s", "kld", "below", LEFT, bound=2.0, quote="q", published=1.0, estimand="sign", every_seed=True)
    for values, kind in (([1.0, 1.0], "established"), ([1.0, 2.0], "refuted"), ([1.0], "inconclusive")):
        assert verdict_of(one, table(left=values)).kind == kind
    plain = replace(one, every_seed=False)
    assert verdict_of(plain, table(left=[1.0, 1.0])).kind == "inconclusive"  # a column too coarse to show noise


# Mechanism --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("control", "kind"), [([1.1, 1.2, 1.0], "explained"), ([3.0, 3.1, 3.1], "established")])
def test_a_control_explains_an_effect_where_the_interval_of_its_share_is_above_three_quarters(
    control: list[float], kind: str
) -> None:
    found = verdict_of(claim(controls=(CONTROL,)), rows(control=control))
    assert found.kind == kind
    assert found.explained_by == ((CONTROL.label,) if kind == "explained" else ())


def test_a_share_above_three_quarters_whose_interval_is_not_explains_nothing() -> None:
    found = verdict_of(claim(controls=(CONTROL,)), rows(control=[1.2, 2.9, 1.4]))
    assert found.shares is not None
    assert found.shares[CONTROL.label].value > 0.75
    assert found.kind == "established"


@pytest.mark.parametrize(
    ("left", "control", "said"),
    [
        ([1.0, 1.1, 0.9], [3.0, 3.1, 3.1], "has 49% of it, 27% to 68%"),
        ([3.0, 3.1, 2.9], [1.0, 1.1, 1.0], "has all of it"),
        ([1.0, 1.1, 0.9], [7.0, 7.1, 7.1], "has none of it"),
        ([4.8, 5.3, 4.6], [1.0, 1.1, 0.9], "its share is not defined: the gap itself is open"),
    ],
)
def test_a_share_of_a_control_is_a_number_only_from_0_to_1_and_of_an_effect_that_is_one(
    left: list[float], control: list[float], said: str
) -> None:
    found = verdict_of(claim(controls=(CONTROL,)), rows(left=left, control=control))
    (line,) = [line for line in evidence_lines(found) if CONTROL.label in line]
    assert said in line


@pytest.mark.parametrize(
    ("right", "said"),
    [
        ([5.0, 5.2, 4.9], "kld: 100% of the gap, 98% to all of the gap"),
        ([1.0, 0.9, 1.1], "kld: a share of the gap is not defined: the gap"),
    ],
)
def test_a_share_of_a_gap_that_may_be_0_has_no_number(right: list[float], said: str) -> None:
    built = replace(human(1.02, left=[1.0, 1.02, 1.04], right=right))
    (line,) = [line for line in evidence_lines(verdict_of(claim(estimand="share"), built)) if "gap" in line]
    assert said in line
    assert ("%" in line) == ("not defined" not in line)


@pytest.mark.parametrize(
    ("righted", "kind"),
    [
        ([0.1, 0.2, 0.1], "artefact"),
        ([4.0, 4.1, 3.8], "established"),
        ([0.5, 1.6, 1.1], "inconclusive"),  # noise may not decide between the two
        (None, "inconclusive"),
    ],
)
def test_an_effect_is_established_where_it_is_so_without_a_known_fault(righted: list[float] | None, kind: str) -> None:
    built = rows()
    if righted is None:
        built.rows = [row for row in built.rows if row.method != RIGHTED.method]
    else:
        built = rows(righted=righted)
    found = verdict_of(claim(corrected=Corrected("masked labels", than=RIGHTED)), built)
    assert found.kind == kind
    assert found.corrected is not None
    assert ("no row of trime" in found.corrected.why) == (righted is None)


# Size -------------------------------------------------------------------------------------------------------------


def at_the_papers_scale(**values: list[float]) -> Table:
    built = table(**values)
    for row in built.rows:
        row.backbone = "f2-decoder"
    return replace(built, task="wikitext103", preset="paper", status={"train": "official", "test": "official"})


FULL = replace(RUN, task="wikitext103")


@pytest.mark.parametrize(("published", "size"), [(4.0, "compatible"), (20.0, "smaller"), (0.5, "larger")])
def test_a_size_is_judged_at_the_papers_scale(published: float, size: str) -> None:
    one = claim(published=published, cells=CELLS)
    found = verdict_of(one, at_the_papers_scale(**FAR), FULL, "paper")
    assert found.off_scale == ""
    assert found.decision is not None
    assert found.decision.size == size
    assert found.kind == "established"  # no size refutes


def test_an_effect_too_small_to_be_of_interest_refutes_at_the_papers_scale_alone() -> None:
    one = claim(published=4.0, cells=CELLS, smallest=2.0, smallest_why="half of the printed gain")
    nothing = {**FAR, "left": [5.02, 5.19, 4.93]}
    assert verdict_of(one, at_the_papers_scale(**nothing), FULL, "paper").kind == "refuted"
    assert verdict_of(one, rows(**nothing)).kind == "inconclusive"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"preset": "small"}, "preset small"),
        ({"status": {"train": "proxy"}}, "train data: proxy"),
        ({"whole": False}, "only 10 rows"),
    ],
)
def test_what_keeps_a_size_from_being_judged_is_said(change: Mapping[str, Any], why: str) -> None:
    built = replace(at_the_papers_scale(**FAR), **change)
    found = verdict_of(claim(cells=CELLS), built, replace(RUN, task=built.task), built.preset)
    assert why in found.off_scale
    assert found.decision is not None
    assert found.decision.size == "open"


def test_another_task_keeps_a_size_from_being_judged() -> None:
    built = replace(at_the_papers_scale(**FAR), task="text")
    assert off_scale(claim(cells=CELLS), built, built.rows[0]) == "task text, and the paper's is wikitext103"
    assert off_scale(claim(), built, built.rows[0]) == "the size is not of a cell of a table"
    assert off_scale(claim(estimand="sign"), built, built.rows[0]) == "the paper prints no size"


def test_in_the_papers_preset_a_claim_is_looked_for_on_the_task_of_its_cell() -> None:
    """The file's run is a small one on another task, with settings of its own."""
    small = replace(RUN, where={"trainer.steps": 300})
    one = replace(claim(published=4.0, cells=CELLS), than=replace(RIGHT, where={"trainer.steps": 50}))
    built = at_the_papers_scale(**FAR)
    for row in built.rows:
        row.config = {"trainer": {"steps": 100_000}}
    found = verdict_of(one, built, small, "paper")
    assert (found.kind, found.off_scale) == ("established", "")
    assert found.decision is not None
    assert found.decision.size == "compatible"


def test_rows_of_two_backbones_are_never_compared() -> None:
    built = at_the_papers_scale(**FAR)
    for row in list(built.rows):
        built.rows.append(replace(row, backbone="another", values=dict(row.values)))
    for row in built.rows[4:]:
        row.values["kld"] = replace(row.values["kld"], by_seed={0: 1.0, 1: 1.0, 2: 1.0})
    found = verdict_of(claim(published=4.0, cells=CELLS), built, FULL, "paper")
    assert found.evidence.row is not None
    assert found.evidence.row.backbone == "f2-decoder"
    assert found.kind == "established"
    built.rows = [row for row in built.rows if (row.method, row.backbone) != (RIGHT.method, "f2-decoder")]
    elsewhere = verdict_of(claim(published=4.0, cells=CELLS), built, FULL, "paper")
    assert elsewhere.evidence.row is not None
    assert elsewhere.evidence.row.backbone == "another"


def test_another_backbone_keeps_a_size_from_being_judged() -> None:
    built = at_the_papers_scale(**FAR)
    for row in built.rows:
        row.backbone = "small-causal"
    assert "backbone small-causal" in verdict_of(claim(cells=CELLS), built, FULL, "paper").off_scale


@pytest.mark.parametrize(
    ("left", "kind"),
    [([5.1, 5.1, 5.0], "established"), ([1.0, 1.1, 0.9], "refuted"), ([4.0, 5.3, 4.4], "inconclusive")],
)
def test_two_rows_are_alike_inside_the_range_and_unlike_outside_of_it(left: list[float], kind: str) -> None:
    one = claim("near", smallest=1.0, smallest_why="ours", published=0.1, cells=CELLS)
    assert verdict_of(one, at_the_papers_scale(**{**FAR, "left": left}), FULL, "paper").kind == kind


def test_another_preset_is_not_looked_at() -> None:
    assert verdict_of(claim(), rows(), preset="paper").kind == "not run"


# Competence -------------------------------------------------------------------------------------------------------


def gated(unigram: float | None, bigram: float | None) -> Table:
    built = rows()
    for method, value in (("unigram", unigram), ("bigram", bigram)):
        if value is not None:
            row = replace(built.rows[0], method=method, backbone="", values={})
            row.values["kld"] = replace(built.rows[0].values["kld"], by_seed={0: value})
            built.rows.append(row)
    return built


@pytest.mark.parametrize(
    ("unigram", "bigram", "kind", "why"),
    [
        (9.0, 8.0, "established", "mle beats unigram, bigram in kld: 5.03"),
        (9.0, 4.0, "not testable here", "kld of mle 5.03, of bigram 4.00"),
        (None, 4.0, "not testable here", "of bigram 4.00"),
        (9.0, None, "not run", "not stored of the trivial controls: bigram"),
    ],
)
def test_models_speak_where_their_baseline_beats_the_trivial_controls(
    unigram: float | None, bigram: float | None, kind: str, why: str
) -> None:
    found = verdict_of(claim(), gated(unigram, bigram), replace(RUN, gate=GATE))
    assert found.kind == kind
    assert found.competence is not None
    assert why in found.competence.why
    assert (found.p is None) == (kind != "established")


def test_exemplar_copies_gate_claims_about_exemplars_alone() -> None:
    built = gated(9.0, 8.0)
    row = replace(built.rows[-1], method="copy_exemplar", values={})
    row.values["kld"] = replace(built.rows[0].values["kld"], by_seed={0: 0.5})
    built.rows.append(row)
    run = replace(RUN, gate=replace(GATE, exemplar_controls=("copy_exemplar",)))
    assert verdict_of(claim(), built, run).kind == "established"
    for each in built.rows:
        if each.method == LEFT.method:
            each.method = "adadec"
    one = replace(claim(), better=replace(LEFT, method="adadec"))
    assert verdict_of(one, built, run).kind == "not testable here"


# Checks and counts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("relation", "limit", "state"),
    [
        ("lower", {"floor": 3.9}, "pass"),
        ("lower", {"floor": 4.1}, "fail"),
        ("higher", {}, "fail"),
        ("near", {"within": 4.1}, "pass"),
        ("near", {"within": 3.9}, "fail"),
    ],
)
def test_a_regression_check_has_a_threshold_of_ours(relation: str, limit: dict[str, float], state: str) -> None:
    check = RegressionCheck("pilot", "s", "kld", relation, LEFT, RIGHT, **limit)
    (found,) = checked(ClaimFile("P", "p", (RUN,), checks=(check,)), [rows()], "small")
    assert found.state == state


@pytest.mark.parametrize(("factor", "state"), [(4.9, "pass"), (5.2, "fail")])
def test_a_regression_check_may_be_of_a_ratio(factor: float, state: str) -> None:
    check = RegressionCheck("pilot", "s", "kld", "higher", RIGHT, LEFT, factor=factor)  # 5.03 against 1.0
    (found,) = checked(ClaimFile("P", "p", (RUN,), checks=(check,)), [rows()], "small")
    assert found.state == state


@pytest.mark.parametrize(("values", "state"), [([1.0, 2.0], "pass"), ([1.0, 2.1], "fail"), ([], "not run")])
def test_a_bound_holds_for_every_seed(values: list[float], state: str) -> None:
    check = RegressionCheck("alarm", "s", "kld", "below", LEFT, bound=2.0)
    (found,) = checked(ClaimFile("P", "p", (RUN,), checks=(check,)), [table(left=values)], "small")
    assert found.state == state


def test_verdicts_are_counted_by_kind_paper_and_origin() -> None:
    figure = replace(claim("higher"), paper="Figure 1", says="figure")
    papers = [judge(paper(claim(), figure), [rows()]), Paper(paper(), ())]
    head, *lines = counted(papers)
    assert head == ["verdict", "Paper", "Paper", "all", "by a cell", "by a sentence", "by a figure"]
    assert {line[0]: line[1:] for line in lines}["refuted"] == ["1", "0", "1", "0", "0", "1"]
    assert by_kind(papers[0].verdicts)["established"] == 1
    assert share_stopped(papers[0].verdicts) == "0 of 2 claims (0%) are not testable here"
    assert "1 established, 1 refuted" in summary(papers[0])
    assert "Refuted: figure." in summary(papers[0])
