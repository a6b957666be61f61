"""Run: `bench run` for a script or a notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bench.base.entries import split_names
from bench.board.board import Board
from bench.board.read import leaderboards_of
from bench.config.arguments import RunArguments, set_texts_of
from bench.config.decoding import Decode, decode_text
from bench.errors import MissingError, RunError, UsageError, did_you_mean
from bench.launch.group import current_group
from bench.store.store import Store

if TYPE_CHECKING:
    from bench.cells.plan import Plan
    from bench.cells.progress import Progress
    from bench.cells.run import Outcome
    from bench.cells.search.search import Search
    from bench.launch.jobs import Submits
    from bench.models.core.objective import Objective
    from bench.tasks.core.task import Task

__all__ = ["executed", "run"]

ON_ERROR = ("raise", "keep")


def run(
    task: str | type[Task] | Iterable[str | type[Task]],
    method: str | type[Objective] | Iterable[str | type[Objective]] = "papers",
    *,
    seeds: int | Iterable[int] = (0,),
    preset: Literal["small", "mid", "paper"] = "small",
    backbone: str | None = None,
    set: Mapping[str, Any] | None = None,
    decode: Decode | Iterable[Decode] | None = None,
    limit: int | None = None,
    data_dir: str | Path | None = None,
    results: str | Path = "results",
    jobs: int | Literal["auto"] = 1,
    executor: Submits | None = None,
    on_error: Literal["raise", "keep"] = "raise",
    quiet: bool | None = None,
    trials: int | str | None = None,
    trial_steps: float | str | Fraction | None = None,
    trial_rows: int | None = None,
    logger: str | Iterable[str] = (),
    log_dir: str | Path | None = None,
) -> Board:
    """Train, evaluate and score what is not stored yet; return the board of the tasks, all stored cells of them.

    The same cells as `bench run` with the same names: keys, checkpoints and numbers are equal.

    Args:
        task: names, `all`, globs, `module:Class`, or classes that can be imported.
        method: names, `papers`, `modern`, `all`, globs, `module:Class`, or classes that can be imported.
        seeds: one cell each.
        preset: `small` or `paper`.
        backbone: name, hub id or folder; the task's own for None.
        set: `section.name` to value, as `--set` takes them.
        decode: as `--decode` takes it, a decoding such as `TopK(k=3)`, or several; the task's own for None.
        limit: rows kept of each split, for debugging; the board then has such cells only.
        data_dir: a folder with a folder for each task.
        results: the results folder.
        jobs: runs that are executed at once on this machine; `auto` for as many as it has room for.
        executor: takes the runs in place of this machine, such as one of `concurrent.futures` or Dask's
            `Client.get_executor()`; its workers have to see the results folder (docs/cluster.md).
        on_error: `raise` when a cell failed, after all others were run; or `keep` what there is, with
            `Board.failed`. One that diverged is in `Board.failed` with either.
        quiet: say nothing but warnings; by default where stderr is no terminal.
        trials: try so many learning rates of every method, as `--trials` takes them: 3, "3,mle=18", or "lr=1e-5,5e-5";
            the one with the best validation likelihood is kept.
        trial_steps: with `trials`: share of a training that a trial is, e.g. "1/3", where ties are repeated at full
            length; the whole for None.
        trial_rows: with `trials`: validation rows that a trial is scored on, at most; all for None.
        logger: where the run is copied to while it works, as `--logger` takes it: `wandb`, `tensorboard`, `csv`,
            `module:Name`, `file.py:Name`, or several. It changes no number (docs/loggers.md).
        log_dir: folder of loggers that write files, as `execution.log_dir` in `set`; `logs` for None.

    Raises:
        UsageError: a name or an option is unknown, or nothing fits together.
        MissingError: data that was asked for is not there.
        RunError: cells failed, and `on_error` is `raise`; or no cell has a number, because they failed or diverged.
    """
    if on_error not in ON_ERROR:
        raise UsageError(f"on_error is 'raise' or 'keep', not '{on_error}'{did_you_mean(on_error, ON_ERROR)}")
    logged_to = () if log_dir is None else (f"execution.log_dir={log_dir}",)
    arguments = RunArguments(
        tasks=_names(task, "task"),
        methods=_names(method, "method"),
        seeds=_seeds(seeds),
        backbone=backbone,
        preset=preset,
        sets=(*set_texts_of(set), *logged_to),
        decode=decode_text(decode),
        limit=limit,
        jobs=jobs,
        data_dir=None if data_dir is None else str(data_dir),
        results=str(results),
        loggers=_loggers(logger),
    )
    if arguments.jobs != 1 or executor is not None:
        _refuse_script((*arguments.tasks, *arguments.methods))
    search = _search(trials, trial_steps, trial_rows)
    if quiet is None:
        quiet = not sys.stderr.isatty()
    plan, outcome = planned_and_executed(arguments, quiet, search, executor)
    if outcome.any_number and not outcome.loggers_off.issuperset(arguments.loggers):
        from bench.board.logged import log_stored

        limited = any(cell.config.trainer.limit is not None for cell in plan.cells)
        tasks = {cell.config.task for cell in plan.cells}
        log_stored(tasks, arguments, limited=limited, off=outcome.loggers_off)
    if outcome.failed and on_error == "raise":
        raise RunError(outcome.failed)
    return board_of(plan, outcome, arguments)


def planned_and_executed(
    arguments: RunArguments, quiet: bool, search: Search | None = None, executor: Submits | None = None
) -> tuple[Plan, Outcome]:
    """Plan a run and run it, with the settings that a search picks where there is one.

    Raises:
        UsageError: nothing fits together.
        MissingError: data that was asked for is not there.
    """
    from bench.cells.plan import make_plan
    from bench.cells.progress import Progress

    with Progress(quiet) as progress, same_threads():
        if search is not None:
            from bench.cells.search.run import run_search

            return run_search(search, arguments, progress, partial(executed, executor=executor))
        plan = make_plan(arguments, progress.say, progress.rows)
        if not plan.cells:
            why = "; ".join(f"{skip.task} · {skip.method} {skip.reason}" for skip in plan.skips)
            raise UsageError(f"nothing to run: {why}")
        return plan, executed(plan, arguments, progress, executor)


def _search(
    trials: int | str | None, trial_steps: float | str | Fraction | None, trial_rows: int | None
) -> Search | None:
    """Return the search that was asked for, or None.

    Raises:
        UsageError: the trials or their share of a training are none, or there is a share without trials.
    """
    if trials is None:
        for name, value in {"trial_steps": trial_steps, "trial_rows": trial_rows}.items():
            if value is not None:
                raise UsageError(f"{name} goes with trials")
        return None
    from bench.cells.search.trials import parse_trials

    steps = "1"
    if trial_steps is not None:
        steps = str(trial_steps)
    rows = ""
    if trial_rows is not None:
        rows = str(trial_rows)
    return parse_trials(str(trials), steps, rows)


def board_of(plan: Plan, outcome: Outcome, arguments: RunArguments) -> Board:
    """Return the board of the tasks of a run.

    Raises:
        RunError: no cell has a number, because they failed or diverged.
    """
    without_number = {**outcome.failed, **dict.fromkeys(outcome.diverged, "training diverged")}
    store, tasks = Store(arguments.results_folder), {cell.config.task for cell in plan.cells}
    try:
        leaderboards = leaderboards_of(store, sorted(tasks), limited=arguments.limit is not None)
    except MissingError as error:
        if without_number:
            raise RunError(without_number) from error
        raise
    return Board(store, leaderboards, failed=without_number)


def executed(plan: Plan, arguments: RunArguments, progress: Progress, executor: Submits | None = None) -> Outcome:
    """Execute a plan, in this process or in others; keep the checkpoints that the arguments say.

    Without any that are kept, each goes as soon as no other run of the plan needs it, where one is executed at a time.
    """
    from bench.board.checkpoints import drop_checkpoints
    from bench.launch.jobs import execute_jobs, jobs_of

    def drop(outcome: Outcome) -> None:
        drop_checkpoints(arguments.keep_checkpoints, plan.cells, outcome, arguments.results_folder, progress.say)

    if executor is None:
        arguments = replace(arguments, jobs=jobs_of(plan, arguments))
    if executor is not None or ((arguments.jobs != 1 or arguments.devices > 1) and current_group() is None):
        outcome = execute_jobs(plan, arguments, progress, executor)
    else:
        from bench.cells.run import execute

        drop_now = drop if arguments.keep_checkpoints == "none" else None
        outcome = execute(plan, arguments, progress, drop_now)
    drop(outcome)
    return outcome


@contextmanager
def same_threads() -> Iterator[None]:
    """Give the caller its number of CPU threads back: the small preset computes on one."""
    import torch

    threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _names(parts: Any, what: str) -> tuple[str, ...]:
    """Return the names of one task or method, or of several."""
    from bench.cells.make import name_of

    if isinstance(parts, Iterable) and not isinstance(parts, (str, type)):
        return tuple(name_of(part, what) for part in parts)
    return (name_of(parts, what),)


def _loggers(asked: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names of loggers: one text with commas between them, or several texts."""
    if isinstance(asked, str):
        asked = [asked]
    return tuple(split_names(list(asked)))


def _refuse_script(names: Iterable[str]) -> None:
    """Refuse classes of the script that is running: the processes of the cells do not run it.

    Raises:
        UsageError: naming the first.
    """
    for name in names:
        module, _, kind = name.partition(":")
        if module == "__main__":
            raise UsageError(
                f"the class {kind} is in the script that is running, which other processes do not run; put it in a "
                f"module and import it, or leave jobs out"
            )


def _seeds(seeds: int | Iterable[int]) -> tuple[int, ...]:
    """Return each seed once; what is no number is refused with the other arguments."""
    if isinstance(seeds, Iterable):
        return tuple(dict.fromkeys(seeds))
    return (seeds,)
