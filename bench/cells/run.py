"""Execute: run a plan cell by cell; what is stored already is not done again, and a failed cell stops nobody."""

from __future__ import annotations

import shutil
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.base.files import abandoned, signature
from bench.cells.cell import Cell
from bench.cells.launch import NOTES, launch
from bench.cells.plan import Plan
from bench.cells.progress import Progress
from bench.cells.score import score_cell
from bench.cells.wandb_logger import Mirror
from bench.cells.work import collect, work
from bench.config.arguments import RunArguments, threads_of
from bench.errors import BenchError, BlockedError
from bench.models.baselines import Baseline
from bench.store.provenance import provenance


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

    def add(self, other: Outcome) -> None:
        """Add another run's outcome."""
        self.ok += other.ok
        self.stored += other.stored
        self.diverged += other.diverged
        self.failed |= other.failed
        self.missing |= other.missing
        self.blocked |= other.blocked

    @property
    def exit_code(self) -> int:
        """0 when every wanted cell has a number, 3 when there is none because data or models are missing, else 1."""
        if self.failed:
            any_number = self.ok or self.stored or self.diverged
            only_missing = self.missing and set(self.failed) <= self.missing | self.blocked
            return 3 if only_missing and not any_number else 1
        return 1 if self.diverged else 0


def execute(plan: Plan, arguments: RunArguments, progress: Progress) -> Outcome:
    """Run every cell of a plan.

    Args:
        plan: from `make_plan`.
        arguments: devices, threads, mirroring.
        progress: told what happens.

    Raises:
        KeyboardInterrupt: when the run is interrupted. Whatever else a cell raises fails that cell only.
    """
    if threads := threads_of(plan.preset, arguments):
        import torch

        torch.set_num_threads(threads)
    outcome, mirror = Outcome(), Mirror(arguments.wandb, arguments.wandb_project, progress.warn)
    clean(arguments.results_folder)
    for number, cell in enumerate(plan.cells, start=1):
        progress.cell(number, len(plan.cells), cell.label)
        cell.task.on_search = progress.search
        try:
            run_cell(cell, arguments, progress, mirror, outcome)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also an objective's SystemExit: it ends its cell, not the run
            fail(cell, error, outcome, progress)
    return outcome


def run_cell(cell: Cell, arguments: RunArguments, progress: Progress, mirror: Mirror, outcome: Outcome) -> None:
    """Train, evaluate and score one cell, whatever of it is missing."""
    if cell.parent is not None:
        check_parent(cell.parent)
    trained = cell.folder.trained()
    if trained is None and (first := outcome.broken.get(cell.folder.path)):
        raise BlockedError(f"reads the trained cell of '{first}', which has failed")
    missing = [key for key in cell.evaluations if cell.folder.rows(key) is None]
    if trained is None or (missing and trained["status"] == "ok"):
        with mirror.run(cell) as live:

            def on_step(step: int, steps: int, values: dict[str, float]) -> None:
                progress.step(step, steps, values)
                live.log(step, values)

            if arguments.devices > 1 and not issubclass(cell.method.kind, Baseline):
                in_processes(cell, missing, arguments, progress)
            else:
                work(cell, missing, accumulate=arguments.accumulate, workers=arguments.workers, on_step=on_step,
                     on_stage=progress.stage, on_note=progress.warn)  # fmt: skip
            progress.stage("scoring")
            if trained is None and (trained := cell.folder.trained()):
                live.curve(trained["train"]["curve"])
            live.scores(score_cell(cell))
        kind = outcome.ok
    else:
        progress.stage("scoring")
        score_cell(cell)
        kind = outcome.stored
    if cell.folder.path not in outcome.broken:
        cell.folder.clear_failed()
    trained = cell.folder.trained()
    if trained is not None and trained["status"] != "ok":
        kind = outcome.diverged
    kind.append(cell.label)
    progress.done("diverged" if kind is outcome.diverged else "stored already" if kind is outcome.stored else "done")


def check_parent(parent: Cell) -> None:
    """Refuse to fine-tune from a cell that is not there.

    Raises:
        BlockedError: naming it and what became of it.
    """
    trained = parent.folder.trained()
    if trained is None or trained["status"] != "ok":
        became = "has failed" if trained is None else f"has {trained['status']}"
        raise BlockedError(f"is fine-tuned from '{parent.label}', which {became}")


def in_processes(cell: Cell, missing: list[str], arguments: RunArguments, progress: Progress) -> None:
    """Give a cell to several processes and collect what they leave."""
    started = time.monotonic()
    scratch = arguments.results_folder / ".work" / f"{cell.key}.{signature()}"
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        progress.stage(f"on {arguments.devices} processes")
        launch(cell, missing, arguments, scratch)
        for note in notes_of(scratch):
            progress.warn(note)
        trained = cell.folder.trained()
        if trained is not None and trained["status"] == "ok":
            collect(cell, missing, scratch, arguments.devices, started)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        remove_if_empty(scratch.parent)


def notes_of(scratch: Path) -> list[str]:
    """Return what worker processes wanted a user to know."""
    notes = scratch / NOTES
    return notes.read_text().splitlines() if notes.exists() else []


def clean(results: Path) -> None:
    """Remove what killed runs have left, temporary files and scratch folders; what a living run uses stays."""
    for path in results.glob("*/*/*/.*.tmp"):
        if abandoned(path):
            with suppress(OSError):
                path.unlink(missing_ok=True)
    for path in results.glob(".work/*"):
        if abandoned(path):
            shutil.rmtree(path, ignore_errors=True)
    remove_if_empty(results / ".work")


def remove_if_empty(folder: Path) -> None:
    """Remove a folder that another run may be using or removing too."""
    with suppress(OSError):
        folder.rmdir()


def fail(cell: Cell, error: BaseException, outcome: Outcome, progress: Progress) -> None:
    """Note a failed cell and go on."""
    ours = isinstance(error, BenchError)
    text = str(error) if ours else f"{type(error).__name__}: {error}"
    outcome.failed[cell.label] = text
    outcome.missing |= {cell.label} if getattr(error, "exit_code", 1) == 3 else set()
    outcome.blocked |= {cell.label} if isinstance(error, BlockedError) else set()
    progress.failed(text)
    if cell.folder.path in outcome.broken:
        return  # the note of the first says why
    outcome.broken[cell.folder.path] = cell.label
    content: dict[str, Any] = {"key": cell.key, "config": cell.config.as_dict(), "error": text,
                               "status": "blocked" if isinstance(error, BlockedError) else "failed"}  # fmt: skip
    if not ours:
        content["traceback"] = "".join(traceback.format_exception(error))
    try:
        cell.folder.write_failed(content, provenance())
    except BenchError as second:
        progress.warn(str(second))
