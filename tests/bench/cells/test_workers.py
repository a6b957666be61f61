"""Job: another process plans the very run it was started for, and refuses what is not that run any more."""

import dataclasses
import json

import pytest

from bench.cells.plan import make_plan
from bench.cells.record import cell_of, config_yaml, job_of
from bench.config.arguments import RunArguments
from bench.errors import BenchError
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
        (("mle", "trime"), {"kinds": ("likelihood",), "sets": ("evaluation.split=valid", "execution.state_every=9")}),
    ],
)
def test_a_worker_makes_the_run_it_was_started_for(own, methods, others):
    """Whatever else was asked for, and whatever a grid has picked."""
    own.write("own_losses", FOCAL.replace('paper = "', 'parent = "mle"\n    paper = "'))
    given = {"tasks": ("logicnlg",), "limit": 8, "preset": "small", **others}
    arguments = RunArguments(methods=methods, devices=2, **given)
    for cell in make_plan(arguments).cells:
        job = json.loads(json.dumps(job_of(cell, arguments)))
        assert RunArguments(**job["arguments"]).execution == arguments.execution
        made = cell_of(job)
        while cell is not None:
            same = ("config", "method", "key", "folder", "evaluations", "label")
            assert [getattr(made, name) for name in same] == [getattr(cell, name) for name in same]
            assert (made.task.source, made.task.limit) == (cell.task.source, cell.task.limit)
            assert config_yaml(made) == config_yaml(cell)
            cell = None if cell.parent is None else dataclasses.replace(cell.parent, evaluations={})
            made = None if made.parent is None else dataclasses.replace(made.parent, evaluations={})
        assert made is None


@pytest.mark.parametrize("change", [{"key": "0" * 16}, {"evaluations": ["0" * 16]}, "source"])
def test_a_worker_refuses_a_run_of_another_key(own, change):
    own.write("own_losses", FOCAL)
    arguments = RunArguments(("logicnlg",), ("own_losses:Focal",), limit=8)
    (cell,) = make_plan(arguments).cells
    job = job_of(cell, arguments)
    if change == "source":
        own.write("own_losses", FOCAL + "\n")
    else:
        job |= change
    with pytest.raises(BenchError, match="is not what is planned here .* code or data have changed"):
        cell_of(job)
