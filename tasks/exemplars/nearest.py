"""Nearest bags of words by cosine, exactly: an inverted index and the compiled search over it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
from numba.core.caching import FunctionCache

from bench.tasks.exemplars.bag_of_words import Bags

__all__ = ["Best", "Index", "index_of", "nearest", "none_of", "take_nearer"]

BLOCK = 8_192  # documents whose sums are held at once: they stay in a core's first cache
STRIP = 256  # of these, documents compared together
COMMON = 24  # a word in more than every 24th document is kept as a row over all of them, if a count is one byte
SHORT = 2**15  # with all squared lengths below, sums fit 16 bits, for dot <= length * length
SLACK = 1e-5  # far above the rounding of the 32-bit screen
ANY = 1e-30  # below every cosine that is not 0

Array = npt.NDArray[Any]
F = TypeVar("F", bound=Callable[..., Any])


class _Kept(FunctionCache):
    """Kept machine code, which several processes write without waiting for each other.

    numba numbers its files, so of two that keep code for different types at once one may get the name of the other;
    and a machine that stops may leave a file empty. What cannot be read, or is not what was asked for, is compiled.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(sig, target_context)
        except Exception:  # whatever pickle and LLVM raise
            with suppress(OSError):
                self.flush()
            return None
        return found if found is not None and found.signature.args == tuple(sig) else None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(Exception):  # a full disk too
            super().save_overload(sig, data)


def _compiled(function: F) -> F:
    """Compile a function when it is called first; machine code is kept beside this file, or below the home folder."""
    compiled = numba.njit(nogil=True)(function)
    with suppress(RuntimeError):  # neither can be written
        compiled._cache = _Kept(function)
    return cast(F, compiled)


class Index(NamedTuple):
    """Documents by word.

    Args:
        starts: where the documents of a word begin in the next two, int64 [V + 1]; a common word has none.
        documents: numbers of documents, rising within a word, int32.
        counts: how often each has the word.
        rows: the row of a common word in `common`, else -1, int32 [V].
        common: counts of the common words in every document, [common words, documents].
        squared: squared lengths of the documents, int64 [documents].
        scales: 1 / length, float32 [documents]; only to find out quickly what need not be compared.
        wide: whether a dot product may need more than 16 bits.
    """

    starts: npt.NDArray[np.int64]
    documents: npt.NDArray[np.int32]
    counts: Array
    rows: npt.NDArray[np.int32]
    common: Array
    squared: npt.NDArray[np.int64]
    scales: npt.NDArray[np.float32]
    wide: bool


def index_of(bags: Bags, terms: int, longest: int) -> Index:
    """Turn bags round: for each word, the documents that have it.

    Args:
        bags: the documents.
        terms: number of words V.
        longest: the largest squared length of a document or a query.

    Returns:
        An index whose size is linear in the number of entries of the bags.
    """
    documents = len(bags.squared)
    narrow: np.dtype[Any] = np.dtype(np.int32)
    if bags.counts.max(initial=0) < 256:
        narrow = np.dtype(np.uint8)
    having = np.bincount(bags.terms, minlength=terms)  # [V]: how many documents have each word
    rows = np.full(terms, -1, np.int32)
    often = np.flatnonzero(having * COMMON > documents * narrow.itemsize)
    rows[often] = np.arange(len(often))
    having[often] = 0
    starts = np.concatenate([[0], np.cumsum(having)])
    columns = np.empty(starts[-1], np.int32)
    counts = np.empty(starts[-1], narrow)
    common = np.zeros((len(often), documents), narrow)
    _turn(bags, rows, starts[:-1].copy(), columns, counts, common)
    scales = (1 / np.sqrt(np.maximum(bags.squared, 1))).astype(np.float32)
    return Index(starts, columns, counts, rows, common, bags.squared, scales, longest >= SHORT)


class Best(NamedTuple):
    """The nearest document of each row, as far as it is known.

    Args:
        documents: their numbers, int64 [rows]; -1 for none.
        dots: their dot products with the rows, int64 [rows].
        screens: what 32-bit cosines must reach to be worth a comparison, float32 [rows]; see `_screen`.
    """

    documents: npt.NDArray[np.int64]
    dots: npt.NDArray[np.int64]
    screens: npt.NDArray[np.float32]


def none_of(rows: int) -> Best:
    """Return that nothing is known of some rows."""
    return Best(np.full(rows, -1, np.int64), np.zeros(rows, np.int64), np.full(rows, ANY, np.float32))


def nearest(
    index: Index,
    queries: Bags,
    first: int,
    stop: int,
    groups: Array,
    query_groups: Array,
    documents: range | None = None,
    back: Best | None = None,
) -> Best:
    """Find the documents nearest to queries `first` to `stop` by cosine; the lowest number wins a tie.

    Cosines are compared as fractions of integers, so a tie is a tie and nothing else is one. Releases the interpreter's
    lock: threads may search at once.

    Args:
        index: the documents.
        queries: bags over the same words.
        first: of the queries to search for.
        stop: one past the last.
        groups: [k, documents] numbers; a document that has a number of the query's in its row is left out.
        query_groups: [k, queries] numbers, negative where nothing is left out.
        documents: which of them are searched; None for all.
        back: where the queries are the documents, what is known of these: each query is then offered to every later
            document, and only later ones are offered to it. So each pair is worked out once. Queries must come in
            rising order, and no two threads may search the same documents.

    Returns:
        What was found for the queries, [stop - first]; -1 and 0 for a query that shares no word with a document that
        is not left out.
    """
    if documents is None:
        documents = range(len(index.squared))
    dtype = np.int32 if index.wide else np.int16
    sums = np.zeros(BLOCK, dtype)
    found = none_of(stop - first)
    _search(
        index,
        queries,
        first,
        groups,
        query_groups,
        sums,
        found,
        documents.start,
        documents.stop,
        back or none_of(0),
    )
    return found


def take_nearer(best: Best, first: int, found: Best, index: Index) -> None:
    """Put what was found for the rows from `first` on into what is known, where it is nearer, or lower and as near."""
    _take_nearer(best, first, found, index.squared)


@_compiled
def _turn(bags: Bags, rows: Array, places: Array, documents: Array, counts: Array, common: Array) -> None:
    for document in range(len(bags.squared)):
        for entry in range(bags.starts[document], bags.starts[document + 1]):
            term = bags.terms[entry]
            if rows[term] >= 0:
                common[rows[term], document] = bags.counts[entry]
            else:
                documents[places[term]] = document
                counts[places[term]] = bags.counts[entry]
                places[term] += 1


@_compiled
def _search(
    index: Index,
    queries: Bags,
    first: int,
    groups: Array,
    query_groups: Array,
    sums: Array,
    found: Best,
    start: int,
    stop: int,
    back: Best,
) -> None:
    """Go through the documents in blocks; `places` says how far the queries' words have been followed."""
    offset = queries.starts[first]
    places = _places(index, queries.terms[offset : queries.starts[first + len(found.dots)]], start)
    for low in range(start, stop, len(sums)):
        high = min(low + len(sums), stop)
        block = sums[: high - low]
        for i in range(len(found.dots)):
            query = first + i
            _add_up(block, low, index, queries, query, places[queries.starts[query] - offset :])
            left_out = query_groups[:, query]
            if len(back.dots) > 0:
                block[: max(0, query + 1 - low)] = 0
                _offer(block, low, index, groups, left_out, query, back)
            _take(block, low, index, groups, left_out, found, i)
            block[:] = 0


@_compiled
def _places(index: Index, terms: Array, start: int) -> Array:
    """Return where the documents from `start` on begin, for each word."""
    places = index.starts[terms]
    if start > 0:
        for entry in range(len(terms)):
            low, high = places[entry], index.starts[terms[entry] + 1]
            places[entry] = low + np.searchsorted(index.documents[low:high], start)
    return places


@_compiled
def _add_up(sums: Array, low: int, index: Index, queries: Bags, query: int, places: Array) -> None:
    """Add the dot products of a query with the documents of a block to `sums`, which are 0."""
    high = low + len(sums)
    first, stop = queries.starts[query], queries.starts[query + 1]
    for entry in range(first, stop):
        term, weight = queries.terms[entry], queries.counts[entry]
        if index.rows[term] >= 0:
            _add(sums, index.common[index.rows[term], low:high], weight)
            continue
        place, end = places[entry - first], index.starts[term + 1]
        while place < end and index.documents[place] < high:
            sums[index.documents[place] - low] += weight * index.counts[place]
            place += 1
        places[entry - first] = place


@_compiled
def _add(sums: Array, row: Array, weight: int) -> None:
    for i in range(len(row)):
        sums[i] += weight * row[i]


@_compiled
def _take(sums: Array, low: int, index: Index, groups: Array, left_out: Array, found: Best, i: int) -> None:
    """Take the nearest of a block of documents for the i-th query, if it is nearer than what was found before."""
    best, dot, screen = found.documents[i], found.dots[i], found.screens[i]
    for start in range(0, len(sums), STRIP):
        strip, scales = sums[start : start + STRIP], index.scales[low + start : low + start + STRIP]
        above = False
        for j in range(len(strip)):
            above |= np.float32(strip[j]) * scales[j] >= screen
        if above:
            for j in range(len(strip)):
                if np.float32(strip[j]) * scales[j] >= screen:
                    document = low + start + j
                    if _allowed(document, groups, left_out) and (
                        best < 0 or _nearer(strip[j], index.squared[document], dot, index.squared[best])
                    ):
                        best, dot = document, np.int64(strip[j])
                        screen = _screen(index, best, dot)
    found.documents[i], found.dots[i], found.screens[i] = best, dot, screen


@_compiled
def _offer(sums: Array, low: int, index: Index, groups: Array, left_out: Array, query: int, back: Best) -> None:
    """Offer a query, which is a document too, to a block of documents."""
    scale = index.scales[query]
    for start in range(0, len(sums), STRIP):
        strip, screens = sums[start : start + STRIP], back.screens[low + start : low + start + STRIP]
        above = False
        for j in range(len(strip)):
            above |= np.float32(strip[j]) * scale >= screens[j]
        if above:
            for j in range(len(strip)):
                document = low + start + j
                if np.float32(strip[j]) * scale >= screens[j] and _allowed(document, groups, left_out):
                    best = back.documents[document]
                    if best < 0 or _nearer(strip[j], index.squared[query], back.dots[document], index.squared[best]):
                        back.documents[document], back.dots[document] = query, strip[j]
                        screens[j] = _screen(index, query, strip[j])


@_compiled
def _take_nearer(best: Best, first: int, found: Best, squared: Array) -> None:
    for i in range(len(found.dots)):
        other, old = found.documents[i], best.documents[first + i]
        if other < 0:
            continue
        better = old < 0
        if not better:
            dot, old_dot = found.dots[i], best.dots[first + i]
            better = _nearer(dot, squared[other], old_dot, squared[old]) or (
                other < old and not _nearer(old_dot, squared[old], dot, squared[other])
            )
        if better:
            best.documents[first + i], best.dots[first + i] = other, found.dots[i]
            best.screens[first + i] = found.screens[i]


@_compiled
def _screen(index: Index, best: int, dot: Any) -> Any:
    """Return what 32-bit cosines times the query's length must reach to be worth a comparison."""
    if best < 0:
        return np.float32(ANY)
    return np.float32(np.float32(dot) * index.scales[best] * np.float32(1 - SLACK))


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
