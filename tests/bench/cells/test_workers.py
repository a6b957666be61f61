"""Job: another process makes the very run it was started for, and plans nothing."""

import dataclasses
import json
from typing import Any

import pytest

from bench.cells.cell import Cell
from bench.cells.job import cell_of, content_of
from bench.cells.plan import make_plan
from bench.cells.record import config_yaml
from bench.config.arguments import RunArguments
from bench.errors import BenchError
from tests.bench.own import FOCAL

pytestmark = pytest.mark.usefixtures("sample_data")


def sent(cell: Cell) -> dict[str, Any]:
    """What a worker reads of a cell."""
    content: dict[str, Any] = json.loads(json.dumps(content_of(cell)))
    return content


@pytest.mark.parametrize(
    ("methods", "others"),
    [
        (("mle", "trime.released"), {"seeds": (0, 3), "tasks": ("logicnlg", "ambiguous_template")}),
        (("mle.continued", "mle.decoupled", "mle"), {"decode": "topk=3+temperature=0.5,beam=4,greedy"}),
        (("adadec.swapped", "adadec.const"), {"sets": ("backbone.norm=none", "backbone.copy=false")}),
        (("mle",), {"limit": None, "sets": ("mle:trainer.limit=5", "trainer.precision=bf16-mixed", "trainer.lr=3e-5")}),
        (("own_losses:Focal", "mle"), {"sets": ("method.gamma=0.1", "mle:trainer.lr=1", "finetuned:trainer.lr=5")}),
        (("mle", "trime"), {"kinds": ("likelihood",), "sets": ("evaluation.split=valid", "evaluation.rows=all")}),
    ],
)
def test_a_worker_makes_the_cell_it_was_started_for(own, monkeypatch, methods, others):
    """Whatever else was asked for, and whatever a grid has picked; nothing is planned or looked for again."""
    own.write("own_losses", FOCAL.replace('paper = "', 'parent = "mle"\n    paper = "'))
    given = {"tasks": ("logicnlg",), "limit": 8, "preset": "small", **others}
    cells = make_plan(RunArguments(methods=methods, devices=2, **given)).cells
    monkeypatch.setattr("bench.cells.plan.make_plan", None)
    monkeypatch.setattr("bench.tasks.fetch.sources.resolve", None)
    for cell in cells:
        made = cell_of(sent(cell))
        while cell is not None:
            same = ("config", "method", "key", "folder", "evaluations", "donor", "label", "start")
            assert [getattr(made, name) for name in same] == [getattr(cell, name) for name in same]
            assert made.task.source == cell.task.source
            assert made.task.limit == cell.task.limit
            assert config_yaml(made) == config_yaml(cell)
            cell = None if cell.parent is None else dataclasses.replace(cell.parent, evaluations={})
            made = made.parent
        assert made is None


def an_option(content: dict[str, Any]) -> None:
    content["config"]["trainer"]["lr"] *= 2


def an_evaluation(content: dict[str, Any]) -> None:
    content["evaluations"][0] = "0" * 16


def data(content: dict[str, Any]) -> None:
    content["config"]["trainer"]["limit"] = 5


@pytest.mark.parametrize("change", [an_option, an_evaluation, data])
def test_a_worker_refuses_a_cell_of_another_key(change):
    (cell,) = make_plan(RunArguments(("logicnlg",), ("mle",), limit=8, preset="small")).cells
    content = sent(cell)
    change(content)
    with pytest.raises(BenchError, match=r"mle .* in the job and .* in the worker; code or data have changed"):
        cell_of(content)


def test_a_worker_refuses_code_that_has_changed(own):
    own.write("own_losses", FOCAL)
    (cell,) = make_plan(RunArguments(("logicnlg",), ("own_losses:Focal",), limit=8, preset="small")).cells
    own.write("own_losses", FOCAL + "\n")
    with pytest.raises(BenchError, match="the key of the trained run is .* code or data have changed"):
        cell_of(sent(cell))


def test_what_bad_rows_become_reaches_a_worker():
    arguments = RunArguments(("logicnlg",), ("mle",), limit=8, preset="small", on_bad_row="skip")
    (cell,) = make_plan(arguments).cells
    assert cell_of(sent(cell)).task.on_bad_row == "skip"
