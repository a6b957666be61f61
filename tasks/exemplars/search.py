"""Search: the nearest training row of every row, for distinct rows only, each pair once, by several threads."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bench.errors import DataError
from bench.tasks.exemplars.bag_of_words import Bags, rows_of_bags
from bench.tasks.exemplars.groups import distinct, lowest_allowed
from bench.tasks.exemplars.nearest import BLOCK, Best, index_of, nearest, none_of, take_nearer

if TYPE_CHECKING:
    from bench.tasks.exemplars.dense import DenseSearch

__all__ = ["Search"]

PAIRS = 1 << 32
"""Fewer pairs of rows and documents are sooner done without a GPU."""


BATCH = 128  # rows that are searched for at once; without effect on the result
DENSE_BATCH = 4_096

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Search:
    """One search, that goes through the rows in their order.

    Rows with the same bag and the same groups are searched for, and searched, once. Where the rows are the training
    rows, each pair of distinct ones is worked out once, for both. Where there is a GPU, and many rows, all pairs are
    worked out there.

    Args:
        bags: of the training rows.
        row_bags: of the rows; the same object where they are the training rows.
        terms: number of words.
        groups: numbers of the training rows, [k, training rows].
        row_groups: of the rows, [k, rows]; a training row with a number of the row's is excluded.
    """

    def __init__(self, bags: Bags, row_bags: Bags, terms: int, groups: Integers, row_groups: Integers) -> None:
        self.mutual = row_bags is bags
        self.lowest = lowest_allowed(groups)
        self.lowest_groups, self.lowest_squared = groups[:, self.lowest], bags.squared[self.lowest]
        self.n_training_rows = len(bags.squared)
        self.training_rows, self.kinds = distinct(bags, groups)
        self.rows = self.training_rows
        longest = int(max(bags.squared.max(), row_bags.squared.max(initial=0)))
        self.documents = self.queries = rows_of_bags(bags, self.training_rows)
        self.groups = self.query_groups = np.ascontiguousarray(groups[:, self.training_rows])
        if not self.mutual:
            self.rows, self.kinds = distinct(row_bags, row_groups)
            self.queries = rows_of_bags(row_bags, self.rows)
            self.query_groups = np.ascontiguousarray(row_groups[:, self.rows])
        self.index = index_of(self.documents, terms, longest)
        self.dense = dense_search(self.documents, len(self.rows), terms, self.groups, longest)
        self.reach = np.maximum.accumulate(self.kinds) + 1  # [rows]: kinds that the rows up to here have
        self.best = none_of(len(self.rows))

    @property
    def batch(self) -> int:
        """Rows to go on by: a GPU wants many at once."""
        if self.dense is not None:
            return DENSE_BATCH
        return BATCH

    def begin(self, row: int, indices: Integers, cosines: Floats) -> None:
        """Begin with a row.

        Args:
            row: those before it are known.
            indices: training rows of all rows, known ones filled in, [rows]; others are put there.
            cosines: likewise.
        """
        self.at, self.indices, self.cosines = row, indices, cosines
        self.done = self.known = int(self.reach[row - 1]) if row else 0

    def go_on(self, stop: int, pool: ThreadPoolExecutor, threads: int) -> None:
        """Find the training rows of all rows before `stop`."""
        kinds = range(self.done, int(self.reach[stop - 1]))
        if kinds:
            self._find(kinds, pool, threads)
        rows = slice(self.at, stop)
        first = self.rows[self.kinds[rows]]  # of each row, the first that is the same
        self.indices[rows], self.cosines[rows] = self.indices[first], self.cosines[first]
        self.at, self.done = stop, kinds.stop

    def _find(self, kinds: range, pool: ThreadPoolExecutor, threads: int) -> None:
        """Find the documents that are nearest to some distinct rows."""
        if self.dense is not None:
            found = self.dense.nearest(self.queries, kinds.start, kinds.stop, self.query_groups)
            take_nearer(self.best, kinds.start, found, self.index)
            self._put(kinds)
            return
        documents = range(self.known) if self.mutual else range(len(self.documents.squared))
        tasks: list[tuple[range, Best | None]] = [(part, None) for part in parts(documents, threads)]
        if self.mutual:
            tasks += [(part, self.best) for part in parts(range(kinds.start, len(self.rows)), threads)]
        for found in pool.map(lambda task: self._nearest(kinds, *task), tasks):
            take_nearer(self.best, kinds.start, found, self.index)
        self._put(kinds)

    def _nearest(self, kinds: range, documents: range, back: Best | None) -> Best:
        groups, query_groups = self.groups, self.query_groups
        return nearest(self.index, self.queries, kinds.start, kinds.stop, groups, query_groups, documents, back)

    def _put(self, kinds: range) -> None:
        """Put training rows and cosines where the first row of each kind is."""
        some = slice(kinds.start, kinds.stop)
        rows, best = self.rows[some], self.best.documents[some]
        indices, squared = self.training_rows[best], self.documents.squared[best]
        for at in np.flatnonzero(best < 0):
            lowest = self._lowest(kinds.start + int(at))
            indices[at], squared[at] = self.lowest[lowest], self.lowest_squared[lowest]
        lengths = np.sqrt(self.queries.squared[some].astype(np.float64) * squared)
        self.indices[rows], self.cosines[rows] = indices, self.best.dots[some] / np.maximum(lengths, 1)

    def _lowest(self, kind: int) -> int:
        """Return which of the lowest training rows is the first that a row may have, of those with no shared word."""
        free = (self.lowest_groups != self.query_groups[:, kind, None]).all(0)
        if not free.any():
            why = "each is the row itself or has its source or its target"
            raise DataError(f"row {self.rows[kind]} has no exemplar among {self.n_training_rows} training rows: {why}")
        return int(free.argmax())


def dense_search(documents: Bags, rows: int, terms: int, groups: Integers, longest: int) -> DenseSearch | None:
    """Return a search on a GPU, where there is one and it pays."""
    if rows * len(documents.squared) < PAIRS:  # before torch is imported
        return None
    from bench.tasks.exemplars.dense import DenseSearch, device_for

    device = device_for(longest, len(documents.squared))
    if device is None:
        return None
    return DenseSearch(documents, terms, groups, device)


def parts(documents: range, threads: int) -> Iterable[range]:
    """Cut documents into about as many parts as there are threads, none much smaller than a block of the search."""
    size = max(BLOCK, -(-len(documents) // threads))
    return [documents[at : at + size] for at in range(0, len(documents), size)]
