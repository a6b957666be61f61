"""Claim files: what they quote is printed, every name is there, and every run makes the rows its claims read."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

import pytest

from bench.base.entries import all_names
from bench.cells.cell import Cell
from bench.cells.plan import make_plan
from bench.config.arguments import RunArguments
from bench.leaderboards.claim.claim_files import (
    HUMAN,
    Cells,
    Claim,
    ClaimFile,
    Compared,
    RegressionCheck,
    Run,
    names,
    read,
)
from bench.leaderboards.claim.estimands import published_effect, size_of
from bench.leaderboards.claim.lines import threshold
from bench.leaderboards.claim.sides import Side, setting_of
from bench.metrics import METRICS
from bench.metrics.columns import is_named
from bench.models import METHODS
from bench.tasks import TASKS

FILES = [read(name) for name in names()]


def sides(compared: Compared) -> list[Side]:
    found = [compared.better, compared.than]
    if isinstance(compared, Claim):
        found += compared.controls
        if compared.corrected is not None:
            found += [compared.corrected.better, compared.corrected.than]
    return [side for side in found if side is not None]


# What a paper says ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", FILES, ids=names())
def test_what_a_claim_says_is_published_is_printed_in_its_cells(file: ClaimFile) -> None:
    for claim in file.claims:
        printed = published_effect(claim)
        if claim.cells is None:
            assert claim.quote, claim.says
            if claim.published is not None:  # 1.34 times, "34% more"
                assert f"{100 * abs(claim.published - 1):.0f}%" in claim.quote
            continue
        digits = len(f"{claim.published}".partition(".")[2])
        assert claim.published == pytest.approx(printed, abs=0.5 * 10**-digits + 1e-9), claim.says


@pytest.mark.parametrize("file", FILES, ids=names())
def test_what_a_paper_claims_it_also_prints_in_the_claimed_direction(file: ClaimFile) -> None:
    for claim in file.claims:
        if claim.estimand != "sign" and claim.relation != "near":
            size = size_of(claim)
            assert size is not None, claim.says
            assert size > 0, claim.says


def test_no_claim_has_a_threshold_of_ours_and_no_check_a_quote() -> None:
    for file in FILES:
        assert not {"floor", "factor", "within"} & set(chain(*(vars(claim) for claim in file.claims)))
        assert not {"quote", "cells", "published"} & set(chain(*(vars(check) for check in file.checks)))


def test_a_smallest_effect_of_interest_says_where_it_comes_from() -> None:
    for file in FILES:
        for claim in file.claims:
            assert bool(claim.smallest) == bool(claim.smallest_why)
            if claim.smallest_why == "half of the printed gain":
                assert claim.published is not None
                assert claim.smallest == pytest.approx(claim.published / 2)


# Names and rows ---------------------------------------------------------------------------------------------------


def test_there_are_the_three_papers() -> None:
    assert names() == ["adadec", "f2softmax", "histalign"]


@pytest.mark.parametrize("file", FILES, ids=names())
def test_names_are_there(file: ClaimFile) -> None:
    for run in file.runs:
        assert run.task in TASKS
        assert set(run.methods) <= set(all_names(METHODS))
        if run.gate is not None:
            assert {run.gate.baseline.method, *run.gate.controls} <= set(all_names(METHODS))
    for compared in (*file.claims, *file.checks):
        task = TASKS[file.run_of(compared).task].load()
        patterns = [pattern[1:] for metric in task.info.metrics for pattern in METRICS[metric].columns]
        for column in filter(None, (compared.column, compared.at)):
            assert any(is_named(column, pattern) for pattern in patterns), column
        assert all(side.method in all_names(METHODS) for side in sides(compared))
    assert len({claim.says for claim in file.claims}) == len(file.claims)
    assert len({check.says for check in file.checks}) == len(file.checks)


@pytest.mark.parametrize("file", FILES, ids=names())
def test_every_claim_has_a_gate_whose_rows_a_run_makes(file: ClaimFile) -> None:
    for claim in file.claims:
        run = file.run_of(claim)
        assert run.gate is not None, claim.says
        made_of_task = {method for other in file.runs if other.task == run.task for method in other.methods}
        assert {run.gate.baseline.method, *run.gate.controls, *run.gate.exemplar_controls} <= made_of_task


@pytest.fixture(scope="module")
def planned() -> dict[tuple[str, str], list[Cell]]:
    """Cells of every run, by file and task, from built-in samples; nothing is trained."""
    found: dict[tuple[str, str], list[Cell]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCH_DATA", "")
        patch.setenv("BENCH_CACHE", "nowhere")
        patch.setenv("HF_HUB_OFFLINE", "1")
        for file in FILES:
            for run in file.runs:
                plan = make_plan(
                    RunArguments(
                        (run.task,),
                        run.methods,
                        (run.seeds[0],),
                        preset="small",
                        sets=run.sets,
                        decode=run.decode or None,
                        results="nowhere",
                    )
                )
                assert not plan.skips, plan.skips
                found.setdefault((file.name, run.task), []).extend(plan.cells)
    return found


@pytest.mark.parametrize("file", FILES, ids=names())
def test_runs_make_every_row_that_claims_read(file: ClaimFile, planned: dict[tuple[str, str], list[Cell]]) -> None:
    for claim in (*file.claims, *file.checks):
        run = file.run_of(claim)
        cells = planned[file.name, run.task]
        for side in sides(claim):
            assert any(made(side, run, cell) for cell in cells), f"{claim.says}: {side.label}"
        column_kinds = {
            METRICS[metric].kind
            for metric in TASKS[run.task].load().info.metrics
            for pattern in METRICS[metric].columns
            if is_named(claim.column, pattern[1:])
        }
        assert column_kinds & {kind.kind for cell in cells for kind in cell.evaluations.values()}


def made(side: Side, run: Run, cell: Cell) -> bool:
    """Whether a cell gives the row of a side."""
    config: dict[str, Any] = {
        "trainer": vars(cell.config.trainer),
        "backbone_options": cell.config.backbone_options,
        "method_options": cell.config.method_options,
    }
    decodings = [what.decoding.text for what in cell.evaluations.values() if what.decoding] or [""]
    return (
        cell.method.name == side.method
        and any(side.decodes(decoding) for decoding in decodings)
        and all(setting_of(config, name) == value for name, value in {**run.where, **side.where}.items())
    )


def test_settings_of_the_papers_own_recipes_share_cells_with_other_runs(
    planned: dict[tuple[str, str], list[Cell]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_DATA", "")
    plan = make_plan(RunArguments(("logicnlg",), ("trime",), (0,), preset="small", results="nowhere"))
    assert plan.cells[0].key in {cell.key for cell in planned["HistAlign", "logicnlg"]}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"relation": "lover"}, "expected a relation from lower, .* got 'lover'"),
        ({"wants": "lover"}, "expected `wants` from lower, higher, got 'lover'"),
        ({"relation": "above"}, "'above' takes a `bound` and no `than`"),
        ({"relation": "above", "than": None}, "'above' takes a `bound` and no `than`"),
        ({"bound": 3.0}, "'lower' takes another row as `than` and no `bound`"),
        ({"than": None}, "'lower' takes another row as `than` and no `bound`"),
        ({"relation": "at_equal"}, "holds equal"),
        ({"at": "self-bleu-2"}, "holds equal"),
        ({"relation": "at_equal", "at": "self-bleu-2"}, "our reading of two sweeps"),
        ({"estimand": "sine"}, "expected an estimand from sign, .* got 'sine'"),
        ({"quote": ""}, r"a claim has a `quote` or `cells`; what is ours is a \[\[regression_check\]\]"),
        ({"published": None}, "'difference' takes what the paper prints as `published`"),
        ({"estimand": "sign", "published": None, "cells": Cells("t", "c", "r")}, "takes what the paper prints"),
        ({"relation": "near"}, "'near' takes the smallest effect of interest"),
        ({"smallest": 1.0}, "`smallest` and `smallest_why` go together"),
        ({"than": Side("mtp", "greedy")}, "the equations of mtp rest on memory"),
        ({"better": Side("mtp")}, "the equations of mtp rest on memory"),
    ],
)
def test_fields_that_do_not_go_together_are_refused(given: dict[str, Any], said: str) -> None:
    good = Claim("t", "s", "kld", "lower", Side("mle"), Side("face"), quote="q", published=1.0)
    with pytest.raises(ValueError, match=said):
        replace(good, **given)


def test_where_a_paper_says_something() -> None:
    sentence = Claim("section 2", "s", "kld", "lower", Side("mle"), Side("face"), quote="q", estimand="sign")
    assert sentence.origin == "sentence"
    assert replace(sentence, paper="Figure 2").origin == "figure"
    assert replace(sentence, cells=Cells("t", "c", "r"), published=1.0).origin == "sentence"
    assert replace(sentence, quote="", cells=Cells("t", "c", "r"), published=1.0).origin == "cell"


def test_a_run_that_the_file_does_not_have_is_refused() -> None:
    check = RegressionCheck("t", "s", "kld", "lower", Side("mle"), Side("face"), run="long")
    file = ClaimFile("P", "p", (Run("text", ("mle",), (0,), name="short"),), checks=(check,))
    with pytest.raises(ValueError, match=r"P, 's': expected the name of a run \(short\), got 'long'"):
        file.run_of(check)


def test_a_threshold_is_that_of_a_check() -> None:
    left, right = Side("f2softmax"), Side("mle")
    against = RegressionCheck("t", "s", "kld", "lower", left, right)
    assert threshold(against) == ""
    assert threshold(replace(against, floor=1.5)) == "at least 1.5"
    assert threshold(replace(against, factor=3.0)) == "3 times as much"
    assert threshold(replace(against, relation="near", within=4.0)) == "within 4"
    assert threshold(RegressionCheck("t", "s", "kld", "below", left, bound=5.0)) == "below 5"
    assert threshold(RegressionCheck("t", "s", "kld", "above", left, bound=HUMAN)) == ""
