"""bench/launch/slurm.py without Slurm: what `--slurm` takes, which parts come first, what is said where it is missing.

What the jobs do is shown by tests/e2e/test_slurm.py, on a real Slurm.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.cells.plan import make_plan
from bench.config.arguments import RunArguments
from bench.errors import UsageError
from bench.launch.slurm import Part, SlurmOptions, parts_of, reason_in, runs_of
from tests.conftest import Bench
from tests.e2e import stores

TASK = "ambiguous_template"


def test_options_are_those_of_sbatch() -> None:
    found = SlurmOptions.of(["partition=gpu", "--mem=32G", "gpus_per_node=4", "exclusive", "notice=60"])
    more = {"partition": "gpu", "mem": "32G", "gpus-per-node": "4", "exclusive": True}
    assert found == SlurmOptions(notice=60, at_once=256, others=more)


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("4 hours", "--slurm takes KEY=VALUE, a long option of sbatch, e.g. mem=32G, not '4 hours'"),
        ("-p=gpu", "--slurm takes KEY=VALUE, a long option of sbatch, e.g. mem=32G, not '-p=gpu'"),
        ("array=0-3", "--slurm does not take 'array', which bench run sets itself"),
        ("nodes=2", "--slurm does not take 'nodes', which bench run sets itself"),
        ("notice=two", "notice of --slurm is a whole number of at least 1, not 'two'"),
        ("notice=0", "notice of --slurm is a whole number of at least 1, not '0'"),
    ],
)
def test_what_is_refused(word: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        SlurmOptions.of([word])
    assert str(refused.value).startswith(says)


def test_parts_that_others_start_from_come_first() -> None:
    """A method that is fine-tuned waits for its parent; a control that only reads a trained run, for that run."""
    plan = make_plan(RunArguments(("text",), ("trime", "mle.continued", "mle.decoupled", "mle"), (0, 1), limit=8))
    for reader in ("mle.continued", "mle.decoupled"):
        cells = [cell for cell in plan.cells if cell.method.name in ("mle", reader)]
        assert parts_of(cells) == ([Part("text", "mle")], [Part("text", reader)])
    first, rest = parts_of(plan.cells)
    assert [part.method for part in first] == ["mle"]
    assert sorted(part.method for part in rest) == ["mle.continued", "mle.decoupled", "trime"]
    without_parent = [cell for cell in plan.cells if cell.method.name != "mle"]
    assert Part("text", "mle.continued") in parts_of(without_parent)[1], "its parent is there already"


def test_an_element_has_the_runs_of_its_part_and_what_they_need() -> None:
    plan = make_plan(RunArguments((TASK,), ("trime", "mle.continued"), (0, 1), limit=8))
    part = runs_of(plan, Part(TASK, "mle.continued"))
    assert [(cell.method.name, cell.config.seed) for cell in part.cells] == [
        ("mle", 0), ("mle.continued", 0), ("mle", 1), ("mle.continued", 1),
    ]  # fmt: skip
    assert [cell.config.seed for cell in runs_of(plan, Part(TASK, "trime")).cells] == [0, 1]
    keys = {cell.key for cell in plan.cells}
    assert {cell.key for cell in part.cells} <= keys, "they are the runs of the whole plan"
    assert not any(cell.evaluations for cell in part.cells if cell.method.name == "mle"), "only trained for the others"


def test_without_slurm_and_without_submitit(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = stores.arguments(tmp_path / "results", "--slurm", "time=10", task=TASK, method="mle")
    monkeypatch.setenv("PATH", str(tmp_path))
    ended = bench(*words)
    assert (ended.code, "type the command on a login node of a cluster with Slurm" in ended.err) == (3, True)
    (tmp_path / "squeue").write_text("#!/bin/sh\n")
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setitem(sys.modules, "submitit", None)
    ended = bench(*words)
    assert (ended.code, "pip install 'objective-bench[integrations]'" in ended.err) == (3, True)


def test_a_failed_run_says_what_its_log_says(tmp_path: Path) -> None:
    (tmp_path / "7_0_log.out").write_text("[1/2] a\nbench: failed: a · b: the second step went wrong\n")
    assert reason_in(tmp_path, "a · b") == "the second step went wrong"
    assert reason_in(tmp_path, "a · c").startswith("its job ended before it was done")
