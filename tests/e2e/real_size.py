"""One cell at real size: a paper's recipe with random weights, two steps of two rows. `python -m tests.e2e.real_size`.

The architecture, length and precision are the recipe's; a pretrained backbone is replaced by its architecture from
scratch. What is printed is one line of JSON: seconds of all, peak memory, parameters, and the loss of the first step.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.cells.plan import make_plan
from bench.cells.progress import Progress
from bench.cells.run import execute
from bench.config.arguments import RunArguments
from bench.config.resolve import find_method
from bench.models.backbones import BACKBONES
from bench.models.backbones.scratch import SUFFIX
from bench.tasks import TASKS, find_task

STEPS, ROWS = 2, 2


def cells() -> Iterator[tuple[str, str, str]]:
    """Yield task, method and backbone of every method that a paper trains on a task."""
    for task in TASKS:
        recipe = find_task(task).value.recipes.get("paper", {})
        backbone = str(recipe.get("backbone", ""))
        for method in filter(None, str(recipe.get("methods", "")).split(",")):
            yield task, method, at_size(backbone)


def at_size(backbone: str) -> str:
    """Return the backbone with random weights that is as large as one of a paper."""
    if f"{backbone}{SUFFIX}" in BACKBONES:
        return f"{backbone}{SUFFIX}"
    return backbone


def arguments(task: str, method: str, backbone: str, results: Path) -> RunArguments:
    """Return a run of two steps of two rows, with the recipe's lengths and precision."""
    sets = (f"trainer.steps={STEPS}", "trainer.epochs=0", f"trainer.batch_size={ROWS}", "trainer.warmup=0")
    more = [f"evaluation.rows={ROWS}"]
    if find_method(method).parent:
        more.append(f"finetuned:trainer.steps={STEPS}")
    return RunArguments(
        tasks=(task,),
        methods=(method,),
        backbone=backbone,
        preset="paper",
        sets=(*sets, *more),
        kinds=("likelihood", "probe"),
        controls=False,
        results=str(results),
    )


def measured(task: str, method: str, backbone: str, results: Path) -> dict[str, Any]:
    """Train and evaluate one cell in this process, which should do nothing else."""
    started = time.monotonic()
    asked = arguments(task, method, backbone, results)
    with Progress(quiet=True) as progress:
        plan = make_plan(asked, progress.say)
        outcome = execute(plan, asked, progress)
    cell = plan.cells[-1]
    record = cell.folder.trained() or {}
    return {
        "failed": {label: str(why).splitlines()[0] for label, why in outcome.failed.items()},
        "status": record.get("status"),
        "steps": record.get("train", {}).get("steps"),
        "loss": [loss for _, loss in record.get("train", {}).get("curve", [])],
        "parameters": record.get("model", {}).get("parameters"),
        "precision": cell.config.trainer.precision,
        "positions": cell.config.trainer.max_source + cell.config.trainer.max_target,
        "seconds": round(time.monotonic() - started, 1),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9, 2),
    }


if __name__ == "__main__":
    print(json.dumps(measured(*sys.argv[1:4], results=Path(sys.argv[4]))))
