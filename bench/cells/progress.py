"""Progress: what a run tells people while it works. Everything goes to stderr; stdout is for results."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO

from bench.base.outward import safe, styled
from bench.cells.pace.pace import TRAINING, Pace, Rate, Stage, duration

if TYPE_CHECKING:
    from rich.progress import TaskID

LINE_S, LONG_S = 2.0, 30.0
"""Between two lines of one cell where there is no terminal, at the least; and where no share of it is known."""
SHOWN_S = 0.1
"""Between two changes of the live line for single steps and rows."""


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
    """One live line where stderr is a terminal; else a line for each cell, and for every tenth of a long one.

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

        self.console = Console(file=styled(stream or sys.stderr), highlight=False, soft_wrap=True)
        self.quiet, self.clock = quiet, clock
        self.live = self.console.is_terminal and not quiet
        line = Column(no_wrap=True, overflow="ellipsis")
        self.bar = Bar(
            BarColumn(bar_width=8),
            TextColumn("{task.fields[note]}{task.description}", markup=False, table_column=line),
            console=self.console,
            transient=True,
            disable=not self.live,
        )
        self.task = self.bar.add_task("", total=1, note="")
        self.cells_shown: dict[str, TaskID] = {}
        self.label, self.number = "", ""
        self.started = clock()
        self.pace = Pace(clock=clock)
        self.rate = Rate(clock)
        self.name = ""  # of the stage
        self.of = 0  # steps or rows of the stage
        self.about_step = ""  # loss and tokens per second
        self.shown_at = -SHOWN_S
        self.lines: dict[str, Line] = {}  # the last one of each cell or piece of work

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

    def ask(self, question: str) -> bool:
        """Ask on the terminal; return whether the answer is yes."""
        self.bar.stop()
        print(question, end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline().strip().lower()
        self.bar.start()
        return answer in ("y", "yes")

    # Cells one after another ----------------------------------------------------------------------------------------

    def begin(self, cells: Sequence[Mapping[str, Stage]]) -> None:
        """Begin a run of cells.

        Args:
            cells: the stages that each of them lacks, for the time it may take.
        """
        self.pace = Pace(cells, self.clock)

    def cell(self, number: int, of: int, label: str) -> None:
        """Begin a cell."""
        self.number, self.label = f"[{number}/{of}]", f"[{number}/{of}] {safe(label)}"
        self.started = self.clock()
        self.pace.begin(number)
        self.name, self.of, self.about_step = "", 0, ""
        self.lines.pop(self.label, None)
        self.bar.update(self.task, description=self.label, completed=0, total=1, note="")

    def stage(self, name: str) -> None:
        """Begin a stage of a cell."""
        self.pace.stage(name)
        self.name, self.of, self.about_step = name, 0, ""
        if name in self.pace.stages:
            self.of = self.pace.stages[name].of
        self.rate = Rate(self.clock)
        self.show(name, 0, 0)

    def step(self, step: int, steps: int, values: dict[str, float]) -> None:
        """Advance training; `values` has the loss, and the tokens that were read so far where they are known."""
        if self.name != TRAINING and TRAINING in self.pace.stages:  # in other processes, which share the cell
            self.stage(TRAINING)
        self.of = steps
        self.about_step = about_step(values, self.rate)
        self.advance(TRAINING, step, steps)

    def beat(self, stage: str, step: int) -> None:
        """Advance a stage by single steps or rows, as a sign of life says it."""
        if self.clock() - self.shown_at < SHOWN_S:
            return
        what = stage.partition(",")[0]
        if what in self.pace.stages and what != self.name:  # in other processes, which share the cell
            self.stage(what)
        if what == self.name.partition(" ")[0]:
            self.advance(self.name, step, self.of)
        else:
            self.show(what, step, 0)

    def rows(self, what: str, done: int, of: int) -> None:
        """Advance work on the rows of a task; `of` is 0 where nobody knows how many there are."""
        self.show(what, done, of)
        share = None
        if of:
            share = done / of
        self.tell(what, share, counted(what, done, of))

    def advance(self, what: str, done: int, of: int) -> None:
        """Advance a stage of a cell; `of` is 0 where nobody knows how many steps or rows it has."""
        self.pace.reach(done, of)
        text = ", ".join(filter(None, [counted(what, done, of), self.about_step, self.ends()]))
        self.show_text(text, done, of)
        self.tell(self.label, self.pace.share, text)

    def ends(self) -> str:
        """Return when the cell and the whole run may end, as far as anybody can tell."""
        texts = []
        if self.pace.cell_left_s is not None:
            texts.append(f"cell ends in {duration(self.pace.cell_left_s)}")
        if self.pace.all_left_s is not None:
            texts.append(f"all in {duration(self.pace.all_left_s)}")
        return ", ".join(texts)

    def show(self, what: str, done: int, of: int) -> None:
        """Show how far a piece of work is in the live line."""
        self.show_text(counted(what, done, of), done, of)

    def show_text(self, text: str, done: int, of: int) -> None:
        """Show a text in the live line, its label behind it: the end of a line that is too long is not seen."""
        self.shown_at = self.clock()
        note = f"{self.number} {safe(text)}".lstrip()
        described = self.label.removeprefix(self.number)
        if described:
            note += " ·"
        self.bar.update(self.task, description=described, completed=done, total=of or None, note=note)

    def tell(self, label: str, share: float | None, text: str) -> None:
        """Print a line for every tenth of a piece of work, where there is no live line.

        Args:
            label: of the work.
            share: of it that is done; None where nobody knows, then a line is printed now and then.
            text: says more.
        """
        if self.live or self.quiet:
            return
        now = self.clock()
        last = self.lines.setdefault(label, Line(now, 0))
        if share is None:
            if now - last.at >= LONG_S:
                self.lines[label] = Line(now, 0)
                self.say(text if label == text else f"{label}: {text}")
            return
        tenth = int(10 * share)
        if last.tenth < tenth < 10 and now - last.at >= LINE_S:
            self.lines[label] = Line(now, tenth)
            self.say(f"{label}: {100 * share:.0f} %, {text}")

    def done(self, how: str, seconds: float | None = None) -> None:
        """End a cell.

        Args:
            how: what became of it.
            seconds: it took; those since `cell` by default.
        """
        if seconds is None:
            seconds = self.clock() - self.started
        self.pace.end()
        self.say(f"{self.label}: {how} ({seconds:.1f} s)")

    def failed(self, why: str) -> None:
        """End a cell that failed."""
        self.pace.end()
        self.console.print(f"{self.label}: failed: {safe(why)}", markup=False, style="red")

    # Several cells at once ------------------------------------------------------------------------------------------

    def cells(self, done: int, of: int, running: int, left_s: float | None = None) -> None:
        """Say how many cells are settled, where several are worked on at once.

        Args:
            done: cells that are settled.
            of: all of them.
            running: cells that workers have.
            left_s: seconds until all are settled; None where nobody can tell.
        """
        note = f"{done} of {of} cells done, {running} running"
        if left_s is not None:
            note += f", all in {duration(left_s)}"
        self.bar.update(self.task, description="", completed=done, total=of, note=note)

    def running(self, cells: Mapping[str, tuple[int, int, str]]) -> None:
        """Show a row for each cell that is worked on elsewhere; without a terminal, a line for each tenth of a stage.

        Args:
            cells: by label: steps done and wanted, 0 where there are none, and what it is doing.
        """
        for label in set(self.cells_shown) - set(cells):
            self.bar.remove_task(self.cells_shown.pop(label))
        for label, (step, steps, note) in cells.items():
            if label not in self.cells_shown:
                self.cells_shown[label] = self.bar.add_task("", note="")
            self.bar.update(
                self.cells_shown[label],
                description=f" · {safe(label)}",
                completed=step,
                total=steps or None,
                note=safe(note),
            )
            share = None
            if steps:
                share = step / steps
            self.tell(safe(label), share, safe(note))


class Line(NamedTuple):
    """The last line of a piece of work, without a terminal.

    Args:
        at: when it was printed.
        tenth: of the work that it said.
    """

    at: float
    tenth: int


def counted(what: str, done: int, of: int) -> str:
    """Return how far something is.

    >>> counted("training", 0, 0), counted("rows read", 1024, 0), counted("training", 30, 300)
    ('training', 'rows read 1,024', 'training 30 of 300')
    """
    if of:
        return f"{what} {done:,} of {of:,}"
    if done:
        return f"{what} {done:,}"
    return what


def about_step(values: Mapping[str, float], rate: Rate) -> str:
    """Return the loss of a step, and how many tokens are read in a second where that is known.

    Args:
        values: of the step: `loss`, and `tokens` that were read so far.
        rate: of the tokens.
    """
    texts = []
    if "loss" in values:
        texts.append(f"loss {values['loss']:.3f}")
    if "tokens" in values:
        per_second = rate.at(values["tokens"])
        if per_second is not None:
            texts.append(f"{per_second:,.0f} tokens/s")
    return ", ".join(texts)
