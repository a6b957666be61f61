"""Make: an objective and its task for the user's own trainer, as `bench run` makes them for a run."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.base.registry import expand
from bench.cells.build import build, start, training_loader
from bench.cells.cell import Cell
from bench.cells.plan import make_plan
from bench.config.arguments import RunArguments, set_texts_of
from bench.config.config import Preset
from bench.config.resolve import method_names
from bench.errors import BlockedError, UsageError
from bench.models import METHODS
from bench.models.core.objective import Objective
from bench.tasks import TASKS
from bench.tasks.core.task import Task

__all__ = ["make"]


def make(
    task: str | type[Task],
    method: str | type[Objective] = "mle",
    *,
    seed: int = 0,
    preset: Preset = "small",
    backbone: str | None = None,
    set: Mapping[str, Any] | None = None,
    limit: int | None = None,
    data_dir: str | Path | None = None,
    results: str | Path = "results",
) -> tuple[Objective, Task]:
    """Return an objective with its initial weights and its task, ready for `Trainer.fit`.

    Both are what `bench run` makes of the same names: seed, recipe, tokenizer, token counts, warm start, exemplars and
    the weights of the method it is fine-tuned from. The learning rate falls over as many steps as the trainer takes.
    A trainer with `max_steps`, `gradient_clip_val` and `precision` of the recipe ends with the weights of `bench run`,
    bit for bit.

    Args:
        task: name of a task, `module:Class`, `file.py:Class`, or a class that can be imported.
        method: likewise.
        seed: of weights, order and dropout.
        preset: `small` or `paper`.
        backbone: name, hub id, folder, `module:function` or `file.py:function`; the task's own for None.
        set: `section.name` to value, as `--set` takes them.
        limit: rows kept of each split, for debugging.
        data_dir: a folder with the task's data.
        results: the results folder with the runs that methods are fine-tuned from.

    Raises:
        UsageError: a name or an option is unknown, the method does not fit the task, or it trains nothing.
        BlockedError: the run it is fine-tuned from is not in the results folder.
    """
    arguments = RunArguments(
        tasks=(name_of(task, "task"),),
        methods=(name_of(method, "method"),),
        seeds=(seed,),
        backbone=backbone,
        preset=preset,
        sets=set_texts_of(set),
        limit=limit,
        data_dir=str(data_dir or ""),
        results=str(results),
    )
    cell = cell_of(arguments)
    objective, codec = build(cell)
    start(objective, cell, codec)
    loader, evaluation = training_loader(cell, codec), cell.config.evaluation
    cell.task.setup_run(replace(loader, evaluation_batch=evaluation.batch_size, evaluation_rows=evaluation.rows))
    return objective, cell.task


def cell_of(arguments: RunArguments) -> Cell:
    """Plan the only run of some arguments."""
    (task,), (name,) = arguments.tasks, arguments.methods
    for typed, names in ((task, expand([task], TASKS, "task")), (name, method_names([name]))):
        if len(names) > 1:
            raise UsageError(
                f"bench.make makes one objective, and '{typed}' stands for {len(names)} names, such as {names[0]}; "
                f"name one"
            )
    plan = make_plan(arguments)
    if not plan.cells:
        raise UsageError(f"{task} · {name}: {plan.skips[0].reason}")
    cell = plan.cells[-1]
    if cell.method.is_baseline or cell.method.untrained or cell.method.only_reads:
        raise UsageError(f"'{name}' trains nothing, so there is no objective to make; use bench run")
    for needed in cell.needed:
        trained = needed.folder.trained()
        if trained is None or trained["status"] != "ok":
            given = f"--seeds {arguments.seeds[0]} --preset {arguments.preset} --results {arguments.results}"
            raise BlockedError(
                f"'{name}' needs the trained run of '{needed.label}', which is not in '{arguments.results}'; run: "
                f"bench run --task {task} --method {name} {given}, with the same options"
            )
    return cell


def name_of(kind: str | type[Objective] | type[Task], what: str) -> str:
    """Return a name from which other processes get a method or task: its own, or the place of its class.

    Raises:
        UsageError: it is no such class, or one that was typed in a session or inside a function: the key of a run
            holds the source file of its parts, and other processes import them.
    """
    if isinstance(kind, str):
        return kind
    if not isinstance(kind, type) or issubclass(kind, Task) != (what == "task") or not hasattr(kind, "name"):
        expected = {"task": "bench.Task", "method": "bench.Objective"}[what]
        raise UsageError(f"a {what} is a name or a class derived from {expected}, not {kind!r:.60}")
    target = f"{kind.__module__}:{kind.__qualname__}"
    for entry in [*METHODS.values(), *TASKS.values()]:
        if entry.target == target:
            return str(kind.name)
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if file is None:
        raise UsageError(
            f"the class {kind.__name__} has no source file, which would say later what was run: write it to a file "
            f"(in a notebook, put %%writefile mine.py on top of its cell) and give 'mine.py:{kind.__name__}' or the "
            f"imported class"
        )
    if "." in kind.__qualname__:
        raise UsageError(f"the class {kind.__qualname__} should stand at the top level of its file, to be imported")
    return target
