"""Execute the runs of a plan: nothing that is stored is done again, and a run that fails stops no other."""

from __future__ import annotations

import gc
import shutil
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.base.files import abandoned, check_can_write
from bench.cells.cell import Cell
from bench.cells.completion import missing_evaluations
from bench.cells.loggers import Logs, OpenRun
from bench.cells.plan import Plan
from bench.cells.progress import SCORING, Progress
from bench.cells.score import score_cell
from bench.config.arguments import RunArguments
from bench.errors import BenchError, BlockedError, MissingError, StoreError
from bench.launch.group import GroupError, current_group
from bench.launch.lock import LOCK, LockedError, locked
from bench.store.partial_rows import forget
from bench.store.provenance import provenance
from bench.store.snapshot import files_at
from bench.store.state_files import STATE, StateFiles

LOOK_S = 0.1
"""Seconds between two looks at runs that others have locked."""
AGAIN_S = 0.5
"""Seconds after which a run is tried again that another process had locked."""


@dataclass
class Outcome:
    """The labels of the runs of a plan, by how each run ended."""

    ok: list[str] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)  # nothing was missing
    diverged: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)  # failed runs whose data or model was missing
    blocked: list[str] = field(default_factory=list)  # failed runs that depend on another failed run
    broken: dict[Path, str] = field(default_factory=dict)  # the run that failed first in a folder, which two may share

    def add(self, other: Outcome) -> None:
        """Add another run's outcome."""
        for name in ("ok", "stored", "diverged", "missing", "blocked"):
            getattr(self, name).extend(getattr(other, name))
        self.failed |= other.failed
        self.broken = other.broken | self.broken

    @property
    def any_number(self) -> bool:
        """Whether any run ended without an error; one whose training diverged counts."""
        return bool(self.ok or self.stored or self.diverged)

    @property
    def exit_code(self) -> int:
        """0 if every run of the plan has a number, 3 if none has one because data or models are missing, else 1."""
        if not self.failed and not self.diverged:
            return 0
        only_missing = self.missing and set(self.failed) <= {*self.missing, *self.blocked}
        if only_missing and not self.any_number:
            return 3
        return 1


class Schedule:
    """The runs of a plan that are left, by their position in it; parents stand before their children."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.cells = cells
        self.waiting = dict.fromkeys(range(len(cells)), 0.0)  # each with the time before which it does not begin
        self.running: set[int] = set()

    def next(self) -> int | None:
        """Return a run that may begin now, in the order of the plan; None where all have to wait.

        A run waits for those that it starts from or reads along, and for an earlier one with the same folder: a
        control reads the training of another method.
        """
        busy = {self.cells[number].folder.path for number in self.running}
        before = set[Path]()  # folders of earlier runs that are not settled
        for number in sorted((*self.running, *self.waiting)):
            cell = self.cells[number]
            needs = {cell.folder.path, *(needed.folder.path for needed in cell.needed)}
            is_free = number not in self.running and needs.isdisjoint(before) and cell.folder.path not in busy
            if is_free and time.monotonic() >= self.waiting[number]:
                del self.waiting[number]
                self.running.add(number)
                return number
            before.add(cell.folder.path)
        return None

    def put_back(self, number: int, seconds: float = 0.0) -> None:
        """Let a run wait again, for some seconds at least."""
        self.running.remove(number)
        self.waiting[number] = time.monotonic() + seconds


def execute(plan: Plan, arguments: RunArguments, progress: Progress) -> Outcome:
    """Execute every run of a plan in this process, one after another; keep the checkpoints that the arguments say.

    Raises:
        KeyboardInterrupt: when the command is interrupted. Whatever else a run raises fails that run only.
    """
    files_at(arguments.results_folder).check_writable()
    clean(arguments.results_folder)
    if threads := arguments.threads_of(plan.preset):
        import torch

        torch.set_num_threads(threads)
    outcome, logs = Outcome(), Logs(arguments, progress.warn)
    schedule, reported = Schedule(plan.cells), set[int]()
    while schedule.waiting:
        number = schedule.next()
        if number is None:  # all that is left is locked by others
            time.sleep(LOOK_S)
            continue
        cell = plan.cells[number]
        progress.cell(number + 1, len(plan.cells), cell.label)
        try:
            execute_run(cell, arguments, progress, logs, outcome)
        except LockedError as error:
            if number not in reported:
                progress.say(f"{cell.label}: {error}; it is looked at again later")
            reported.add(number)
            schedule.put_back(number, AGAIN_S)
            continue
        schedule.running.remove(number)
        drop_checkpoints(arguments, plan.cells, outcome, progress.say)
    return outcome


def execute_run(cell: Cell, arguments: RunArguments, progress: Progress, logs: Logs, outcome: Outcome) -> None:
    """Train, evaluate and score one run, whatever of it is missing, and note what became of it.

    Raises:
        KeyboardInterrupt: when the command is interrupted.
        LockedError: another process works on it.
        GroupError: the processes that share it cannot go on. Whatever else the run raises fails it.
    """
    try:
        check_needed(cell, outcome)
        was_stored = is_stored(cell, arguments.metrics)
        if not was_stored:
            check_can_write(cell.folder.path)
            with locked(cell.folder.path):
                was_stored = is_stored(cell, arguments.metrics)  # another process may have just done it
                if not was_stored:
                    with logs.run(cell, progress) as events:
                        complete(cell, arguments, events)
        if was_stored:
            progress.stage(SCORING)
            score_cell(cell, arguments.metrics, progress)
        tidy(cell)
        note_end(cell, was_stored, progress, outcome)
    except (KeyboardInterrupt, LockedError, GroupError):
        raise
    except BaseException as error:  # also an objective's SystemExit: it ends its run, not the command
        fail(cell, error, outcome, progress)


def complete(cell: Cell, arguments: RunArguments, events: OpenRun) -> None:
    """Train, evaluate and score what is missing, in this process or in several, with more micro-batches if need be."""
    import torch

    # Lightning is imported here, since a run that is stored does without it.
    from bench.cells.work import execution_of, train_and_evaluate, with_less_memory

    missing = missing_evaluations(cell, arguments.metrics)
    group = None if cell.method.is_baseline else current_group()
    if group is not None:
        group.share(cell, arguments, missing, events)
    else:
        execution = execution_of(cell, arguments)
        while True:
            try:
                train_and_evaluate(cell, missing, execution, events)
                break
            except BaseException as error:
                execution = with_less_memory(cell, execution, error)
            gc.collect()  # what the training has left, outside of the handler, which still holds it
            torch.cuda.empty_cache()
            events.warn(
                f"{cell.label}: out of memory; it is trained with {execution.accumulate} micro-batches of a step"
            )
    events.stage(SCORING)
    scores = score_cell(cell, arguments.metrics, events)
    trained = cell.folder.trained()
    if trained is None or not events.loggers:
        return
    events.scores(scores, trained["train"]["steps"])
    events.samples(cell)


def note_end(cell: Cell, was_stored: bool, progress: Progress, outcome: Outcome) -> None:
    """Note how a run ended that did not fail."""
    if cell.folder.path not in outcome.broken:
        cell.folder.clear_failed()
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
    """Return whether a run is trained and evaluated, so that at most scores are missing."""
    trained = cell.folder.trained()
    return trained is not None and (trained["status"] != "ok" or not missing_evaluations(cell, metrics))


def is_unfinished(cell: Cell, metrics: Sequence[str]) -> bool:
    """Return whether a run has to be trained or evaluated; a damaged one counts, and fails when it is executed."""
    try:
        return not is_stored(cell, metrics)
    except StoreError:
        return True


def check_needed(cell: Cell, outcome: Outcome) -> None:
    """Raise BlockedError if a run that this one needs has failed: a parent, or the run that trains its folder."""
    for needed, why in ((cell.parent, "is fine-tuned from"), (cell.reference, "has for its reference model")):
        status = "ok" if needed is None else (needed.folder.trained() or {"status": "failed"})["status"]
        if needed is not None and status != "ok":
            raise BlockedError(f"{why} '{needed.label}', which has {status}")
    if (first := outcome.broken.get(cell.folder.path)) and cell.folder.trained() is None:
        raise BlockedError(f"reads the trained run of '{first}', which has failed")


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


def fail(cell: Cell, error: BaseException, outcome: Outcome, progress: Progress) -> None:
    """Note a failed run and go on."""
    is_ours, is_blocked = isinstance(error, BenchError), isinstance(error, BlockedError)
    text = str(error) if is_ours else f"{type(error).__name__}: {error}"
    outcome.failed[cell.label] = text
    if isinstance(error, MissingError):
        outcome.missing.append(cell.label)
    if is_blocked:
        outcome.blocked.append(cell.label)
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
        cell.folder.write_record("failed.json", content, provenance(), replace=True)
    except BenchError as unwritable:
        progress.warn(str(unwritable))


# Checkpoints --------------------------------------------------------------------------------------------------------


def drop_checkpoints(
    arguments: RunArguments, cells: Sequence[Cell], outcome: Outcome, say: Callable[[str], None]
) -> None:
    """Remove the checkpoints of finished runs of a plan that `--keep-checkpoints` does not keep, and say which.

    A run that is not finished keeps its checkpoint, and so do the runs that it starts from or refers to.

    Raises:
        StoreError: a checkpoint cannot be removed.
    """
    if arguments.keep_checkpoints == "all":
        return
    unfinished = [cell for cell in cells if cell.label not in {*outcome.ok, *outcome.stored, *outcome.diverged}]
    kept = {run.folder.path for cell in unfinished for run in (cell, *cell.needed)}
    for folder in {cell.folder.path for cell in cells} - kept:
        for path in folder.glob("model-*.safetensors"):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise StoreError(f"cannot remove '{path}': {error}") from error
            say(f"--keep-checkpoints none: removed '{path}'")
