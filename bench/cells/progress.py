"""Progress: what a command tells people while it works. Everything goes to stderr; stdout is for results."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, TextIO

from bench.base.redaction import printable
from bench.training.events import Events

if TYPE_CHECKING:
    from rich.progress import TaskID

__all__ = ["SCORING", "TRAINING", "WRITING", "Progress", "Rate", "counted"]

TRAINING, SCORING, WRITING = "training", "scoring", "writing"
"""Stages of a run: steps, metrics over its rows, and what a baseline writes. An evaluation is called by its kind."""

LINE_S, LONG_S = 2.0, 30.0
"""Seconds between two lines about one run where there is no terminal: at least, and where its total is unknown."""
SHOWN_S = 0.1
"""Seconds between two changes of the live line for single steps and rows."""


class Progress(Events):
    """One live line where stderr is a terminal; else a line for each run, and for every tenth of a long one.

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
        line = Column(no_wrap=True, overflow="ellipsis")
        self.bar = Bar(
            BarColumn(bar_width=8),
            TextColumn("{task.fields[note]}{task.description}", markup=False, table_column=line),
            console=self.console,
            transient=True,
            disable=not self.live,
        )
        self.task = self.bar.add_task("", total=1, note="")
        self.rows_shown: dict[str, TaskID] = {}  # by the label of a run that is executed now
        self.last_lines: dict[str, str] = {}  # that were printed of these runs
        self.label, self.number = "", ""
        self.started = clock()
        self.current = Stage("", 0, clock)
        self.shown_at = -SHOWN_S
        self.lines: dict[str, Line] = {}  # the last one of each run or piece of work

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
            self.console.print(printable(text), markup=False)

    def warn(self, text: str) -> None:
        """Print a warning."""
        self.console.print(f"warning: {printable(text)}", markup=False, style="yellow")

    def ask(self, question: str) -> bool:
        """Ask on the terminal; return whether the answer is yes."""
        self.bar.stop()
        print(question, end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline().strip().lower()
        self.bar.start()
        return answer in ("y", "yes")

    # Runs one after another -----------------------------------------------------------------------------------------

    def cell(self, number: int, of: int, label: str) -> None:
        """Begin a run."""
        self.number, self.label = f"[{number}/{of}]", f"[{number}/{of}] {printable(label)}"
        self.started = self.clock()
        self.lines.pop(self.label, None)
        self.bar.update(self.task, description=self.label, completed=0, total=1, note="")

    def stage(self, name: str, of: int = 0) -> None:
        """Begin a stage of a run."""
        self.current = Stage(name, of, self.clock)
        self.show(self.current.text(0), 0, of)

    def step(self, step: int, steps: int, values: dict[str, float]) -> None:
        """Advance the training; `values` has the loss, and the tokens that were read so far where they are known."""
        self.current.of = steps
        self.current.note(values)
        self.advance(step)

    def beat(self, stage: str, done: int) -> None:
        """Advance a stage by single steps or rows."""
        if self.clock() - self.shown_at < SHOWN_S:
            return
        if stage == self.current.name:
            self.advance(done)
        else:
            self.show(counted(stage, done, 0), done, 0)

    def rows(self, what: str, done: int, of: int) -> None:
        """Advance work on the rows of a task; `of` is 0 where nobody knows how many there are."""
        text = counted(what, done, of)
        self.show(text, done, of)
        self.tell(what, done, of, text)

    def advance(self, done: int) -> None:
        """Advance the current stage."""
        text = self.current.text(done)
        self.show(text, done, self.current.of)
        self.tell(f"{self.label}: {self.current.name}", done, self.current.of, f"{self.label}: {text}")

    def show(self, text: str, done: int, of: int) -> None:
        """Show a text in the live line, the label behind it: the end of a line that is too long is not seen."""
        self.shown_at = self.clock()
        note = f"{self.number} {printable(text)}".lstrip()
        described = self.label.removeprefix(self.number)
        if described:
            note += " ·"
        self.bar.update(self.task, description=described, completed=done, total=of or None, note=note)

    def tell(self, work: str, done: int, of: int, line: str) -> None:
        """Print a line for every tenth of a piece of work, where there is no live line."""
        if self.live or self.quiet:
            return
        now = self.clock()
        last = self.lines.setdefault(work, Line(now, 0))
        tenth = 10 * done // of if of else 0
        is_due = now - last.at >= LONG_S if not of else last.tenth < tenth < 10 and now - last.at >= LINE_S
        if is_due:
            self.lines[work] = Line(now, tenth)
            self.say(line)

    def done(self, how: str, seconds: float | None = None) -> None:
        """End a run."""
        if seconds is None:
            seconds = self.clock() - self.started
        self.say(f"{self.label}: {how} ({seconds:.1f} s)")

    def failed(self, why: str) -> None:
        """End a run that failed."""
        self.console.print(f"{self.label}: failed: {printable(why)}", markup=False, style="red")

    # Several runs at once -------------------------------------------------------------------------------------------

    def cells(self, done: int, of: int, running: Mapping[str, str]) -> None:
        """Show how many runs are settled, and a row for each that is executed; without a terminal, its new lines."""
        self.number, self.label = "", ""
        note = f"{done} of {of} runs done, {len(running)} running"
        self.bar.update(self.task, description="", completed=done, total=of, note=note)
        for label in set(self.rows_shown) - set(running):
            self.bar.remove_task(self.rows_shown.pop(label))
            self.last_lines.pop(label, None)
        for label, line in running.items():
            if label not in self.rows_shown:
                self.rows_shown[label] = self.bar.add_task("", total=None, note="")
            self.bar.update(self.rows_shown[label], note=printable(line or f"{label}: starting"))
            if line and not self.live and self.last_lines.get(label) != line:
                self.last_lines[label] = line
                self.say(line)


class Line(NamedTuple):
    """The last line about a piece of work, without a terminal: when it was printed, and the tenth that it told."""

    at: float
    tenth: int


class Stage:
    """A stage of a run: how far it is, how fast it goes, and when it may end.

    Args:
        name: of the stage.
        of: steps or rows that it has; 0 where that is not known.
        clock: seconds that only go up.
    """

    def __init__(self, name: str, of: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.name, self.of = name, of
        self.rate, self.tokens = Rate(clock), Rate(clock)
        self.values = ""

    def note(self, values: Mapping[str, float]) -> None:
        """Take the loss of a step, and how many tokens were read so far."""
        texts = [f"loss {values['loss']:.3f}"] if "loss" in values else []
        if (per_second := self.tokens.at(values.get("tokens", 0.0))) is not None:
            texts.append(f"{per_second:,.0f} tokens/s")
        self.values = ", ".join(texts)

    def text(self, done: int) -> str:
        """Return all of it for people."""
        texts = [counted(self.name, done, self.of), self.values]
        if self.of and (per_second := self.rate.at(done)) is not None:
            texts.append(f"ends in {duration((self.of - done) / per_second)}")
        return ", ".join(filter(None, texts))


class Rate:
    """How many of something there are in a second, from the first count on: what was done before is not fast.

    Args:
        clock: seconds that only go up.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.first: tuple[float, float] | None = None

    def at(self, count: float) -> float | None:
        """Return the rate at a count; None at the first one."""
        now = self.clock()
        if not count:
            return None
        if self.first is None:
            self.first = (count, now)
        before, began = self.first
        if now <= began or count <= before:
            return None
        return (count - before) / (now - began)


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


def duration(seconds: float) -> str:
    """Return a time for people.

    >>> duration(29.6), duration(75), duration(2 * 3600 + 61)
    ('30 s', '2 min', '2 h 2 min')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = -(-seconds // 60)
    if minutes < 120:
        return f"{minutes:.0f} min"
    return f"{minutes // 60:.0f} h {minutes % 60:.0f} min"
