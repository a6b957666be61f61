"""Every paper method takes two steps at the paper's size, with random weights, on its own task."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.tasks import find_task
from tests.e2e.real_size import cells

DATA = os.environ.get("BENCH_DATA", "")
BARRED = ("nyt", "lyrics", "nsmc")
"""Tasks whose data nobody may pass on; the same methods run at the same size on others."""
LARGE = [("ambiguous_template", "histalign", "gpt2-large-scratch")]


def test_every_paper_is_there() -> None:
    """Methods of the three papers, on their tasks, at their size."""
    found = list(cells())
    assert {backbone for _, _, backbone in found} == {"gpt2-scratch", "bart-large-scratch", "f2-decoder", "bilstm"}
    assert {"mle", "trime", "histalign", "f2softmax", "face", "ul_token", "adadec"} <= {
        method for _, method, _ in found
    }
    assert {task for task, _, _ in found} >= {"ambiguous_template", "writingprompts", "xsum", "cnndm", "logicnlg"}


@pytest.mark.slow
@pytest.mark.skipif(not DATA, reason="BENCH_DATA names no folder with data")
@pytest.mark.parametrize(("task", "method", "backbone"), [cell for cell in [*cells(), *LARGE] if cell[0] not in BARRED])
def test_two_steps(task: str, method: str, backbone: str, tmp_path: Path) -> None:
    """They end with finite losses; time and memory are printed."""
    if not (Path(DATA) / task).is_dir():
        pytest.skip(f"no data of {task}")
    command = [sys.executable, "-m", "tests.e2e.real_size", task, method, backbone, str(tmp_path)]
    environment = {**os.environ, "BENCH_DATA": DATA}
    done = subprocess.run(command, capture_output=True, text=True, timeout=3000, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    print(json.dumps({"task": task, "method": method, "backbone": backbone, **found}))
    assert (found["failed"], found["status"], found["steps"]) == ({}, "ok", 2)
    assert len(found["loss"]) == 2
    assert all(map(math.isfinite, found["loss"]))
    recipe = find_task(task).value.recipes["paper"]
    assert found["precision"] == recipe.get(f"{method}:trainer.precision", recipe.get("trainer.precision", "32-true"))
    assert found["positions"] == recipe["trainer.max_source"] + recipe["trainer.max_target"]
