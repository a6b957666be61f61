"""Clipped matches: the n-grams that texts share with their references, counted for many texts at once.

BLEU and chrF are made of whole numbers: how many n-grams a text and a reference have, and how many of a text's also
stand in the reference, each at most as often as there. All orders and many texts are counted by a few sorts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.metrics.diversity.ngrams import Integers, NgramCounts, Texts, count_ngrams, lengths_of

__all__ = ["ClippedMatches", "clipped_matches", "code_points"]

CHUNK = 1 << 14
"""Tokens counted at once: few enough that sorts stay in a core's cache."""


@dataclass(frozen=True)
class ClippedMatches:
    """What some texts share with their references.

    Args:
        texts: tokens of each text, [texts].
        references: tokens of each reference, [references]; those of the first text come first.
        owners: number of the text that each reference belongs to, [references].
        by_reference: matches with each reference alone, [references, orders].
        by_text: matches with all references of a text, where an n-gram counts as often as in the reference that has it
            most often, [texts, orders].
    """

    texts: Integers
    references: Integers
    owners: Integers
    by_reference: Integers
    by_text: Integers


def clipped_matches(texts: Texts, references: Sequence[Texts], orders: int) -> ClippedMatches:
    """Count shared n-grams of orders 1 to `orders`.

    Args:
        texts: token ids of each text, 0 or more.
        references: for each text, token ids of each of its references.
        orders: the highest order.

    >>> found = clipped_matches([[1, 1, 2]], [[[1, 2], [1, 1]]], 2)
    >>> found.by_reference.tolist(), found.by_text.tolist()
    ([[2, 1], [2, 1]], [[3, 2]])
    """
    flat = [reference for of_text in references for reference in of_text]
    sizes, reference_sizes = lengths_of(texts), lengths_of(flat)
    numbers = np.array([len(several) for several in references], np.int64)  # [texts]: references of each text
    owners = np.repeat(np.arange(len(texts)), numbers)  # [references]
    ends = np.cumsum(numbers)  # [texts]: where the references of each text stop
    parts = []
    for start, stop in _chunks(sizes + np.bincount(owners, reference_sizes, len(texts)).astype(np.int64)):
        first, last = ends[start] - numbers[start], ends[stop - 1]
        parts.append(_matches(texts[start:stop], flat[first:last], owners[first:last] - start, orders))
    by_reference = np.concatenate([np.zeros((0, orders), np.int64), *(part[0] for part in parts)])
    by_text = np.concatenate([np.zeros((0, orders), np.int64), *(part[1] for part in parts)])
    return ClippedMatches(sizes, reference_sizes, owners, by_reference, by_text)


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """Return the characters of a text as numbers.

    >>> code_points("añ").tolist()
    [97, 241]
    """
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _chunks(sizes: Integers) -> list[tuple[int, int]]:
    """Cut texts into stretches of about `CHUNK` tokens; one text is never cut."""
    chunk = np.cumsum(sizes) // CHUNK
    starts = [0, *(np.flatnonzero(np.diff(chunk)) + 1).tolist(), len(sizes)]
    return [(start, stop) for start, stop in zip(starts, starts[1:], strict=False) if start < stop]


def _matches(texts: Texts, references: Texts, owners: Integers, orders: int) -> tuple[Integers, Integers]:
    """Return matches by reference [references, orders] and by text [texts, orders]."""
    by_reference = np.zeros((len(references), orders), np.int64)
    by_text = np.zeros((len(texts), orders), np.int64)
    for order, counts in enumerate(count_ngrams([*texts, *references], orders)):
        by_reference[:, order], by_text[:, order] = _matches_of_order(counts, len(texts), owners)
    return by_reference, by_text


def _matches_of_order(counts: NgramCounts, n_texts: int, owners: Integers) -> tuple[Integers, Integers]:
    """Look up every n-gram of a reference among those of its text."""
    is_text = counts.texts < n_texts  # [pairs]: pairs of an n-gram and a text or reference that has it
    of_text, had = counts.texts[is_text], counts.counts[is_text]  # [n-grams of texts]
    keys = counts.grams[is_text] * n_texts + of_text  # rising
    reference = counts.texts[~is_text] - n_texts  # [n-grams of references]
    wanted = counts.grams[~is_text] * n_texts + owners[reference]
    at = np.searchsorted(keys, wanted)
    shared = at < len(keys)
    shared[shared] = keys[at[shared]] == wanted[shared]
    at, reference = at[shared], reference[shared]
    matches = np.minimum(had[at], counts.counts[~is_text][shared])
    most = np.zeros(len(keys), np.int64)  # of the references of a text
    np.maximum.at(most, at, matches)
    by_reference = np.bincount(reference, matches, len(owners))  # exact: whole numbers below 2^53
    by_text = np.bincount(of_text, most, n_texts)
    return by_reference.astype(np.int64), by_text.astype(np.int64)
