"""What is asked of the program in the folder with one of everything of one's own."""

import json

from bench.cells.plan import make_plan
from bench.config.arguments import RunArguments
from tests.conftest import call

BUILT_IN = "pairs"
RUN = ("run", "--task", f"towns.py:Towns,{BUILT_IN}", "--method", "mle,soft.py:Soft", "--backbone", "tiny.py:tiny",
       "--metrics", "shouts.py:shouts", "--decode", "greedy,top_a.py:TopA=0.2",
       "--preset", "small", "--seeds", "0,1", "--quiet", "--set", "trainer.steps=2",
       "tiny:backbone.width=8", "towns:trainer.batch_size=4", f"{BUILT_IN}:trainer.batch_size=2",
       "soft:trainer.lr=0.01", "evaluation.rows=4", "trainer.max_target=8")  # fmt: skip


def arguments(**change):
    given = {"tasks": ("towns.py:Towns",), "methods": ("soft.py:Soft",), "backbone": "tiny.py:tiny", "preset": "small"}
    return RunArguments(**{**given, **change})


def board(*arguments):
    ended = call("report", "--json", *arguments)
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def key(**change):
    (cell,) = make_plan(arguments(**change)).cells
    return cell.key
