"""Progress: what a run tells people while it works. Everything goes to stderr; stdout is for results."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, TextIO

from bench.base.outward import safe, styled

if TYPE_CHECKING:
    from rich.progress import TaskID

SCORING, WRITING = "scoring", "writing"
"""Stages of a cell: metrics over its rows, and what a baseline writes."""

UNWATCHED = (SCORING, WRITING)
"""Stages without signs of life: a metric or a search is one call, however long. There only the whole cell is timed."""


class Reports(Protocol):
    """What is told while one cell is worked on, to whoever shows or keeps it."""

    def warn(self, text: str) -> None:
        """Take a warning."""

    def stage(self, name: str) -> None:
        """Begin a stage of the cell."""

    def step(self, step: int, steps: int, values: dict[str, float]) -> None:
        """Advance training."""

    def beat(self, stage: str, step: int) -> None:
        """Take a sign of life: the stage that the work is in, and the step or row it has reached there."""

    def done(self, how: str) -> None:
        """End the cell."""

    def failed(self, why: str) -> None:
        """End a cell that failed."""


class Progress:
    """Plain lines, or a live bar where stderr is a terminal.

    Args:
        quiet: say nothing but warnings and failures.
    """

    def __init__(self, quiet: bool = False, stream: TextIO | None = None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        self.console = Console(file=styled(stream or sys.stderr), highlight=False, soft_wrap=True)
        self.quiet = quiet
        self.live = self.console.is_terminal and not quiet
        self.bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=not self.live,
        )
        self.task = self.bar.add_task("", total=1, note="")
        self.cells_shown: dict[str, TaskID] = {}
        self.label = ""
        self.started = time.monotonic()

    def __enter__(self) -> Progress:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def say(self, text: str) -> None:
        """Print a line."""
        if not self.quiet:
            self.console.print(safe(text), markup=False)

    def warn(self, text: str) -> None:
        """Print a warning."""
        self.console.print(f"warning: {safe(text)}", markup=False, style="yellow")

    def cell(self, number: int, of: int, label: str) -> None:
        """Begin a cell."""
        self.label, self.started = f"[{number}/{of}] {safe(label)}", time.monotonic()
        self.bar.update(self.task, description=self.label, completed=0, total=1, note="")

    def stage(self, name: str) -> None:
        """Begin a stage of a cell."""
        self.bar.update(self.task, note=safe(name), completed=0, total=None)

    def beat(self, stage: str, step: int) -> None:
        """Do nothing: nobody watches the process of the command itself."""

    def cells(self, done: int, of: int, running: int) -> None:
        """Say how many cells are settled, where several are worked on at once."""
        self.bar.update(
            self.task, description=f"{of} cells", completed=done, total=of, note=f"{done} done, {running} running"
        )

    def running(self, cells: Mapping[str, tuple[int, int, str]]) -> None:
        """Show a row for each cell that is worked on elsewhere, where stderr is a terminal.

        Args:
            cells: by label: steps done and wanted, 0 where there are none, and what it is doing.
        """
        for label in set(self.cells_shown) - set(cells):
            self.bar.remove_task(self.cells_shown.pop(label))
        for label, (step, steps, note) in cells.items():
            if label not in self.cells_shown:
                self.cells_shown[label] = self.bar.add_task(f"  {safe(label)}", note="")
            self.bar.update(self.cells_shown[label], completed=step, total=steps or None, note=safe(note))

    def rows(self, what: str, done: int, of: int) -> None:
        """Advance work on the rows of a task; `of` is 0 where nobody knows how many there are."""
        note = f"{what} {done:,}"
        if of:
            note += f" of {of:,}"
        self.bar.update(self.task, completed=done, total=of or None, note=note)

    def step(self, step: int, steps: int, values: dict[str, float]) -> None:
        """Advance training."""
        self.bar.update(self.task, completed=step, total=steps, note=f"step {step}/{steps} loss {values['loss']:.3f}")

    def done(self, how: str, seconds: float | None = None) -> None:
        """End a cell.

        Args:
            how: what became of it.
            seconds: it took; those since `cell` by default.
        """
        if seconds is None:
            seconds = time.monotonic() - self.started
        self.say(f"{self.label}: {how} ({seconds:.1f} s)")

    def failed(self, why: str) -> None:
        """End a cell that failed."""
        self.console.print(f"{self.label}: failed: {safe(why)}", markup=False, style="red")
