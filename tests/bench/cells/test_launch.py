"""Launch: a worker plans the very cell it was started for, and what it has to say is heard."""

import dataclasses
import json

import pytest

from bench.cells.launch import NOTES, alone
from bench.cells.plan import make_plan
from bench.cells.run import in_processes, notes_of
from bench.config.arguments import RunArguments
from tests.bench.cells.test_run import Quiet
from tests.bench.own import FOCAL

pytestmark = pytest.mark.usefixtures("sample_data")


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
)  # fmt: skip
def test_a_worker_plans_the_cell_it_was_started_for(own, methods, others):
    """Whatever else was asked for, and whatever a grid has picked: by the cell's own settings."""
    own.write("own_losses", FOCAL.replace('paper = "', 'parent = "mle"\n    paper = "'))
    given = {"tasks": ("logicnlg",), "limit": 8, "preset": "small", **others}
    arguments = RunArguments(methods=methods, devices=2, **given)
    for cell in make_plan(arguments).cells:
        given = RunArguments.from_dict(json.loads(json.dumps(alone(cell, arguments).as_dict())))
        found = [c for c in make_plan(given).cells if (c.key, c.method.name) == (cell.key, cell.method.name)]
        assert len(found) == 1
        assert found[0].config == cell.config
        assert cell.evaluations.items() <= found[0].evaluations.items()
        same = ("preset", "devices", "accumulate", "threads", "data_dir", "results", "kinds")
        assert [getattr(given, name) for name in same] == [getattr(arguments, name) for name in same]


def test_what_workers_have_to_say_is_told(tmp_path, monkeypatch):
    def launch(cell, missing, arguments, scratch):
        (scratch / NOTES).write_text("one\ntwo\n")

    monkeypatch.setattr("bench.cells.run.launch", launch)
    arguments = RunArguments(("ambiguous_template",), ("mle",), limit=8, preset="small", results=str(tmp_path))
    (cell,), progress = make_plan(arguments).cells, Quiet()
    in_processes(dataclasses.replace(cell, evaluations={}), [], arguments, progress)
    assert progress.lines == ["warning: one", "warning: two"]
    assert notes_of(tmp_path) == []
    assert not (tmp_path / ".work").exists()
