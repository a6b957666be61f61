"""bench/config/arguments.py: a run that is asked for in Python is refused as one on the command line."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.cells.plan import make_plan
from bench.cli import parser
from bench.config.arguments import RunArguments, collect
from bench.config.config import ExecutionConfig
from bench.errors import UsageError


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"keep_checkpoints": ""}, "keep_checkpoints must be one of all, none, not ''"),
        ({"keep_checkpoints": "nine"}, "keep_checkpoints must be one of all, none, not 'nine'; did you mean 'none'?"),
        ({"micro_batch": 0}, "micro_batch must be at least 1, not 0"),
        ({"seeds": "0,x"}, "seeds must be a whole number, not 'x'"),
        ({"seeds": "-1"}, "seeds must be at least 0, not -1"),
        ({"seeds": [0.5]}, "seeds must be a whole number, not '0.5'"),
        ({"limit": 0}, "limit must be at least 1, not 0"),
        ({"limit": 2.5}, "limit must be a whole number, not '2.5'"),
        ({"jobs": "many"}, "jobs must be a whole number, not 'many'"),
        ({"jobs": 0}, "jobs must be at least 1, not 0"),
        ({"preset": "smal"}, "preset must be one of small, mid, paper, not 'smal'; did you mean 'small'?"),
        ({"sets": ("execution.state_evry=2",)}, "no option 'execution.state_evry'; did you mean 'state_every'?"),
        ({"sets": ("execution.deterministic=maybe",)}, "execution.deterministic must be true or false, not 'maybe'"),
        ({"sets": ("mle:execution.state_every=2",)}, "execution settings hold for the whole run, not for 'mle' alone"),
    ],
)
def test_what_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as refused:
        RunArguments(("text",), ("mle",), **given)
    assert str(refused.value).startswith(says)


def test_what_is_not() -> None:
    RunArguments(("text",), ("mle",), micro_batch=8, keep_checkpoints="none")
    assert RunArguments(("text",), ("mle",), seeds="1,0,1").seeds == (1, 0)
    assert RunArguments(("text",), ("mle",), seeds=np.arange(2), limit=np.int64(5), jobs="auto").limit == 5


def test_execution_settings_enter_no_key(tmp_path: Path) -> None:
    """They may stand in a configuration file too, and the command line wins over it."""
    config = tmp_path / "run.yaml"
    config.write_text("task: ambiguous_template\nmethod: mle\nset:\n  execution.log_dir: x\n  execution.state_every: 9")
    asked = ["run", "--config", str(config), "--limit", "8", "--results", str(tmp_path / "results")]
    given = collect(parser().parse_args([*asked, "--set", "execution.state_every=0.5"]))
    assert given.execution == ExecutionConfig(log_dir="x", state_every=0.5)
    plain = RunArguments(("ambiguous_template",), ("mle",), limit=8, results=given.results)
    (one,), (other,) = make_plan(given).cells, make_plan(plain).cells
    assert one.key == other.key
    assert list(one.evaluations) == list(other.evaluations)


def test_arguments_reach_a_worker_as_they_are() -> None:
    given = RunArguments(("a", "b"), ("m:C",), (1, 2), "x", "paper", ("execution.log_dir=x",), "topk=3", 5,
                         False, ("probe",), ("m:E",), 2, 3, 4, "none",
                         data_dir="d", results="r", loggers=("wandb",))  # fmt: skip
    assert RunArguments(**json.loads(json.dumps(asdict(given)))) == given


@pytest.mark.parametrize(("preset", "asked", "right"), [("small", 0, 1), ("small", 4, 4), ("paper", 0, 0)])
def test_small_models_use_one_thread_unless_asked(preset: str, asked: int, right: int) -> None:
    assert RunArguments(("a",), ("b",), threads=asked).threads_of(preset) == right
