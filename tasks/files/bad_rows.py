"""Bad rows: a row that cannot be used ends the reading, or is left out and counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from bench.errors import DataError

__all__ = ["BadRow", "BadRows", "OnBadRow", "Skipped"]

OnBadRow = Literal["fail", "skip"]

EVERY = 1_024  # rows


class BadRow(ValueError):
    """What is wrong with one row; `BadRows.checking` adds the file and the place of the row."""


class Skipped(NamedTuple):
    """A row that was left out."""

    file: str
    row: str
    reason: str


@dataclass
class BadRows:
    """The rows of one split that cannot be used.

    Readers call `add` for such a row, or check it within `checking`, and go on to the next; under `fail` that raises.
    A row that is evaluated is never left out: only a training split may skip.

    Args:
        split: `train`, `valid` or `test`.
        policy: `fail` refuses the file, `skip` leaves the row out.
        on_row: called every thousand rows with the row that a reader has reached.

    >>> bad_rows = BadRows("train", "skip")
    >>> bad_rows.add(Path("my.jsonl"), "line 3", "has no field 'text'")
    >>> bad_rows.skipped
    [Skipped(file='my.jsonl', row='line 3', reason="has no field 'text'")]
    """

    split: str
    policy: OnBadRow = "fail"
    skipped: list[Skipped] = field(default_factory=list)
    on_row: Callable[[int], None] | None = None

    def reached(self, row: int) -> None:
        """Report that a reader has reached a row of its file, counted from 1."""
        if row % EVERY == 0 and self.on_row is not None:
            self.on_row(row)

    def add(self, file: Path, row: str, reason: str) -> None:
        """Refuse a row that cannot be used, or leave it out and count it.

        Args:
            file: where it is.
            row: which one, e.g. `line 3`.
            reason: what is wrong with it, and what was expected.

        Raises:
            DataError: when it may not be skipped.
        """
        if self.policy == "fail" or self.split != "train":
            raise DataError(f"{file}, {row}: {reason}{self._advice()}")
        self.skipped.append(Skipped(file.name, row, reason))

    def checking(self, file: Path, row: str) -> _Checking:
        """Return a context that adds the row of a file if its block raises BadRow.

        Args:
            file: where it is.
            row: which one, e.g. `line 3`.

        Raises:
            DataError: at the end of the block, when it may not be skipped.
        """
        return _Checking(self, file, row)

    def _advice(self) -> str:
        if self.split == "train":
            return "; mend it, or leave such rows out with --on-bad-row skip"
        if self.policy == "fail":
            return ""
        return f"; a {self.split} split never skips rows"

    def closed(self) -> tuple[Skipped, ...]:
        """Return what was left out."""
        return tuple(self.skipped)


class _Checking(NamedTuple):
    """The context of a row: a class, because `contextlib.contextmanager` takes more than twice as long."""

    bad_rows: BadRows
    file: Path
    row: str

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> bool:
        if isinstance(problem, BadRow):
            self.bad_rows.add(self.file, self.row, str(problem))
        return isinstance(problem, BadRow)
