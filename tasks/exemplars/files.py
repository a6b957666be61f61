"""Exemplar files: whole results and blocks of unfinished ones, named by what decides them."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.base.files import abandoned, write_atomic
from bench.base.keys import canonical
from bench.errors import StoreError

__all__ = ["Kept"]

ROWS = 16_384  # of a block; blocks of another size are not found again

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Kept:
    """What a folder keeps of one retrieval; without a folder, nothing.

    A file is one line of JSON (what decided the content, first row, number of rows, SHA-256 of the rest), then int64
    indices and float64 cosines, little-endian. A file that is not exactly that is made again. Processes may work on the
    same retrieval: they write the same bytes, whole or not at all.

    Args:
        folder: it is made when first written to.
        key: names the files.
        content: what decides the result; compared with what the files say.
        rows: in all.
        train_rows: indices stay below.
    """

    folder: Path | None
    key: str
    content: Mapping[str, Any]
    rows: int
    train_rows: int

    def read(self) -> tuple[Integers, Floats] | None:
        """Return the finished result, or None."""
        result = self._read(self._path(), range(self.rows))
        if result is not None:
            self._clean()
        return result

    def write(self, indices: Integers, cosines: Floats) -> None:
        """Keep the finished result; its blocks go.

        Raises:
            StoreError: the folder cannot be written.
        """
        self._write(self._path(), range(self.rows), indices, cosines)
        self._clean()

    def read_blocks(self) -> tuple[Integers, Floats, int]:
        """Return indices and cosines [rows] with the kept blocks filled in, and the first row that is missing.

        Blocks are made in their order. What stands behind a missing one is made again.
        """
        indices, cosines = np.zeros(self.rows, np.int64), np.zeros(self.rows)
        for block in self.blocks_from(0):
            part = self._read(self._path(block), block)
            if part is None:
                return indices, cosines, block.start
            indices[block.start : block.stop], cosines[block.start : block.stop] = part
        return indices, cosines, self.rows

    def blocks_from(self, start: int) -> list[range]:
        """Return the blocks from a row on, with which one begins."""
        return [range(first, min(first + ROWS, self.rows)) for first in range(start, self.rows, ROWS)]

    def write_block(self, block: range, indices: Integers, cosines: Floats) -> None:
        """Keep some of all rows, unless they are all.

        Raises:
            StoreError: the folder cannot be written.
        """
        if len(block) < self.rows:
            part = slice(block.start, block.stop)
            self._write(self._path(block), block, indices[part], cosines[part])

    def _path(self, block: range | None = None) -> Path | None:
        if self.folder is None:
            return None
        if block is None:
            return self.folder / f"exemplars-{self.key}.bin"
        return self.folder / f"exemplars-{self.key}-{block.start}.part"

    def _header(self, block: range, digest: str) -> dict[str, Any]:
        return {"content": self.content, "first": block.start, "rows": len(block), "sha256": digest}

    def _read(self, path: Path | None, block: range) -> tuple[Integers, Floats] | None:
        if path is None:
            return None
        try:
            head, _, body = path.read_bytes().partition(b"\n")
            if json.loads(head) != self._header(block, hashlib.sha256(body).hexdigest()):
                return None
        except (OSError, ValueError):
            return None
        if len(body) != 16 * len(block):
            return None
        indices = np.frombuffer(body, "<i8", len(block)).astype(np.int64)
        cosines = np.frombuffer(body, "<f8", len(block), offset=8 * len(block)).astype(np.float64)
        if not ((indices >= 0) & (indices < self.train_rows)).all():
            return None
        return indices, cosines

    def _write(self, path: Path | None, block: range, indices: Integers, cosines: Floats) -> None:
        if path is None:
            return
        body = indices.astype("<i8").tobytes() + cosines.astype("<f8").tobytes()
        head = canonical(self._header(block, hashlib.sha256(body).hexdigest()))
        try:
            write_atomic(path, head + b"\n" + body, replace=True)
        except StoreError as error:
            problem = f"cannot keep exemplars in '{path.parent}' ({error.__cause__})"
            raise StoreError(f"{problem}; free space there or choose another cache folder") from error

    def _clean(self) -> None:
        if self.folder is None:
            return
        parts = self.folder.glob(f"exemplars-{self.key}-*.part")
        halves = (path for path in self.folder.glob(f".exemplars-{self.key}*.tmp") if abandoned(path))
        for path in (*parts, *halves):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
