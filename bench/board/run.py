"""Run: `bench run` for a script or a notebook."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bench.base.registry import split_names
from bench.board.board import Board
from bench.config.arguments import RunArguments, set_texts_of
from bench.errors import MissingError, RunError, UsageError, did_you_mean
from bench.leaderboards.leaderboards import leaderboards_of
from bench.store.store import Store

if TYPE_CHECKING:
    from bench.launch.jobs import Submits
    from bench.models.core.objective import Objective
    from bench.tasks.core.task import Task

__all__ = ["run"]

ON_ERROR = ("raise", "keep")


def run(
    task: str | type[Task] | Iterable[str | type[Task]],
    method: str | type[Objective] | Iterable[str | type[Objective]] = "papers",
    *,
    seeds: int | str | Iterable[int] = (0,),
    preset: Literal["small", "mid", "paper"] = "small",
    backbone: str | None = None,
    set: Mapping[str, Any] | None = None,
    decode: str | Iterable[str] | None = None,
    limit: int | None = None,
    data_dir: str | Path | None = None,
    results: str | Path = "results",
    jobs: int | Literal["auto"] = 1,
    executor: Submits | None = None,
    on_error: Literal["raise", "keep"] = "raise",
    quiet: bool | None = None,
    trials: int | str | None = None,
    logger: str | Iterable[str] = (),
) -> Board:
    """Train, evaluate and score the runs that are not stored yet; return the board of all stored runs of the tasks.

    The runs are those of the command `bench run` with the same names: keys, checkpoints and numbers are equal.

    Args:
        task: names, `all`, globs, `module:Class`, or classes that can be imported.
        method: names, `papers`, `modern`, `all`, globs, `module:Class`, or classes that can be imported.
        seeds: one run each: 0, [0, 1], or as `--seeds` takes them, "0,1".
        preset: `small`, `mid` or `paper`.
        backbone: name, hub id or folder; that of the task for None.
        set: `section.name` to value, as `--set` takes them.
        decode: as `--decode` takes it, "greedy,topk=3", or a list; those of the task for None.
        limit: rows kept of each split, for debugging; the board then has such runs only.
        data_dir: a folder with a folder for each task, or `sample` for the built-in sample.
        results: the results folder.
        jobs: runs that are executed at once on this machine; `auto` for as many as it has room for.
        executor: takes the runs in place of this machine, such as one of `concurrent.futures` or Dask's
            `Client.get_executor()`; its workers have to see the results folder (docs/cluster.md).
        on_error: `raise` when a run failed, after all others were executed; or `keep` the others, with
            `Board.failed`. One that diverged is in `Board.failed` with either.
        quiet: say nothing but warnings; by default where stderr is no terminal.
        trials: try several learning rates of every method and keep the one with the best validation likelihood, as
            `--trials` takes them: 3, "3,mle=18", "trainer.lr=1e-5,5e-5", or "3 steps=1/3 rows=5000".
        logger: where the run is copied to while it works, as `--logger` takes it: `wandb`, `module:Name`,
            `file.py:Name`, or several. It changes no number (docs/commands.md).

    Raises:
        UsageError: a name or an option is unknown, or nothing fits together.
        MissingError: the data of a task is not on this machine.
        RunError: runs failed, and `on_error` is `raise`; or no run has a number, because they failed or diverged.
    """
    import torch

    from bench.cells.plan import make_plan
    from bench.cells.progress import Progress
    from bench.cells.search import read_trials, run_search
    from bench.launch.jobs import launcher_of

    if on_error not in ON_ERROR:
        raise UsageError(f"on_error is 'raise' or 'keep', not '{on_error}'{did_you_mean(on_error, ON_ERROR)}")
    seeds_read: Any = seeds if isinstance(seeds, Iterable) else (seeds,)
    arguments = RunArguments(
        tasks=_names(task, "task"),
        methods=_names(method, "method"),
        seeds=seeds_read,
        backbone=backbone,
        preset=preset,
        sets=tuple(set_texts_of(set)),
        decode=decode if decode is None or isinstance(decode, str) else ",".join(decode),
        limit=limit,
        jobs=jobs,
        data_dir=str(data_dir or ""),
        results=str(results),
        loggers=tuple(split_names([logger] if isinstance(logger, str) else list(logger))),
    )
    if arguments.jobs != 1 or executor is not None:
        for name in (*arguments.tasks, *arguments.methods):
            if name.startswith("__main__:"):
                raise UsageError(
                    f"the class {name.partition(':')[2]} is in the script that is running, which other processes do "
                    f"not run; put it in a module and import it, or leave jobs out"
                )
    threads = torch.get_num_threads()
    try:
        with Progress(not sys.stderr.isatty() if quiet is None else quiet) as progress:
            launcher = partial(launcher_of, executor=executor)
            if trials is not None:
                search = read_trials(re.sub(r"\s*,\s*", ",", str(trials)).split())
                plan, outcome = run_search(search, arguments, progress, launcher)
            else:
                plan = make_plan(arguments, progress.say, progress.rows)
                plan.refuse_empty()
                outcome = launcher(plan, arguments)(progress)
    finally:
        torch.set_num_threads(threads)  # the small preset computes on one
    tasks = sorted({cell.config.task for cell in plan.cells})
    if outcome.failed and on_error == "raise":
        raise RunError(outcome.failed)
    without_number = {**outcome.failed, **dict.fromkeys(outcome.diverged, "training diverged")}
    store = Store(arguments.results_folder)
    try:
        leaderboards = leaderboards_of(store, tasks, limited=plan.is_limited)
    except MissingError as error:
        if without_number:
            raise RunError(without_number) from error
        raise
    return Board(store, leaderboards, failed=without_number)


def _names(parts: Any, what: str) -> tuple[str, ...]:
    """Return the names of one task or method, or of several."""
    from bench.cells.make import name_of

    if isinstance(parts, Iterable) and not isinstance(parts, (str, type)):
        return tuple(name_of(part, what) for part in parts)
    return (name_of(parts, what),)
