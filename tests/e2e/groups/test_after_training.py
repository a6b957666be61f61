"""What is taken from data after the training: by the first rank alone, while the others live on and wait for it."""

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Bench
from tests.e2e import children, stores
from tests.e2e.children import Run

pytestmark = pytest.mark.ddp


READS = "tests.e2e.methods:ReadsSlowly"


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
    assert run(controls(two, "--devices", "2"), children.fork_workers) == 0, children.read(log)
    assert after_training(two, "mle.knn")["keys"] == 30
    assert stores.contents(two) == stores.contents(one)


@pytest.mark.slow
def test_the_process_that_waits_outlives_the_timeout_of_the_group(run: Run, log: Path, tmp_path: Path) -> None:
    """What the first process does alone is outside of the group."""
    trouble = children.together(children.fork_workers, partial(children.hurry, 20, timeout=2.0))
    words = stores.arguments(tmp_path / "results", "--devices", "2", task="ambiguous_template", method=READS)
    assert run(words, trouble, EACH="2") == 0, children.read(log)
    assert after_training(tmp_path / "results", "reads-slowly") == {"read": 2}
