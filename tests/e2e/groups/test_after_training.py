"""What is taken from data after the training: by the first rank alone, while the others live on and wait for it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Ended
from tests.e2e import children, stores

pytestmark = pytest.mark.ddp

Bench = Callable[..., Ended]
Start = Callable[..., BaseProcess]
Run = Callable[..., int]

SLOW = "tests.e2e.methods:ReadsSlowly"
LIMIT = 4
"""Seconds that a rank may be silent."""


def controls(results: Path, *more: str) -> list[str]:
    return stores.arguments(results, *more, task="logicnlg", method="mle.knn,mle.penalty", sets=("method.keys=30",))


def after_training(results: Path, method: str) -> Any:
    (file,) = results.glob(f"*/{method}/*/trained.json")
    return json.loads(file.read_text())["content"]["train"]["after_training"]


def test_two_processes_choose_what_one_does(bench: Bench, run: Run, log: Path, tmp_path: Path) -> None:
    """From the same weights: the same records, the same datastore and the same rows."""
    one, two = tmp_path / "one", tmp_path / "two"
    assert bench(*stores.arguments(one, task="logicnlg", method="mle")).code == 0
    shutil.copytree(one, two)
    assert bench(*controls(one)).code == 0
    assert run(controls(two, "--devices", "2"), children.ForkedWorkers()) == 0, children.read(log)
    assert after_training(two, "mle.knn")["keys"] == 30
    assert stores.contents(two) == stores.contents(one)


@pytest.mark.slow
def test_the_rank_that_waits_outlives_its_own_limit(run: Run, log: Path, tmp_path: Path) -> None:
    """Two batches of training text, each of which takes less than the limit, and both more."""
    asked = stores.arguments(tmp_path / "results", "--devices", "2", "--stall-timeout", str(LIMIT),
                             task="ambiguous_template", method=SLOW)  # fmt: skip
    assert run(asked, children.ForkedWorkers(), EACH=str(0.75 * LIMIT)) == 0, children.read(log)
    assert after_training(tmp_path / "results", "reads-slowly") == {"read": 2}


@pytest.mark.slow
def test_the_rank_that_reads_is_named_when_it_hangs(start: Start, log: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    asked = stores.arguments(results, "--devices", "2", "--stall-timeout", str(LIMIT), task="ambiguous_template",
                             method=SLOW)  # fmt: skip
    child = start(asked, children.ForkedWorkers(), EACH="0", SLEEPS="0", BED=str(tmp_path))
    assert children.ended(child, LIMIT + 60)
    assert child.exitcode == 1, children.read(log)
    assert f"rank 0 of 2 was silent for {LIMIT} s, last seen in after training, step 2" in children.read(log)
