"""TokenStore: encoded rows as a few flat arrays, so that millions of them need little memory.

Small splits stay in memory. Large ones are written once, below the cache folder, and mapped from there by every process
and every later run. Not a data set of `datasets`: a batch of 64 rows of 450 tokens takes 0.2 ms here and 1.0 ms there,
and the import takes 0.8 s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from bench.errors import StoreError
from bench.tasks.core.progress import OnRows, no_progress
from bench.tasks.fetch.hub import make_folder

FORMAT = 3
"""A part of the key of every stored split; raise it when the arrays mean something else."""

COLUMNS = ("start", "source", "target", "exemplar", "truncated", "words", "bytes")
NO_EXEMPLAR = -1
CHUNK = 1 << 10  # rows counted at a time


Array = np.ndarray[Any, np.dtype[Any]]
Part = Literal["source", "target", "both", "exemplar"]


def gathered(tokens: Array, begin: Array, lengths: Array, fill: int, first: int | None = None) -> Array:
    """Return stretches of a flat row of tokens as a matrix, padded at the right.

    Args:
        tokens: all tokens, [tokens].
        begin: where each stretch begins, [B].
        lengths: of the stretches, [B].
        fill: value of the padding.
        first: a token that goes before every stretch; None for none.

    Returns:
        [B, longest] int64.

    >>> gathered(np.array([5, 6, 7, 8]), np.array([0, 3]), np.array([3, 1]), 0, first=9).tolist()
    [[9, 5, 6, 7], [9, 8, 0, 0]]
    """
    extra, sizes = int(first is not None), lengths.tolist()  # a few numbers: Python is faster at them than numpy
    matrix = np.full((len(sizes), extra + max(sizes, default=0)), fill, np.int64)  # [B, longest]
    if first is not None:
        matrix[:, 0] = first
    for row, start, length in zip(matrix[:, extra:], begin.tolist(), sizes, strict=True):
        row[:length] = tokens[start : start + length]
    return matrix


Tokens = Sequence[int] | np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids of one row as the model sees them, special tokens included."""

    id: str
    source: Tokens
    target: Tokens  # every one of them carries loss
    truncated: int = 0  # tokens, cells or whatever the task counts, dropped by rule
    exemplar: Tokens | None = None  # of methods that read one
    n_words: int = 0  # of the target's text
    n_bytes: int = 0


class TokenStore(Sequence[Encoded]):
    """Encoded rows by number.

    Args:
        tokens: source, target and exemplar of one row after those of the row before, [tokens].
        table: where a row starts, and its numbers, [rows, 7] (`COLUMNS`).
        names: ids, as `ids_of` makes them, [rows].
        first: a token that every source begins with and that is not among the tokens; None for none. So rows of one
            running text share its tokens.
    """

    def __init__(self, tokens: Array, table: Array, names: Array, first: int | None = None) -> None:
        self.tokens, self.table, self.names, self.first = tokens, table, names, first
        self.columns, self.extra = table.T, int(first is not None)

    @classmethod
    def of(cls, rows: Iterable[Encoded]) -> TokenStore:
        """Hold rows in memory."""
        flat: list[int] = []
        index: list[tuple[int, ...]] = []
        names: list[str] = []
        for row in rows:
            exemplar = NO_EXEMPLAR if row.exemplar is None else len(row.exemplar)
            sizes = (len(row.source), len(row.target), exemplar, row.truncated, row.n_words, row.n_bytes)
            index.append((len(flat), *sizes))
            flat += [*row.source, *row.target]
            if row.exemplar is not None:
                flat.extend(row.exemplar)
            names.append(row.id)
        return cls(np.array(flat, np.int32), _table(index), ids_of(names))

    @classmethod
    def stored(
        cls,
        folder: Path,
        n: int,
        make: Callable[[int, int], Sequence[Encoded]],
        vocabulary: int,
        chunk: int = 1024,
        on_rows: OnRows = no_progress,
    ) -> TokenStore:
        """Map rows from a folder, which is written first if it is not there.

        Args:
            folder: named by everything that decides the rows.
            n: rows.
            make: makes rows start to stop.
            vocabulary: number of tokens; up to 65,536 of them need two bytes each.
            chunk: rows made at a time.
            on_rows: called with the number of rows that are made.

        Raises:
            StoreError: the folder cannot be written, or is damaged.
        """

        dtype = np.dtype(np.uint16 if vocabulary <= 1 << 16 else np.uint32)

        def fill(unfinished: Path) -> None:
            tables: list[Array] = []
            names: list[str] = []
            size = 0
            with open(unfinished / "tokens.bin", "wb") as tokens:
                for start in range(0, n, chunk):
                    rows = make(start, min(start + chunk, n))
                    store = cls.of(rows)
                    store.table[:, 0] += size
                    tables.append(store.table)
                    size += len(store.tokens)
                    tokens.write(store.tokens.astype(dtype).tobytes())
                    names += [row.id for row in rows]
                    on_rows("rows encoded", len(names), n)
            np.save(unfinished / "table.npy", np.concatenate([_table([]), *tables]))
            np.save(unfinished / "names.npy", ids_of(names))

        make_folder(folder, fill)
        try:
            table, names = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("table", "names"))
            tokens = np.zeros(0, dtype)
            if (folder / "tokens.bin").stat().st_size:  # an empty file cannot be mapped
                tokens = np.memmap(folder / "tokens.bin", dtype, "r")
            table, names, tokens = map(np.asarray, (table, names, tokens))  # slices of a plain array are made faster
        except (OSError, ValueError) as error:
            raise StoreError(f"'{folder}' is damaged ({error!s:.150}); remove it, and it is made again") from error
        return cls(tokens, table, names)

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, item: int) -> Encoded: ...

    @overload
    def __getitem__(self, item: slice) -> list[Encoded]: ...

    def __getitem__(self, item: int | slice) -> Encoded | list[Encoded]:
        if isinstance(item, slice):
            return [self[at] for at in range(*item.indices(len(self)))]
        start, source, target, exemplar, truncated, words, size = self.table[item].tolist()
        middle = start + source - self.extra
        end = middle + target
        tokens = self.tokens[start:middle]
        if self.first is not None:
            tokens = np.concatenate((np.array([self.first], np.int32), tokens))
        read = None
        if exemplar != NO_EXEMPLAR:
            read = self.tokens[end : end + exemplar]
        name = self.names[item].decode("utf-8", "surrogatepass")
        return Encoded(name, tokens, self.tokens[middle:end], truncated, read, words, size)

    @cached_property
    def lengths(self) -> Array:
        """Tokens of source and target of each row, [rows]."""
        return np.asarray(self.table[:, 1] + self.table[:, 2])

    def matrix(self, numbers: Array, part: Part, fill: int) -> tuple[Array, Array]:
        """Return some rows padded at the right, [B, longest] int64, and their lengths, [B]."""
        start, source, target, exemplar = self.columns[:4, numbers]
        begin, lengths = {
            "source": (start, source),
            "target": (start + source - self.extra, target),
            "both": (start, source + target),
            "exemplar": (start + source + target, exemplar),
        }[part]
        if part in ("source", "both"):
            return gathered(self.tokens, begin, lengths - self.extra, fill, self.first), lengths
        return gathered(self.tokens, begin, lengths, fill), lengths

    def n_source(self, numbers: Array) -> Array:
        """Return how many source tokens some rows have, [B]."""
        return np.asarray(self.columns[1, numbers])

    def n_target(self, numbers: Array) -> Array:
        """Return how many target tokens some rows have, [B]."""
        return np.asarray(self.columns[2, numbers])

    def have_exemplars(self, numbers: Array) -> bool:
        """Return whether all of some rows have an exemplar."""
        return bool((self.columns[3, numbers] != NO_EXEMPLAR).all())

    @property
    def n_truncated(self) -> int:
        """How many rows were cut."""
        return int((self.table[:, 4] > 0).sum())

    def target_counts(self, vocabulary: int) -> Array:
        """Count how often each token is a target, [vocabulary]."""
        counts = np.zeros(vocabulary, np.int64)
        for at in range(0, len(self), CHUNK):
            targets, lengths = self.matrix(np.arange(at, min(at + CHUNK, len(self))), "target", 0)
            counts += np.bincount(targets.ravel(), minlength=vocabulary)
            counts[0] -= targets.size - lengths.sum()  # the padding
        return counts


def _table(rows: Sequence[tuple[int, ...]]) -> Array:
    return np.array(rows, np.int64).reshape(-1, len(COLUMNS))


def ids_of(names: Sequence[str]) -> Array:
    """Return ids as bytes of one length, [rows]; an array of none needs a length too."""
    return np.array([name.encode("utf-8", "surrogatepass") for name in names] or [b""], np.bytes_)[: len(names)]
