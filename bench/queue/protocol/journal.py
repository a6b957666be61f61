"""Journal: what one worker says of itself. Only that worker writes it, and nothing in it is ever taken back.

bytes 0-63      a beat counter, overwritten in place: that needs no new block where the disk is full
then lines      `<mark> <key> <generation> <deaths>`, and `e` when the worker has ended

A record that was cut short, by a full disk or a kill, is a line of another form, and readers pass over it.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

from bench.queue.protocol.files import QueueFiles

__all__ = ["CLAIMED", "DONE", "ENDED", "FAILED", "HEADER", "RETURNED", "Journal", "Record", "beats_of", "records_of"]

CLAIMED, DONE, FAILED, RETURNED, ENDED = "c", "d", "f", "r", "e"
HEADER = 64
"""Bytes before the first line."""
COUNTER = 20
"""Digits of the beat counter."""
LINE = re.compile(rb"([cdfr]) ([0-9a-f]{16}) (\d{6}) (\d{3})")
"""Every field has a fixed width, so that no part of a record is a record."""


@dataclass(frozen=True)
class Record:
    """One line of a journal.

    Args:
        mark: `c` claimed, `d` done, `f` failed, `r` returned, `e` ended.
        key: of the cell in the queue, 16 hex digits; empty for `e`.
        generation: of the lease.
        deaths: how many workers the cell has outlived until then.
    """

    mark: str
    key: str = ""
    generation: int = 0
    deaths: int = 0

    def line(self) -> bytes:
        """Return the line, with its end.

        >>> Record("c", "0123456789abcdef", 2, 1).line()
        b'c 0123456789abcdef 000002 001\\n'
        """
        if self.mark == ENDED:
            return b"e\n"
        return f"{self.mark} {self.key} {self.generation:06} {self.deaths:03}\n".encode()


class Journal:
    """A worker's own journal. What could not be written waits, in order, for the next `flush`.

    Args:
        files: of the queue.
        wid: the worker's name, 16 hex digits that say nothing of host or process.
    """

    def __init__(self, files: QueueFiles, wid: str) -> None:
        self.files, self.wid, self.name = files, wid, f"j/{wid}"
        self.end = HEADER
        self.beats = 0
        self.is_torn = False
        self.waiting: deque[Record] = deque()

    def open(self) -> None:
        """Make the file.

        Raises:
            OSError: the disk is full or refuses; try again.
        """
        if not self.files.create(self.name, header(0)):  # made by an attempt that failed later
            self.files.write_at(self.name, 0, header(0))

    def put(self, *records: Record) -> None:
        """Add records; `flush` writes them."""
        self.waiting += records

    def flush(self) -> bool:
        """Write what waits; return whether all of it is written."""
        while self.waiting:
            line = self.waiting[0].line()
            if self.is_torn:
                line = b"\n" + line
            try:
                written = self.files.write_at(self.name, self.end, line)
            except OSError:
                return False
            self.end += written
            self.is_torn = self.is_torn or written > 0
            if written < len(line):
                return False
            self.is_torn = False
            self.waiting.popleft()
        return True

    def beat(self) -> None:
        """Say that the worker lives. A beat that cannot be written is left out."""
        self.beats += 1
        try:
            self.files.write_at(self.name, 0, header(self.beats)[:COUNTER])
        except OSError:
            return


def header(beats: int) -> bytes:
    """Return the first 64 bytes of a journal."""
    return f"{beats:0{COUNTER}}".encode().ljust(HEADER - 1) + b"\n"


def beats_of(head: bytes) -> int:
    """Return the beat counter of a journal's first bytes, -1 where they are not written yet."""
    digits = head[:COUNTER]
    if len(digits) < COUNTER or not digits.isdigit():
        return -1
    return int(digits)


def records_of(body: bytes) -> tuple[list[Record], int]:
    """Return the records of whole lines, and how many bytes they take; a last line without an end is left for later.

    Args:
        body: of a journal, from the beginning of a line.
    """
    records = []
    size = body.rfind(b"\n") + 1
    for line in body[:size].splitlines():
        if line == b"e":
            records.append(Record(ENDED))
        elif match := LINE.fullmatch(line):
            mark, key, generation, deaths = match.groups()
            records.append(Record(mark.decode(), key.decode(), int(generation), int(deaths)))
    return records, size
