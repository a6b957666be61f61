"""Every paper's method takes two steps at the paper's size, with random weights, on its own task.

The architecture, length and precision are the recipe's; a pretrained backbone is replaced by its architecture from
scratch. Each runs in a process of its own, `python -m tests.e2e.test_real_size TASK METHOD BACKBONE RESULTS`, which
prints one line of JSON.
"""

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.cells.plan import make_plan
from bench.cells.progress import Progress
from bench.cells.run import execute
from bench.config.arguments import RunArguments
from bench.config.resolve import find_method
from bench.models.backbones import BACKBONES
from bench.models.backbones.scratch import SUFFIX
from bench.tasks import TASKS, find_task

DATA = os.environ.get("BENCH_DATA", "")
BARRED = ("nyt", "lyrics")
"""Tasks whose data nobody may pass on; the same methods run at the same size on others."""
LARGE = [("ambiguous_template", "histalign", "gpt2-large-scratch")]
STEPS, ROWS = 2, 2


def cells() -> Iterator[tuple[str, str, str]]:
    """Yield task, method and backbone with random weights of every method that a paper trains on a task."""
    for task in TASKS:
        recipe = find_task(task).value.recipes.get("paper", {})
        backbone = str(recipe.get("backbone", ""))
        if f"{backbone}{SUFFIX}" in BACKBONES:
            backbone += SUFFIX
        for method in filter(None, str(recipe.get("methods", "")).split(",")):
            yield task, method, backbone


def measured(task: str, method: str, backbone: str, results: str) -> dict[str, Any]:
    """Train and evaluate one run in this process, which should do nothing else."""
    sets = [f"trainer.steps={STEPS}", "trainer.epochs=0", f"trainer.batch_size={ROWS}", "trainer.warmup=0"]
    sets += [f"evaluation.rows={ROWS}", f"trainer.validate_rows={ROWS}"]
    if find_method(method).on(backbone).parent:
        sets.append(f"finetuned:trainer.steps={STEPS}")
    arguments = RunArguments(
        (task,), (method,), backbone=backbone, preset="paper", sets=tuple(sets), kinds=("likelihood", "probe"),
        controls=False, results=results,
    )  # fmt: skip
    with Progress(quiet=True) as progress:
        plan = make_plan(arguments, progress.say)
        outcome = execute(plan, arguments, progress)
    cell = plan.cells[-1]
    record = cell.folder.trained() or {}
    return {
        "failed": {label: str(why).splitlines()[0] for label, why in outcome.failed.items()},
        "status": record.get("status"),
        "steps": record.get("train", {}).get("steps"),
        "loss": [loss for _, loss in record.get("train", {}).get("curve", [])],
        "precision": cell.config.trainer.precision,
        "positions": cell.config.trainer.max_source + cell.config.trainer.max_target,
    }


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
    """They end with finite losses."""
    if not (Path(DATA) / task).is_dir():
        pytest.skip(f"no data of {task}")
    command = [sys.executable, "-m", __name__, task, method, backbone, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3000, env={**os.environ, "BENCH_DATA": DATA})
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["failed"], found["status"], found["steps"]) == ({}, "ok", 2)
    assert len(found["loss"]) == 2
    assert all(map(math.isfinite, found["loss"]))
    recipe = find_task(task).value.recipes["paper"]
    assert found["precision"] == recipe.get(f"{method}:trainer.precision", recipe.get("trainer.precision", "32-true"))
    assert found["positions"] == recipe["trainer.max_source"] + recipe["trainer.max_target"]


if __name__ == "__main__":
    print(json.dumps(measured(*sys.argv[1:5])))
