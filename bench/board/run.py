"""Run: `bench run` for a script or a notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bench.board.board import Board
from bench.board.read import leaderboards_of
from bench.config.arguments import RunArguments
from bench.errors import MissingError, RunError, UsageError, did_you_mean
from bench.store.store import Store

if TYPE_CHECKING:
    from bench.cells.plan import Plan
    from bench.cells.progress import Progress
    from bench.cells.run import Outcome
    from bench.models.core.objective import Objective
    from bench.tasks.core.task import Task

__all__ = ["executed", "run"]

ON_ERROR = ("raise", "keep")


def run(
    task: str | type[Task] | Iterable[str | type[Task]],
    method: str | type[Objective] | Iterable[str | type[Objective]] = "all",
    *,
    seeds: int | Iterable[int] = (0,),
    preset: Literal["small", "paper"] = "small",
    backbone: str | None = None,
    set: Mapping[str, Any] | None = None,
    decode: str | None = None,
    limit: int | None = None,
    data_dir: str | Path | None = None,
    results: str | Path = "results",
    jobs: int = 1,
    on_error: Literal["raise", "keep"] = "raise",
    quiet: bool | None = None,
) -> Board:
    """Train, evaluate and score what is not stored yet; return the board of the tasks, all stored cells of them.

    The same cells as `bench run` with the same names: keys, checkpoints and numbers are equal.

    Args:
        task: names, `all`, globs, `module:Class`, or classes that can be imported.
        method: names, `all`, globs, `module:Class`, or classes that can be imported.
        seeds: one cell each.
        preset: `small` or `paper`.
        backbone: name, hub id or folder; the task's own for None.
        set: `section.name` to value, as `--set` takes them.
        decode: as `--decode` takes it; the task's own for None.
        limit: rows kept of each split, for debugging; the board then has such cells only.
        data_dir: a folder with a folder for each task.
        results: the results folder.
        jobs: cells worked on at once.
        on_error: `raise` when a cell failed, after all others were run; or `keep` what there is, with
            `Board.failed`.
        quiet: say nothing but warnings; by default where stderr is no terminal.

    Raises:
        UsageError: a name or an option is unknown, or nothing fits together.
        MissingError: data that was asked for is not there, or no cell has a number.
        RunError: cells failed, and `on_error` is `raise`.
    """
    from bench.cells.plan import make_plan
    from bench.cells.progress import Progress

    if on_error not in ON_ERROR:
        raise UsageError(f"on_error is 'raise' or 'keep', not '{on_error}'{did_you_mean(on_error, ON_ERROR)}")
    arguments = RunArguments(
        tasks=_names(task),
        methods=_names(method),
        seeds=_seeds(seeds),
        backbone=backbone,
        preset=preset,
        sets=tuple(f"{key}={value}" for key, value in (set or {}).items()),
        decode=decode,
        limit=limit,
        jobs=jobs,
        data_dir=None if data_dir is None else str(data_dir),
        results=str(results),
    )
    if quiet is None:
        quiet = not sys.stderr.isatty()
    with Progress(quiet) as progress, same_threads():
        plan = make_plan(arguments, progress.say, progress.search)
        if not plan.cells:
            why = "; ".join(f"{skip.task} · {skip.method} {skip.reason}" for skip in plan.skips)
            raise UsageError(f"nothing to run: {why}")
        outcome = executed(plan, arguments, progress)
    if outcome.failed and on_error == "raise":
        raise RunError(outcome.failed)
    store, tasks = Store(arguments.results_folder), {cell.config.task for cell in plan.cells}
    try:
        leaderboards = leaderboards_of(store, sorted(tasks), limited=limit is not None)
    except MissingError as error:
        if outcome.failed:
            raise RunError(outcome.failed) from error
        raise
    return Board(store, leaderboards, failed=outcome.failed)


def executed(plan: Plan, arguments: RunArguments, progress: Progress) -> Outcome:
    """Run a plan, in this process or on several workers."""
    if arguments.jobs > 1:
        from bench.queue.jobs import execute_jobs

        return execute_jobs(plan, arguments, progress)
    from bench.cells.run import execute

    return execute(plan, arguments, progress)


@contextmanager
def same_threads() -> Iterator[None]:
    """Give the caller its number of CPU threads back: the small preset computes on one."""
    import torch

    threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _names(parts: Any) -> tuple[str, ...]:
    """Return the names of one name or class, or of several."""
    from bench.cells.make import name_of

    if isinstance(parts, Iterable) and not isinstance(parts, str):
        return tuple(map(name_of, parts))
    return (name_of(parts),)


def _seeds(seeds: int | Iterable[int]) -> tuple[int, ...]:
    if isinstance(seeds, int):
        return (seeds,)
    return tuple(dict.fromkeys(seeds))
