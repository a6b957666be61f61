"""The nearest bags of words by cosine, exactly: an inverted index and a compiled search over it.

Not scipy.sparse: its product of the count matrices is the same numbers, but takes 72 times as long for 160,000 texts
(1,600 s against 22 s on one core), because every second pair of texts shares a frequent word. sparse_dot_topn has the
same product, and compares cosines as floats, so that ties are decided by rounding.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np
import numpy.typing as npt
from scipy import sparse

from bench.tasks.exemplars.bag_of_words import Bags

BATCH = 128  # queries that are searched for at once
BLOCK = 8_192  # documents whose dot products are held at once, so that they stay in a core's first cache
STRIP = 256  # documents of a block that are compared together
COMMON = 12  # a word in more than every 12th document is kept as a row of counts over all documents
SLACK = 1e-5  # far above the rounding of the 32-bit screen
ANY = 1e-30  # below every cosine that is not 0

Array = npt.NDArray[Any]
F = TypeVar("F", bound=Callable[..., Any])


class Best(NamedTuple):
    """The nearest document of each query, as far as it is known.

    Args:
        documents: their numbers, int64 [queries]; -1 for none.
        dots: their dot products with the queries, int64 [queries].
        screens: what dot product / length of a document must reach to be compared exactly, float32 [queries].
    """

    documents: npt.NDArray[np.int64]
    dots: npt.NDArray[np.int64]
    screens: npt.NDArray[np.float32]


class Index(NamedTuple):
    """Documents by word.

    Args:
        starts: where the documents of a word begin in the next two, int64 [words + 1].
        documents: numbers of documents, rising within a word, int32 [entries].
        counts: how often each has the word, uint16 [entries].
        rows: the row of a common word in `common`, else -1, int32 [words].
        common: counts of the common words in every document, uint16 [common words, documents].
        squared: squared lengths of the documents, int64 [documents].
        scales: 1 / length, float32 [documents]; only to find quickly what need not be compared exactly.
    """

    starts: npt.NDArray[np.int64]
    documents: npt.NDArray[np.int32]
    counts: npt.NDArray[np.uint16]
    rows: npt.NDArray[np.int32]
    common: npt.NDArray[np.uint16]
    squared: npt.NDArray[np.int64]
    scales: npt.NDArray[np.float32]


def search(
    documents: Bags,
    queries: Bags,
    words: int,
    groups: Array,
    query_groups: Array,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Best:
    """Find the document nearest to each query by cosine; the lowest number wins a tie.

    Cosines are compared as fractions of integers, so a tie is a tie and nothing else is one.

    Args:
        documents: bags of D documents.
        queries: bags of Q queries over the same words; the same object where the queries are the documents, and then
            each pair is worked out once, for both.
        words: number of words.
        groups: numbers of the documents, [k, D]; a document that shares a number with the query is left out.
        query_groups: numbers of the queries, [k, Q].
        threads: that search at once; without effect on the result.
        progress: called with the queries done and the queries in all.

    Returns:
        What was found; -1 and 0 for a query that shares no word with a document that is not left out.
    """
    index, mutual = index_of(documents, words), queries is documents
    n_documents, n_queries = len(documents.squared), len(queries.squared)
    best = Best(np.full(n_queries, -1, np.int64), np.zeros(n_queries, np.int64), np.full(n_queries, ANY, np.float32))
    with ThreadPoolExecutor(threads) as pool:
        try:
            for first in range(0, n_queries, BATCH):
                stop = min(first + BATCH, n_queries)
                start = first if mutual else 0  # each query is offered to the documents after it
                size = max(BLOCK, -(-(n_documents - start) // threads))
                find = partial(_find, index, queries, first, stop, groups, query_groups, best, mutual)
                ends = range(start, n_documents, size)
                for found in pool.map(lambda at, find=find, size=size: find(at, min(at + size, n_documents)), ends):
                    _merge(best, first, found, index)
                if progress:
                    progress(stop, n_queries)
        finally:
            pool.shutdown(cancel_futures=True)
    return best


def index_of(bags: Bags, words: int) -> Index:
    """Return the documents of each word; the size is linear in the number of entries of the bags."""
    n = len(bags.squared)
    by_word = sparse.csr_array((bags.counts.astype(np.uint16), bags.terms, bags.starts), shape=(n, words)).tocsc()
    often = np.flatnonzero(np.diff(by_word.indptr) * COMMON > n)
    rows = np.full(words, -1, np.int32)
    rows[often] = np.arange(len(often))
    common = np.ascontiguousarray(by_word[:, often].T.toarray())
    scales = (1 / np.sqrt(np.maximum(bags.squared, 1))).astype(np.float32)
    starts, numbers = by_word.indptr.astype(np.int64), by_word.indices.astype(np.int32)
    return Index(starts, numbers, by_word.data, rows, common, bags.squared, scales)


def _compiled(function: F) -> F:
    """Compile a function for its first call; machine code is kept next to this file or below the home folder."""
    try:
        made: F = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # neither folder can be written
        made = numba.njit(nogil=True)(function)
    return made


@_compiled
def _find(
    index: Index,
    queries: Bags,
    first: int,
    stop: int,
    groups: Array,
    query_groups: Array,
    best: Best,
    mutual: bool,
    start: int,
    end: int,
) -> Best:
    """Search the documents from `start` to `end` for queries `first` to `stop`.

    Where the search is mutual, what is found for the documents goes into `best`; no two threads may have the same.
    """
    n = stop - first
    found = Best(np.full(n, -1, np.int64), np.zeros(n, np.int64), best.screens[first:stop].copy())
    offset = queries.starts[first]
    terms = queries.terms[offset : queries.starts[stop]]
    places = index.starts[terms]  # how far the documents of each word of the queries have been followed
    for entry in range(len(terms)):
        low, high = places[entry], index.starts[terms[entry] + 1]
        places[entry] = low + np.searchsorted(index.documents[low:high], start)
    sums = np.zeros(BLOCK, np.int32)
    for low in range(start, end, BLOCK):
        block = sums[: min(BLOCK, end - low)]
        for query in range(first, stop):
            _add_up(block, low, index, queries, query, places[queries.starts[query] - offset :])
            if mutual:
                block[: max(0, query + 1 - low)] = 0
            _compare(block, low, index, groups, query_groups[:, query], found, query - first, best, query, mutual)
            block[:] = 0
    return found


@_compiled
def _add_up(sums: Array, low: int, index: Index, queries: Bags, query: int, places: Array) -> None:
    """Add the dot products of a query with the documents of a block to `sums`, which are 0."""
    high = low + len(sums)
    begin = queries.starts[query]
    for entry in range(begin, queries.starts[query + 1]):
        term, weight = queries.terms[entry], np.int32(queries.counts[entry])
        if index.rows[term] >= 0:
            _add(sums, index.common[index.rows[term], low:high], weight)
            continue
        place, end = places[entry - begin], index.starts[term + 1]
        while place < end and index.documents[place] < high:
            sums[index.documents[place] - low] += weight * np.int32(index.counts[place])
            place += 1
        places[entry - begin] = place


@_compiled
def _add(sums: Array, counts: Array, weight: Any) -> None:
    for i in range(len(counts)):
        sums[i] += weight * np.int32(counts[i])


@_compiled
def _compare(
    sums: Array,
    low: int,
    index: Index,
    groups: Array,
    left_out: Array,
    found: Best,
    i: int,
    best: Best,
    query: int,
    mutual: bool,
) -> None:
    """Take the nearest document of a block for a query, and offer the query to the documents where that is mutual."""
    scale = index.scales[query] if mutual else np.float32(0)
    for start in range(0, len(sums), STRIP):
        strip, scales = sums[start : start + STRIP], index.scales[low + start : low + start + STRIP]
        screen, above = found.screens[i], False
        for j in range(len(strip)):
            above |= np.float32(strip[j]) * scales[j] >= screen
        if mutual:
            screens = best.screens[low + start : low + start + STRIP]
            for j in range(len(strip)):
                above |= np.float32(strip[j]) * scale >= screens[j]
        if above:
            for j in range(len(strip)):
                document, dot = low + start + j, np.int64(strip[j])
                takes = np.float32(dot) * scales[j] >= found.screens[i]
                offers = mutual and np.float32(dot) * scale >= best.screens[document]
                if (takes or offers) and _allowed(document, groups, left_out):
                    if takes:
                        _take(found, i, document, dot, index)
                    if offers:
                        _take(best, document, query, dot, index)


@_compiled
def _merge(best: Best, first: int, found: Best, index: Index) -> None:
    """Put what was found for the queries from `first` on into what is known."""
    for i in range(len(found.dots)):
        if found.documents[i] >= 0:
            _take(best, first + i, found.documents[i], found.dots[i], index)


@_compiled
def _take(best: Best, row: int, document: int, dot: Any, index: Index) -> None:
    """Take a document for a query if it is nearer than the one that is known, or as near and lower."""
    old, old_dot = best.documents[row], best.dots[row]
    if old >= 0:
        squared, old_squared = index.squared[document], index.squared[old]
        lower_as_near = document < old and not _nearer(old_dot, old_squared, dot, squared)
        if not (lower_as_near or _nearer(dot, squared, old_dot, old_squared)):
            return
    best.documents[row], best.dots[row] = document, dot
    best.screens[row] = np.float32(dot) * index.scales[document] * np.float32(1 - SLACK)


@_compiled
def _allowed(document: int, groups: Array, left_out: Array) -> Any:
    shared = 0
    for k in range(len(left_out)):
        shared += groups[k, document] == left_out[k]
    return shared == 0


@_compiled
def _nearer(dot: Any, squared: Any, other_dot: Any, other_squared: Any) -> Any:
    """Return whether dot^2 / squared > other_dot^2 / other_squared, by continued fractions: no product overflows."""
    if dot == other_dot:
        return squared < other_squared
    a, b, c, d = np.int64(dot) ** 2, squared, np.int64(other_dot) ** 2, other_squared
    while True:
        x, y = a // b, c // d
        if x != y:
            return x > y
        a, c = a - x * b, c - y * d
        if a == 0 or c == 0:
            return a > c
        a, b, c, d = d, c, b, a
