"""Execute: run a plan cell by cell; what is stored already is not done again, and a failed cell stops nobody."""

from __future__ import annotations

import shutil
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bench.base.files import abandoned, check_can_write
from bench.cells.cell import Cell
from bench.cells.execution import Execution
from bench.cells.loggers import Logs, OpenRun, logged_run, logs_of
from bench.cells.memory import micro_batches_of, within_memory
from bench.cells.plan import Plan
from bench.cells.progress import SCORING, Progress, Reports
from bench.cells.score import score_cell
from bench.cells.standing import lacking_evaluations
from bench.config.arguments import RunArguments, threads_of
from bench.errors import BenchError, BlockedError, StoreError
from bench.launch.group import GroupError, current_group, world_of
from bench.launch.lock import LOCK, LockedError, locked
from bench.launch.schedule import AGAIN_S, Schedule
from bench.store.partial_rows import forget
from bench.store.places import remember
from bench.store.provenance import provenance
from bench.store.snapshot import files_at
from bench.store.state_files import STATE, StateFiles
from bench.tasks.fetch.location import DataLocation

LOOK_S = 0.1
"""Seconds between two looks at runs that others have locked."""

LISTS = {"ok": list, "stored": list, "diverged": list, "missing": set, "blocked": set, "loggers_off": set}
"""What an outcome has beside why runs failed."""


@dataclass
class Outcome:
    """What became of a run's cells, by label."""

    ok: list[str] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)  # nothing was missing
    diverged: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)  # those of the failed that lacked data or a model
    blocked: set[str] = field(default_factory=set)  # those of the failed that depend on another one
    broken: dict[Path, str] = field(default_factory=dict)  # who failed first, by folder: a control may share it
    loggers_off: set[str] = field(default_factory=set)  # those that have failed

    def add(self, other: Outcome) -> None:
        """Add another run's outcome."""
        self.ok += other.ok
        self.stored += other.stored
        self.diverged += other.diverged
        self.failed |= other.failed
        self.missing |= other.missing
        self.blocked |= other.blocked
        self.broken = other.broken | self.broken
        self.loggers_off |= other.loggers_off

    def as_dict(self) -> dict[str, Any]:
        """Return plain content, for another process; `of` undoes it. Folders that failed are known by their runs."""
        return {**{name: sorted(getattr(self, name)) for name in LISTS}, "failed": self.failed}

    @staticmethod
    def of(content: dict[str, Any]) -> Outcome:
        """Return an outcome from its content."""
        lists = {name: kind(content[name]) for name, kind in LISTS.items()}
        return Outcome(**lists, failed=content["failed"])

    @property
    def any_number(self) -> bool:
        """Whether a cell has a number, or has had one until its training diverged."""
        return bool(self.ok or self.stored or self.diverged)

    @property
    def exit_code(self) -> int:
        """0 when every wanted cell has a number, 3 when there is none because data or models are missing, else 1."""
        if not self.failed and not self.diverged:
            return 0
        only_missing = self.missing and set(self.failed) <= self.missing | self.blocked
        if only_missing and not self.any_number:
            return 3
        return 1


def execute(
    plan: Plan, arguments: RunArguments, progress: Progress, on_cell: Callable[[Outcome], None] | None = None
) -> Outcome:
    """Execute every run of a plan in this process, one after another.

    Args:
        plan: from `make_plan`.
        arguments: threads, loggers and the like.
        progress: told what happens.
        on_cell: called behind each run, with what has become of all of them so far.

    Raises:
        KeyboardInterrupt: when the command is interrupted. Whatever else a run raises fails that run only.
    """
    prepare(arguments.results_folder)
    if threads := threads_of(plan.preset, arguments):
        import torch

        torch.set_num_threads(threads)
    outcome, logs = Outcome(), logs_of(arguments, progress.warn)
    schedule, told = Schedule(plan.cells), set[int]()
    while not schedule.is_done:
        number = schedule.next()
        if number is None:  # all that is left is locked by others
            time.sleep(LOOK_S)
            continue
        cell = plan.cells[number]
        progress.cell(number + 1, len(plan.cells), cell.label)
        try:
            attempt(cell, arguments, progress, logs, outcome)
        except LockedError as error:
            if number not in told:
                progress.say(f"{cell.label}: {error}; it is looked at again later")
            told.add(number)
            schedule.put_back(number, AGAIN_S)
            continue
        schedule.settle(number)
        outcome.loggers_off |= logs.off
        if on_cell is not None:
            on_cell(outcome)
    return outcome


def prepare(results: Path) -> None:
    """Check that a results folder can be written to, and remove what killed runs have left in it.

    Raises:
        UsageError: it is only read.
    """
    files_at(results).check_writable()
    clean(results)


def attempt(cell: Cell, arguments: RunArguments, progress: Reports, logs: Logs, outcome: Outcome) -> None:
    """Execute one run and note what became of it.

    Raises:
        KeyboardInterrupt: when the command is interrupted.
        LockedError: another process works on it.
        GroupError: the processes that share it cannot go on. Whatever else the run raises fails it.
    """
    try:
        run_cell(cell, arguments, progress, logs, outcome)
    except (KeyboardInterrupt, LockedError, GroupError):
        raise
    except BaseException as error:  # also an objective's SystemExit: it ends its run, not the command
        fail(cell, error, outcome, progress)


def run_cell(cell: Cell, arguments: RunArguments, progress: Reports, logs: Logs, outcome: Outcome) -> None:
    """Train, evaluate and score one run, whatever of it is missing."""
    check_needed(cell, outcome)
    was_stored = is_stored(cell, arguments.metrics)
    if not was_stored:
        check_can_write(cell.folder.path)
        with locked(cell.folder.path):
            was_stored = is_stored(cell, arguments.metrics)  # another process may have done it before the lock was ours
            if not was_stored:
                with logs.run(partial(logged_run, cell)) as opened:
                    complete(cell, lacking_evaluations(cell, arguments.metrics), arguments, progress, opened)
    if was_stored:
        progress.stage(SCORING)
        score_cell(cell, arguments.metrics, progress.beat)
    tidy(cell)
    if cell.folder.path not in outcome.broken:
        cell.folder.clear_failed()
    remember_rows(cell)
    trained = cell.folder.trained()
    if trained is not None and trained["status"] != "ok":
        outcome.diverged.append(cell.label)
        progress.done("diverged")
    elif was_stored:
        outcome.stored.append(cell.label)
        progress.done("stored already")
    else:
        outcome.ok.append(cell.label)
        progress.done("done")


def tidy(cell: Cell) -> None:
    """Remove the states and half evaluations of what is stored by now; a killed run may have left them."""
    if cell.folder.trained() is not None:
        StateFiles(cell.folder.path / STATE).remove()
    for key in cell.evaluations:
        if cell.folder.has(cell.folder.rows_path(key).name):
            forget(cell.folder.path, key)


def is_stored(cell: Cell, metrics: Sequence[str]) -> bool:
    """Return whether a run is trained and evaluated, so that at most scores are missing.

    Raises:
        StoreError: one of its files is damaged.
    """
    trained = cell.folder.trained()
    return trained is not None and (trained["status"] != "ok" or not lacking_evaluations(cell, metrics))


def lacks_something(cell: Cell, metrics: Sequence[str]) -> bool:
    """Return whether a run has to be trained or evaluated; a damaged one counts, and fails when it is executed."""
    try:
        return not is_stored(cell, metrics)
    except StoreError:
        return True


def remember_rows(cell: Cell) -> None:
    """Write down where the rows lie that a cell was evaluated on: commands that read them again need not be told."""
    place = DataLocation.of(cell.task)
    if place is not None:
        remember(cell.folder.root, cell.task.manifest(cell.config.evaluation.split).sha256, place.as_dict())


def complete(cell: Cell, missing: list[str], arguments: RunArguments, progress: Reports, opened: OpenRun) -> None:
    """Do what a cell lacks, in this process or in several, and score it.

    Args:
        missing: keys of the rows that are not stored.
        opened: the cell's run on its loggers.
    """

    def on_step(step: int, steps: int, values: dict[str, float]) -> None:
        progress.step(step, steps, values)
        opened.train(step, values)

    def alone(accumulate: int, out_of_memory: bool) -> None:
        from bench.cells.work import work  # with Lightning, which a command without anything to train does without

        work(cell, missing, execution=Execution.of(arguments).cut_into(accumulate, out_of_memory), **told)

    check_can_write(cell.folder.path)
    is_new = cell.folder.trained() is None
    told: dict[str, Any] = {
        "on_step": on_step,
        "on_validation": opened.validation,
        "on_stage": progress.stage,
        "on_note": progress.warn,
        "on_beat": progress.beat,
    }
    accumulate, group = micro_batches_of(cell, world_of(arguments.devices), arguments), current_group()
    if group is None or cell.method.is_baseline:
        within_memory(cell, accumulate, alone, progress.warn)
    else:
        group.share(cell, missing, arguments, accumulate, told)
    progress.stage(SCORING)
    scores = score_cell(cell, arguments.metrics, progress.beat)
    trained = cell.folder.trained()
    if trained is None or not opened.loggers:
        return
    if is_new:
        opened.curves(trained["train"])
    opened.scores(scores, trained["train"]["steps"])
    opened.samples(cell)


def check_needed(cell: Cell, outcome: Outcome) -> None:
    """Refuse a run whose parents, or whose own training by another run of the plan, failed.

    Raises:
        BlockedError: naming the run that failed.
    """
    if cell.parent is not None:
        check_trained(cell.parent, "is fine-tuned from")
    if cell.second is not None:
        check_trained(cell.second, "has for its second model")
    if (first := outcome.broken.get(cell.folder.path)) and cell.folder.trained() is None:
        raise BlockedError(f"reads the trained cell of '{first}', which has failed")


def check_trained(needed: Cell, why: str) -> None:
    """Refuse to train a cell that needs one that is not there.

    Args:
        needed: the cell.
        why: it is needed.

    Raises:
        BlockedError: naming it and what became of it.
    """
    trained = needed.folder.trained()
    if trained is None:
        raise BlockedError(f"{why} '{needed.label}', which has failed")
    if trained["status"] != "ok":
        raise BlockedError(f"{why} '{needed.label}', which has {trained['status']}")


def clean(results: Path) -> None:
    """Remove what killed runs have left: temporary files, scratch folders and locks. What a living run uses stays."""
    for place in ("*/*/*", "*/*/*/*"):  # cells, and the states in them, which may be as large as the model
        for path in results.glob(f"{place}/.*.tmp"):
            if abandoned(path):
                with suppress(OSError):
                    path.unlink(missing_ok=True)
    for path in results.glob(f"*/*/*/{LOCK}"):
        with suppress(BenchError), locked(path.parent):  # nobody holds it, so it goes when it is released
            pass
    for path in results.glob(".work/*"):
        if abandoned(path):
            shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):  # another run may be using the folder, or removing it too
        (results / ".work").rmdir()


def fail(cell: Cell, error: BaseException, outcome: Outcome, progress: Reports) -> None:
    """Note a failed cell and go on."""
    is_ours, is_blocked = isinstance(error, BenchError), isinstance(error, BlockedError)
    text = str(error) if is_ours else f"{type(error).__name__}: {error}"
    outcome.failed[cell.label] = text
    if getattr(error, "exit_code", 1) == 3:
        outcome.missing.add(cell.label)
    if is_blocked:
        outcome.blocked.add(cell.label)
    progress.failed(text)
    if cell.folder.path in outcome.broken:
        return  # the note of the first says why
    outcome.broken[cell.folder.path] = cell.label
    content: dict[str, Any] = {
        "key": cell.key,
        "config": cell.config.as_dict(),
        "error": text,
        "status": "blocked" if is_blocked else "failed",
    }
    if not is_ours:
        content["traceback"] = "".join(traceback.format_exception(error))
    try:
        cell.folder.write_failed(content, provenance())
    except BenchError as second:
        progress.warn(str(second))
