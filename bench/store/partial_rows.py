"""Partial predictions: the finished batches of an evaluation that is not complete, each a line closed by its hash."""

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.base.keys import canonical, sha256

PARTIAL = "partial"
"""Folder of a run with unfinished evaluations; each is removed when its predictions are stored."""

AFTER_S = 5.0
"""Batches of a shorter evaluation are not written: making them again takes less time."""


class PartialRows:
    """Batches by number, in a file that only grows.

    A line that was not written whole, and all that follows it, counts as not there.

    Args:
        path: of the file; its name says the rows' key and the share of this rank.
        after: seconds of work before anything is written.
    """

    def __init__(self, path: Path, after: float | None = None) -> None:
        self.path = path
        self.after = AFTER_S if after is None else after
        self.begun = time.monotonic()
        self.unwritten: list[bytes] = []
        self.done, self.length = read_batches(path)

    def rows(self, number: int) -> Sequence[dict[str, Any]] | None:
        """Return the rows of a batch that was finished before, or None."""
        return self.done.get(number)

    def add(self, number: int, rows: Sequence[dict[str, Any]]) -> None:
        """Keep a finished batch."""
        body = canonical([number, rows])
        self.unwritten.append(sha256(body).encode() + b" " + body + b"\n")
        if time.monotonic() - self.begun >= self.after:
            self.flush()

    def flush(self) -> None:
        """Write the batches that are not written yet; if the disk refuses, they would have to be made again."""
        if not self.unwritten:
            return
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "ab") as file:
                file.truncate(self.length)
                data = b"".join(self.unwritten)
                file.write(data)
            self.length += len(data)
            self.unwritten = []


def forget(folder: Path, key: str) -> None:
    """Remove the finished batches of an evaluation, of all ranks, since its predictions are stored.

    Args:
        folder: of the cell.
        key: of the rows.
    """
    for path in (folder / PARTIAL).glob(f"{key}.*"):
        with suppress(OSError):
            path.unlink()
    with suppress(OSError):
        (folder / PARTIAL).rmdir()


def read_batches(path: Path) -> tuple[dict[int, list[dict[str, Any]]], int]:
    """Return the batches of a file by number, and how many of its bytes are whole lines."""
    done: dict[int, list[dict[str, Any]]] = {}
    length = 0
    try:
        data = path.read_bytes()
    except OSError:
        return done, 0
    for line in data.splitlines(keepends=True):
        digest, _, body = line.rstrip(b"\n").partition(b" ")
        if not line.endswith(b"\n") or digest != sha256(body).encode():
            break
        number, rows = json.loads(body)
        done[number] = rows
        length += len(line)
    return done, length
