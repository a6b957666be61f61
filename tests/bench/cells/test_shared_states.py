"""Likelihood and probe of the same rows read one pass of the model, with the same rows as of two."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.cells.build import build
from bench.cells.evaluation import evaluate
from bench.cells.plan import make_plan
from bench.cells.work import shared_states
from bench.config.arguments import RunArguments

pytestmark = pytest.mark.usefixtures("sample_data")


def test_one_pass_gives_the_rows_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    (cell,) = make_plan(RunArguments(("ambiguous_template",), ("mle",), limit=12)).cells
    objective, codec = build(cell)
    both = [what for what in cell.evaluations.values() if what.kind in ("likelihood", "probe")]
    both = [replace(what, ids=both[1].ids) for what in both]
    apart = [list(evaluate(objective, cell.task, codec, what)) for what in both]
    passes = []
    real = type(objective.backbone).states
    monkeypatch.setattr(type(objective.backbone), "states", lambda self, batch: passes.append(1) or real(self, batch))
    shared = shared_states(both)
    together = [list(evaluate(objective, cell.task, codec, what, shared=shared)) for what in both]
    assert together == apart
    assert len(passes) == 1
    assert shared == {}, "what both have read is not held any longer"


def test_other_rows_share_nothing() -> None:
    (cell,) = make_plan(RunArguments(("ambiguous_template",), ("mle",), limit=12)).cells
    likelihood, probe, *_ = cell.evaluations.values()
    assert shared_states([likelihood, replace(probe, ids=probe.ids[1:])]) is None
    assert shared_states([likelihood]) is None
