"""Bad rows: a row that cannot be used is refused, skipped or set aside, and counted in any case."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from bench.base.credentials import blanked_content
from bench.base.files import write_atomic
from bench.errors import DataError

__all__ = ["BadRow", "BadRows", "OnBadRow", "Skipped"]

OnBadRow = Literal["fail", "skip", "quarantine"]


LONGEST_KEPT = 1000
"""Characters of a bad row that are kept in quarantine."""


EVERY = 1_024  # rows


class BadRow(ValueError):
    """What is wrong with one row, in words; a reader raises it where it knows no more, and catches it to add where."""


class Skipped(NamedTuple):
    """A row that was left out."""

    file: str
    row: str
    reason: str


@dataclass
class BadRows:
    """The rows of one split that cannot be used.

    Readers call `add` for such a row and go on to the next; under `fail` the call raises. A row that is evaluated is
    never left out: only a training split may skip.

    Args:
        split: `train`, `valid` or `test`.
        policy: `fail` refuses the file, `skip` leaves the row out, `quarantine` leaves it out and keeps it in a file.
        quarantine: that file.
        on_row: told now and then which row of a file a reader has reached.

    >>> bad_rows = BadRows("train", "skip")
    >>> bad_rows.add(Path("my.jsonl"), "line 3", "has no field 'text'")
    >>> bad_rows.skipped
    [Skipped(file='my.jsonl', row='line 3', reason="has no field 'text'")]
    """

    split: str
    policy: OnBadRow = "fail"
    quarantine: Path | None = None
    skipped: list[Skipped] = field(default_factory=list)
    on_row: Callable[[int], None] | None = None
    _kept: list[str] = field(default_factory=list)

    def reached(self, row: int) -> None:
        """Take that a reader has come to a row of its file, counted from 1."""
        if row % EVERY == 0 and self.on_row is not None:
            self.on_row(row)

    def add(self, file: Path, row: str, reason: str, text: str = "") -> None:
        """Refuse a row that cannot be used, or leave it out and count it.

        Args:
            file: where it is.
            row: which one, e.g. `line 3`.
            reason: what is wrong with it, and what was expected.
            text: the row itself as far as it can be shown.

        Raises:
            DataError: when it may not be skipped.
        """
        if self.policy == "fail" or self.split != "train":
            raise DataError(f"{file}, {row}: {reason}{self._advice()}")
        self.skipped.append(Skipped(file.name, row, reason))
        if self.policy == "quarantine":
            content = {"file": str(file), "row": row, "reason": reason, "text": text[:LONGEST_KEPT]}
            self._kept.append(json.dumps(blanked_content(content)))

    def _advice(self) -> str:
        if self.split == "train":
            return "; mend it, or leave such rows out with --on-bad-row skip"
        if self.policy == "fail":
            return ""
        return f"; a {self.split} split never skips rows"

    def closed(self) -> tuple[Skipped, ...]:
        """Return what was left out; write what was set aside, in place of the file of an earlier reading.

        Raises:
            StoreError: the disk refuses.
        """
        if self.quarantine is not None and self.policy == "quarantine":
            if self._kept:
                write_atomic(self.quarantine, "".join(line + "\n" for line in self._kept).encode(), replace=True)
            else:
                self.quarantine.unlink(missing_ok=True)
        return tuple(self.skipped)
