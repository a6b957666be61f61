"""Execute: run a plan cell by cell; what is stored already is not done again, and a failed cell stops nobody."""

from __future__ import annotations

import shutil
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bench.base.files import abandoned, check_can_write
from bench.cells.cell import Cell
from bench.cells.how import How
from bench.cells.loggers.logged_run import logged_run
from bench.cells.loggers.logs import Logs, OpenRun, logs_of
from bench.cells.pace.pace import SCORING
from bench.cells.pace.stages import stages_of_all
from bench.cells.plan import Plan
from bench.cells.progress import Progress, Reports
from bench.cells.score import score_cell
from bench.cells.shared.memory import Attempt, micro_batches_of, within_memory
from bench.cells.standing import lacking_evaluations
from bench.cells.work import tidy, work
from bench.config.arguments import RunArguments, threads_of
from bench.errors import BenchError, BlockedError
from bench.processes.member import membership, world_of
from bench.store.places import remember
from bench.store.provenance import provenance
from bench.store.snapshot import files_at
from bench.tasks.fetch.place import Place
from bench.training.recorder import OnStep
from bench.training.selection import OnValidation

QUEUE = "queue-"
"""What the folders of queues begin with, beside the scratch folders of runs."""


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
        self.loggers_off |= other.loggers_off

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
    """Run every cell of a plan.

    Args:
        plan: from `make_plan`.
        arguments: devices, threads, loggers.
        progress: told what happens.
        on_cell: called behind each cell, with what has become of all of them so far.

    Raises:
        KeyboardInterrupt: when the run is interrupted. Whatever else a cell raises fails that cell only.
    """
    files_at(arguments.results_folder).check_writable()
    if threads := threads_of(plan.preset, arguments):
        import torch

        torch.set_num_threads(threads)
    outcome, logs = Outcome(), logs_of(arguments, progress.warn)
    clean(arguments.results_folder)
    progress.begin(stages_of_all(plan.cells))
    for number, cell in enumerate(plan.cells, start=1):
        progress.cell(number, len(plan.cells), cell.label)
        attempt(cell, arguments, progress, logs, outcome)
        outcome.loggers_off |= logs.off
        if on_cell is not None:
            on_cell(outcome)
    return outcome


def attempt(cell: Cell, arguments: RunArguments, progress: Reports, logs: Logs, outcome: Outcome) -> None:
    """Run one cell and note what became of it.

    Raises:
        KeyboardInterrupt: when the run is interrupted. Whatever else the cell raises fails it.
    """
    try:
        run_cell(cell, arguments, progress, logs, outcome)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also an objective's SystemExit: it ends its cell, not the run
        fail(cell, error, outcome, progress)


def run_cell(cell: Cell, arguments: RunArguments, progress: Reports, logs: Logs, outcome: Outcome) -> None:
    """Train, evaluate and score one cell, whatever of it is missing."""
    if cell.parent is not None:
        check_trained(cell.parent, "is fine-tuned from")
    if cell.second is not None:
        check_trained(cell.second, "has for its second model")
    trained = cell.folder.trained()
    if trained is None and (first := outcome.broken.get(cell.folder.path)):
        raise BlockedError(f"reads the trained cell of '{first}', which has failed")
    missing = lacking_evaluations(cell, arguments.metrics)
    is_stored = trained is not None and (not missing or trained["status"] != "ok")
    if is_stored:
        progress.stage(SCORING)
        score_cell(cell, arguments.metrics, progress.beat)
    else:
        with logs.run(partial(logged_run, cell)) as opened:
            complete(cell, missing, arguments, progress, opened)
    tidy(cell)
    if cell.folder.path not in outcome.broken:
        cell.folder.clear_failed()
    remember_rows(cell)
    trained = cell.folder.trained()
    if trained is not None and trained["status"] != "ok":
        outcome.diverged.append(cell.label)
        progress.done("diverged")
    elif is_stored:
        outcome.stored.append(cell.label)
        progress.done("stored already")
    else:
        outcome.ok.append(cell.label)
        progress.done("done")


def remember_rows(cell: Cell) -> None:
    """Write down where the rows lie that a cell was evaluated on: commands that read them again need not be told."""
    place = Place.of(cell.task)
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

    check_can_write(cell.folder.path)
    is_new = cell.folder.trained() is None
    make = attempt_of(cell, missing, arguments, progress, on_step, opened.validation)
    world = world_of(arguments.devices)
    within_memory(cell, world, micro_batches_of(cell, world, arguments), make, progress.warn)
    progress.stage(SCORING)
    scores = score_cell(cell, arguments.metrics, progress.beat)
    trained = cell.folder.trained()
    if trained is None or not opened.loggers:
        return
    if is_new:
        opened.curves(trained["train"])
    opened.scores(scores, trained["train"]["steps"])
    opened.samples(cell)


def attempt_of(
    cell: Cell,
    missing: list[str],
    arguments: RunArguments,
    progress: Reports,
    on_step: OnStep,
    on_validation: OnValidation,
) -> Attempt:
    """Return what does a cell, with a number of micro-batches: as a member of a group, in several processes, or here.

    A cell with a time limit gets a process of its own, which can be ended.
    """
    is_watched = bool(arguments.stall_timeout or arguments.cell_timeout)
    member = membership()
    if member is not None and not cell.method.is_baseline:
        from bench.cells.shared.members import share_with_members
        from bench.cells.shared.workers import SharedCell

        return partial(share_with_members, SharedCell(cell, missing, arguments, progress), member)
    if (arguments.devices > 1 or is_watched) and not cell.method.is_baseline:
        from bench.cells.shared.workers import SharedCell, share

        return partial(share, SharedCell(cell, missing, arguments, progress))

    def alone(accumulate: int, out_of_memory: bool) -> None:
        work(
            cell,
            missing,
            how=How.of(arguments).cut_into(accumulate, out_of_memory),
            on_step=on_step,
            on_validation=on_validation,
            on_stage=progress.stage,
            on_note=progress.warn,
            on_beat=progress.beat,
        )

    return alone


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
    """Remove what killed runs have left, temporary files and scratch folders; what a living run uses stays.

    A queue stays: its workers may be on other machines, and its folder does not change for hours while they work.
    """
    for place in ("*/*/*", "*/*/*/*"):  # cells, and the states in them, which may be as large as the model
        for path in results.glob(f"{place}/.*.tmp"):
            if abandoned(path):
                with suppress(OSError):
                    path.unlink(missing_ok=True)
    for path in results.glob(".work/*"):
        if not path.name.startswith(QUEUE) and abandoned(path):
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
