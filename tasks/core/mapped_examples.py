"""Mapped examples: the rows of a large split in one file of the cache, that all processes share.

As objects, millions of rows take several times the memory of their texts, in every process again. Here a row becomes an
`Example` when it is asked for. The file is named by the hash of its content, so processes that read the same rows map
the same file, and none is ever out of date.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import struct
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, overload

import numpy as np

from bench.base.files import abandoned, signature
from bench.errors import StoreError
from bench.tasks.core.example import Example
from bench.tasks.fetch.sources import cache_folder

__all__ = ["MOST_IN_MEMORY", "MappedExamples", "held", "size_of"]

MOST_IN_MEMORY = 1 << 24
"""Characters of a split that needs no file."""

ENDING = ".examples"
END = struct.Struct("<8sqq")  # mark of the form, bytes of texts, rows
MARK = b"examples"
LENGTHS = 4  # of a row: bytes of id, source and target, number of references
CHUNK = 1 << 12  # rows whose places are looked up at once
NO_FIELDS: dict[str, Any] = {}  # one for millions of rows


class ExampleFile:
    """A file of rows, mapped into memory.

    Args:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with open(path, "rb") as file:
            self.content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        _, texts, n = END.unpack(self.content[-END.size :])
        table = np.frombuffer(self.content, np.uint8, n * (8 + 4 * LENGTHS), texts)
        self.starts = table[: 8 * n].view(np.int64)  # [rows]
        self.lengths = table[8 * n :].view(np.int32).reshape(n, LENGTHS)

    def __reduce__(self) -> tuple[type[ExampleFile], tuple[Path]]:
        return ExampleFile, (self.path,)

    def example(self, start: int, lengths: list[int]) -> Example:
        """Return the row that starts at a byte."""
        id, source, target, n_references = lengths
        at = start + id + source + target
        texts = self.content[start:at]
        references: tuple[str, ...] = ()
        if n_references:
            references = tuple(self._references(at, n_references))
        middle = id + source
        return Example(_text(texts[:id]), _text(texts[id:middle]), _text(texts[middle:]), references, NO_FIELDS)

    def _references(self, at: int, n: int) -> Iterator[str]:
        """Yield texts that stand behind their lengths."""
        lengths = struct.unpack(f"<{n}i", self.content[at : at + 4 * n])
        at += 4 * n
        for length in lengths:
            yield _text(self.content[at : at + length])
            at += length


class MappedExamples(Sequence[Example]):
    """Rows of a file.

    Args:
        file: mapped.
        rows: which of its rows; None for all.
    """

    def __init__(self, file: ExampleFile, rows: range | None = None) -> None:
        self.file, self.rows = file, range(len(file.starts))
        if rows is not None:
            self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, item: int) -> Example: ...

    @overload
    def __getitem__(self, item: slice) -> MappedExamples: ...

    def __getitem__(self, item: int | slice) -> Example | MappedExamples:
        if isinstance(item, slice):
            return MappedExamples(self.file, self.rows[item])
        row = self.rows[item]
        return self.file.example(int(self.file.starts[row]), self.file.lengths[row].tolist())

    def __iter__(self) -> Iterator[Example]:
        for first in range(0, len(self.rows), CHUNK):
            rows = np.array(self.rows[first : first + CHUNK])
            starts, lengths = self.file.starts[rows].tolist(), self.file.lengths[rows].tolist()
            for start, of_row in zip(starts, lengths, strict=True):
                yield self.file.example(start, of_row)

    @property
    def n_bytes(self) -> int:
        """Bytes of all sources and targets."""
        return int(self.file.lengths[np.array(self.rows, np.int64), 1:3].sum(dtype=np.int64))


def size_of(examples: Sequence[Example]) -> int:
    """Return how long sources and targets are together: in characters, or in bytes where they are mapped."""
    if isinstance(examples, MappedExamples):
        return examples.n_bytes
    return sum(len(example.source) + len(example.target) for example in examples)


def held(examples: Iterable[Example]) -> Sequence[Example]:
    """Hold rows: in memory, or in a file of the cache where they are more than `MOST_IN_MEMORY`.

    Rows with fields of their own, such as tables, stay in memory.

    Args:
        examples: any number, made one after the other.

    Raises:
        StoreError: the cache cannot be written.
    """
    if isinstance(examples, MappedExamples):
        return examples
    rows, size = [], 0
    coming = iter(examples)
    for example in coming:
        rows.append(example)
        size += sum(len(text) for text in (example.source, example.target) if isinstance(text, str))
        if size > MOST_IN_MEMORY and not any(row.fields for row in rows):
            return _mapped(rows, coming)
    return rows


def _mapped(rows: list[Example], coming: Iterator[Example]) -> Sequence[Example]:
    """Put rows into a file; in memory after all where one has fields."""
    folder = cache_folder() / "examples"
    unfinished = folder / f".{signature()}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _clean(folder)
        with open(unfinished, "wb") as file:
            writer = _Writer(file)
            for example in chain(rows, coming):
                if example.fields:
                    file.flush()
                    writer.close()
                    return [*MappedExamples(ExampleFile(unfinished)), example, *coming]
                writer.add(example)
            writer.close()
        path = folder / f"{writer.digest.hexdigest()[:32]}{ENDING}"
        if not _same(path, writer):
            unfinished.replace(path)
        return MappedExamples(ExampleFile(path))
    except OSError as error:
        raise StoreError(
            f"cannot keep rows in '{folder}' ({error.strerror or error}); free space there or choose another folder "
            f"with BENCH_CACHE"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


class _Writer:
    """Writes rows: their texts one after the other, then where they are."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.digest = file, hashlib.blake2b(digest_size=32)
        self.starts, self.lengths, self.at = array("q"), array("i"), 0

    def add(self, example: Example) -> None:
        """Write a row."""
        texts = [_bytes(example.id), _bytes(example.source), _bytes(example.target)]
        self.starts.append(self.at)
        self.lengths.extend([*map(len, texts), len(example.references)])
        if example.references:
            references = [_bytes(text) for text in example.references]
            texts += [struct.pack(f"<{len(references)}i", *map(len, references)), *references]
        self._write(b"".join(texts))

    def close(self) -> None:
        """Write where the rows are."""
        self._write(bytes(-self.at % 8))
        texts = self.at
        self._write(self.starts.tobytes() + self.lengths.tobytes())
        self._write(END.pack(MARK, texts, len(self.starts)))
        self.file.flush()

    def _write(self, content: bytes) -> None:
        self.file.write(content)
        self.digest.update(content)
        self.at += len(content)


def _same(path: Path, writer: _Writer) -> bool:
    """Return whether a file is there and whole; then other processes map it, and it stays."""
    digest = hashlib.blake2b(digest_size=32)
    try:
        if path.stat().st_size != writer.at:
            return False
        with open(path, "rb") as file:
            while part := file.read(1 << 20):
                digest.update(part)
    except OSError:
        return False
    return digest.digest() == writer.digest.digest()


def _clean(folder: Path) -> None:
    """Remove what processes have left that were killed."""
    for path in folder.glob(".*.tmp"):
        if abandoned(path) and not path.name.endswith(f"{signature()}.tmp"):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogatepass")
