"""Progress: what a command shows while it works. Everything goes to stderr; stdout is for results."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, TextIO

from bench.base.printable import printable
from bench.training.events import Events

if TYPE_CHECKING:
    from rich.progress import TaskID

TRAINING, SCORING, WRITING = "training", "scoring", "writing"
"""Stages of a run: steps, metrics over its predictions, and what a baseline writes.

The stage of an evaluation has the name of its kind.
"""

LINE_S, LONG_S = 2.0, 30.0
"""Seconds between two lines about one run where there is no terminal: at least, and at most if it advances."""
SPEED_S = 86400.0
"""Seconds over which the time that is left is estimated: points of a curve may be many minutes apart."""


class Progress(Events):
    """One live line by rich where stderr is a terminal; else a line for each run, and for every tenth of a long one.

    Args:
        quiet: say nothing but warnings and failures.
        stream: is written to; stderr by default.
        clock: seconds that only go up.
    """

    def __init__(
        self, quiet: bool = False, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar
        from rich.table import Column

        self.console = Console(file=stream or sys.stderr, highlight=False, soft_wrap=True)
        self.quiet, self.clock = quiet, clock
        self.live = self.console.is_terminal and not quiet
        self.bar = Bar(
            BarColumn(bar_width=8),
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
            console=self.console,
            transient=True,
            disable=not self.live,
            get_time=clock,
            speed_estimate_period=SPEED_S,
        )
        self.task = self.bar.add_task("", total=None)
        self.running: dict[str, TaskID] = {}  # the line of each run that another process executes
        self.last_lines: dict[str, str] = {}  # that were printed of these runs
        self.number, self.label = "", ""  # "[1/3]", and what the run is called
        self.current = ""  # stage
        self.totals: dict[str, int] = {}  # steps or rows of each stage of this run
        self.last_line: dict[str, tuple[float, int]] = {}  # by stage: time of the last printed line, and its tenth
        self.started = clock()

    def __enter__(self) -> Progress:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def say(self, text: str) -> None:
        """Print a line."""
        if not self.quiet:
            self.console.print(printable(text), markup=False)

    def warn(self, text: str) -> None:
        """Print a warning."""
        self.console.print(f"warning: {printable(text)}", markup=False, style="yellow")

    # Runs one after another -----------------------------------------------------------------------------------------

    def cell(self, number: int, of: int, label: str) -> None:
        """Begin a run."""
        self.number, self.label = f"[{number}/{of}]", printable(label)
        self.started = self.clock()
        self.totals, self.last_line = {}, {}
        self._begin("")

    def stage(self, name: str, of: int = 0) -> None:
        """Begin a stage of a run, with its number of steps or rows where that is known."""
        self.totals[name] = of
        self._begin(name)

    def step(self, step: int, steps: int, values: dict[str, float]) -> None:
        """Advance the training; `values` has the loss."""
        self._reach(TRAINING, step, steps, f"loss {values['loss']:.3f}" if "loss" in values else "")

    def beat(self, stage: str, done: int) -> None:
        """Advance a stage to a single step or row."""
        self._reach(stage, done)

    def rows(self, what: str, done: int, of: int) -> None:
        """Advance work on the rows of a task; `of` is 0 where their number is unknown."""
        self._reach(what, done, of)

    def done(self, how: str, seconds: float | None = None) -> None:
        """End a run."""
        if seconds is None:
            seconds = self.clock() - self.started
        self.say(f"{self.number} {self.label}: {how} ({seconds:.1f} s)")

    def failed(self, why: str) -> None:
        """End a run that failed."""
        self.console.print(f"{self.number} {self.label}: failed: {printable(why)}", markup=False, style="red")

    def _begin(self, stage: str) -> None:
        """Give a stage a new line, whose speed is its own."""
        self.bar.remove_task(self.task)
        begun = f"{self.number} {printable(stage) or self.label}".strip()
        self.task = self.bar.add_task(begun, total=self.totals.get(stage) or None)
        self.current = stage
        self.last_line.setdefault(stage, (self.clock(), 0))

    def _reach(self, stage: str, done: int, of: int = 0, values: str = "") -> None:
        """Advance a stage, the current one or another; without a live line, print one now and then."""
        if of:
            self.totals[stage] = of
        if stage != self.current:
            self._begin(stage)
        of = self.totals.get(stage, 0)
        self.bar.update(self.task, total=of or None, completed=done)
        task = next(task for task in self.bar.tasks if task.id == self.task)
        left = task.time_remaining if of else None
        ends = "" if left is None else f"ends in {timedelta(seconds=round(left))}"
        how_far = f"{done:,} of {of:,}" if of else f"{done:,}"
        text = ", ".join(filter(None, [f"{printable(stage)} {how_far}", values, ends]))
        # The label comes last, since the end of a line may be cut.
        self.bar.update(self.task, description=" · ".join(filter(None, [f"{self.number} {text}".strip(), self.label])))
        if self.live or self.quiet:
            return
        now, (last, tenth_before) = self.clock(), self.last_line[stage]
        tenth = 10 * done // of if of else 0
        if tenth < 10 and now - last >= (LINE_S if tenth > tenth_before else LONG_S):
            self.last_line[stage] = (now, tenth)
            self.say(f"{self.number} {self.label}: {text}" if self.label else text)

    # Several runs at once -------------------------------------------------------------------------------------------

    def cells(self, done: int, of: int, running: Mapping[str, str]) -> None:
        """Show how many runs are settled, and a line for each that is executed; without a terminal, its new lines."""
        self.number, self.label = "", ""
        note = f"{done} of {of} runs done, {len(running)} running"
        self.bar.update(self.task, description=note, completed=done, total=of)
        for label in set(self.running) - set(running):
            self.bar.remove_task(self.running.pop(label))
            self.last_lines.pop(label, None)
        for label, line in running.items():
            if label not in self.running:
                self.running[label] = self.bar.add_task("", total=None)
            self.bar.update(self.running[label], description=printable(line or f"{label}: starting"))
            if line and not self.live and self.last_lines.get(label) != line:
                self.last_lines[label] = line
                self.say(line)
