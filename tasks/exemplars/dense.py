"""Dense: the search for nearest bags on a GPU, with the same answers as `bench.tasks.exemplars.nearest`.

The commonest words are columns of a matrix of counts, so most of a dot product is matrix multiplication; what rarer
words add is put in place from their lists of documents. Counts up to 256 are whole in 16 bits and sums below 2^24 in
32-bit floats, so dot products are exact. dot^2 / squared length is then compared in 64-bit floats: with dot products
and squared lengths up to 2^16, unequal fractions differ by more than 2^-48 of their size, and equal ones are the same
float.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.tasks.exemplars.bag_of_words import Bags
from bench.tasks.exemplars.nearest import SLACK, Best, none_of

__all__ = ["LONGEST", "DenseSearch", "device_for"]

LONGEST = 1 << 16
"""The largest squared length that is compared exactly."""

WORDS = 4_096  # columns of the matrix
LEAST_WORDS = 256
TILE = 16_384  # documents whose dot products are held at once


def device_for(longest: int, documents: int) -> str | None:
    """Return the device for a dense search, or None where there is none that can do it.

    Args:
        longest: the largest squared length of a document or row.
        documents: that are searched.
    """
    if longest > LONGEST or not torch.cuda.is_available():
        return None
    free, _ = torch.cuda.mem_get_info()
    if free // 2 < 2 * LEAST_WORDS * documents:
        return None
    return "cuda"


class DenseSearch:
    """Documents on a device, ready to be searched.

    Args:
        documents: their bags; no squared length above `LONGEST`.
        terms: number of words.
        groups: [k, documents] numbers; a document that has a number of the query's in its row is left out.
        device: where tensors are; on a CPU counts are 32-bit floats.
        words: columns of the matrix at most; fewer where the device has too little memory.
    """

    def __init__(self, documents: Bags, terms: int, groups: Any, device: str, words: int = WORDS) -> None:
        self.device, self.n = torch.device(device), len(documents.squared)
        self.dtype = torch.float32
        if self.device.type == "cuda":
            self.dtype = torch.float16
            words = min(words, torch.cuda.mem_get_info()[0] // 2 // (2 * max(1, self.n)))
        having = np.bincount(documents.terms, minlength=terms)  # [V]: documents that have each word
        common = np.argsort(-having, kind="stable")[:words]
        self.columns = np.full(terms, -1, np.int64)
        self.columns[common] = np.arange(len(common))
        self.words = len(common)
        self.matrix = self._matrix(documents, 0, self.n)  # [documents, words]
        self.groups = self._moved(groups)
        self.squared = self._moved(documents.squared).double()
        self.scales = self.squared.clamp(min=1).rsqrt().float()
        row, entry = self._entries(documents, 0, self.n, common=False)
        terms_of = documents.terms[entry].astype(np.int64)
        order = np.lexsort((row, terms_of))
        self.keys = self._moved(terms_of[order] * self.n + row[order])  # rising: word, then document
        self.key_counts = self._moved(documents.counts[entry][order]).float()

    def nearest(self, queries: Bags, first: int, stop: int, query_groups: Any) -> Best:
        """Find the documents nearest to queries `first` to `stop`; as `bench.tasks.exemplars.nearest.nearest`."""
        wanted = self._matrix(queries, first, stop)  # [B, words]
        left_out = self._moved(query_groups[:, first:stop])  # [k, B]
        rare = self._rare(queries, first, stop)
        best = torch.zeros(stop - first, dtype=torch.float64, device=self.device)  # [B]: dot^2 / squared length
        documents, dots = torch.full_like(best, -1), torch.zeros_like(best)
        for low in range(0, self.n, TILE):
            high = min(low + TILE, self.n)
            sums = self._products(wanted, self.matrix[low:high])  # [B, T]
            self._add_rare(sums, rare, low, high)
            for k in range(len(self.groups)):
                sums.masked_fill_(self.groups[k, low:high] == left_out[k, :, None], 0)
            self._take(sums, low, best, documents, dots)
        found = none_of(stop - first)
        found.documents[:], found.dots[:] = documents.cpu().numpy(), dots.cpu().numpy()
        return found

    def _products(self, wanted: Tensor, documents: Tensor) -> Tensor:
        """Return the dot products over common words as 32-bit floats, [B, T]."""
        if self.dtype == torch.float16:
            return torch.mm(wanted, documents.t(), out_dtype=torch.float32)
        return wanted @ documents.t()

    def _take(self, sums: Tensor, low: int, best: Tensor, documents: Tensor, dots: Tensor) -> None:
        """Take the nearest documents of a tile where they are nearer than what is known."""
        n = sums.shape[1]
        cosines = sums * self.scales[low : low + n]  # [B, T], times the lengths of the queries
        most = torch.maximum(cosines.amax(1), best.sqrt().float()) * (1 - SLACK)  # [B]
        row, column = ((cosines >= most[:, None]) & (sums > 0)).nonzero(as_tuple=True)  # few
        dot = sums[row, column].double()
        score = dot.square() / self.squared[low + column]
        top = torch.zeros_like(best).scatter_reduce(0, row, score, "amax")
        kept = (score == top[row]) & (score > best[row])  # of a tie, the lower document was there before
        row, column, dot = row[kept], column[kept], dot[kept]
        lowest = torch.full_like(best, n).scatter_reduce(0, row, column.double(), "amin")
        first = column == lowest[row]
        row = row[first]
        best[row], dots[row], documents[row] = top[row], dot[first], low + lowest[row]

    def _rare(self, queries: Bags, first: int, stop: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return row, word and count of every word of some queries that is no column, [entries] each."""
        row, entry = self._entries(queries, first, stop, common=False)
        words = self._moved(queries.terms[entry].astype(np.int64))
        return self._moved(row), words, self._moved(queries.counts[entry]).float()

    def _add_rare(self, sums: Tensor, rare: tuple[Tensor, Tensor, Tensor], low: int, high: int) -> None:
        """Add what rare words give to the dot products of a tile."""
        row, word, weight = rare
        begin = torch.searchsorted(self.keys, word * self.n + low)
        lengths = torch.searchsorted(self.keys, word * self.n + high) - begin  # documents of each entry in the tile
        entry = torch.repeat_interleave(lengths)
        within = torch.arange(len(entry), device=self.device) - (lengths.cumsum(0) - lengths)[entry]
        at = begin[entry] + within
        places = row[entry] * (high - low) + self.keys[at] - word[entry] * self.n - low
        sums.view(-1).index_add_(0, places, weight[entry] * self.key_counts[at])

    def _matrix(self, bags: Bags, first: int, stop: int) -> Tensor:
        """Return the counts of the common words of some texts, [texts, words]."""
        matrix = torch.zeros(stop - first, self.words, dtype=self.dtype, device=self.device)
        for low in range(first, stop, TILE):
            high = min(low + TILE, stop)
            row, entry = self._entries(bags, low, high, common=True)
            columns = self._moved(self.columns[bags.terms[entry]])
            matrix[self._moved(row + low - first), columns] = self._moved(bags.counts[entry]).to(self.dtype)
        return matrix

    def _entries(self, bags: Bags, first: int, stop: int, *, common: bool) -> tuple[Any, Any]:
        """Return text, from 0, and place in the bags of the words of some texts that are columns, or are not."""
        entry = np.arange(bags.starts[first], bags.starts[stop])
        row = np.repeat(np.arange(stop - first), np.diff(bags.starts[first : stop + 1]))
        kept = (self.columns[bags.terms[entry]] >= 0) == common
        return row[kept], entry[kept]

    def _moved(self, array: Any) -> Tensor:
        """Return an array as a tensor of the device."""
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)
