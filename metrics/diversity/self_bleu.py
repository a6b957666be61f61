"""Self-BLEU, counted exactly over all texts in time proportional to their n-grams, where nltk compares all pairs.

Each text is scored by sentence BLEU with all other texts as references, and the mean is reported in percent; lower
means more diverse (Zhu et al. 2018; F2-Softmax section 4.1.6). A text may use an n-gram as often as the text that has
it most, or, where it is that text itself, as the one that has it second most.

Definitions, which differ where no n-gram of an order is shared:

`f2_code`: the precision is 1e-100 over the number of n-grams, as in F2-Softmax's code (the first commit of a later
repository: tasks/papers/f2softmax.toml), so that such a text scores nearly 0. `original`: 0.1 over the number of
n-grams, and 0 without a shared token, as nltk's method1, which the inventors' package Texygen calls (on its first 500
texts; here on all).
"""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bench.metrics.diversity.ngrams import Integers, NgramCounts, n_grams
from bench.metrics.diversity.token_names import column_name
from bench.metrics.score import Score

Definition = Literal["f2_code", "original"]
DEFINITIONS: tuple[Definition, ...] = ("f2_code", "original")
MAX_N = 4
SMOOTHING = {"f2_code": 1e-100, "original": 0.1}
"""Number of shared n-grams where there is none."""


def self_bleu_columns(counts: Sequence[NgramCounts], lengths: Integers, tokens: str) -> list[Score]:
    """Return the columns of Self-BLEU-1 to -4 by both definitions.

    Args:
        counts: of orders 1 to 4 in turn, from a pass that other metrics may share.
        lengths: `[texts]` tokens of each text.
        tokens: part of the signature that names the tokens.
    """
    columns = []
    for definition in DEFINITIONS:
        for n, value in enumerate(self_bleu(counts, lengths, definition), start=1):
            name = column_name(f"self-bleu-{n}", definition, DEFINITIONS[0])
            zero = f"zero:{SMOOTHING[definition]:g}|scale:percent|version:1"
            signature = f"self-bleu|n:{n}|definition:{definition}|refs:all others|weights:equal|{zero}|{tokens}"
            columns.append(Score(name, value, "percent", False, len(lengths), signature))
    return columns


def self_bleu(
    counts: Sequence[NgramCounts], lengths: Integers, definition: Definition = "f2_code"
) -> list[float | None]:
    """Return Self-BLEU in percent for n = 1, 2, ..., each with equal weights up to n.

    None with fewer than two texts (F2-Softmax's code and Texygen raise), and for orders that no text is long enough
    for (they score smoothing alone). An empty text scores 0, and one shorter than n has no shared n-gram.

    Args:
        counts: of orders 1, 2, ... in turn.
        lengths: `[texts]` tokens of each text.
        definition: smoothing of orders without a shared n-gram.

    >>> from bench.metrics.diversity.ngrams import count_ngrams, lengths_of
    >>> texts = [[1, 2, 3, 4], [1, 2, 3, 5], [6, 7, 8, 9]]
    >>> [round(value, 6) for value in self_bleu(count_ngrams(texts, 2), lengths_of(texts))]
    [50.0, 47.140452]
    """
    if len(lengths) < 2:
        return [None] * len(counts)
    scores = self_bleu_of_texts(counts, lengths, definition)
    means = [100.0 * math.fsum(column) / len(lengths) for column in scores.T.tolist()]
    longest = int(lengths.max())
    return means[:longest] + [None] * len(means[longest:])


def self_bleu_of_texts(
    counts: Sequence[NgramCounts], lengths: Integers, definition: Definition = "f2_code"
) -> NDArray[np.float64]:
    """Return the sentence BLEU of each of two or more texts against all others, from 0 to 1, `[texts, orders]`.

    Arguments as for `self_bleu`.
    """
    matches = [_matches(of_order) for of_order in counts]
    # Logarithms of integers by the C library: those of numpy differ between processors in the last bit.
    longest = int(lengths.max(initial=1))
    logs = np.array([math.log(SMOOTHING[definition]), *map(math.log, range(1, longest + 1))])
    precisions = []
    for n, matched in enumerate(matches, start=1):
        precisions.append(logs[matched] - logs[np.maximum(n_grams(lengths, n), 1)])
    orders = np.arange(1, len(matches) + 1)
    means = np.cumsum(np.array(precisions).T.reshape(len(lengths), len(matches)), axis=1) / orders
    brevity = np.minimum(1.0 - _nearest_other(lengths) / np.maximum(lengths, 1), 0.0)
    exponents = means + brevity[:, None]
    scores = np.array([math.exp(x) for x in exponents.ravel().tolist()]).reshape(exponents.shape)
    scores[(lengths == 0) | ((matches[0] == 0) & (definition == "original"))] = 0.0
    return scores


def _matches(pairs: NgramCounts) -> Integers:
    """Return how many n-grams of each text the others have too, each as often as the one that has it most."""
    if not len(pairs.grams):
        return np.zeros(pairs.n_texts, dtype=np.int64)
    new_gram = np.diff(pairs.grams, prepend=-1) != 0
    firsts, of_gram = np.flatnonzero(new_gram), np.cumsum(new_gram) - 1
    most = np.maximum.reduceat(pairs.counts, firsts)
    is_most = pairs.counts == most[of_gram]
    below = np.maximum.reduceat(np.where(is_most, 0, pairs.counts), firsts)
    several = np.add.reduceat(is_most, firsts, dtype=np.int64) > 1
    second = np.where(several, most, below)
    shared = np.where(is_most, second[of_gram], pairs.counts)
    return np.bincount(pairs.texts, weights=shared, minlength=pairs.n_texts).astype(np.int64)


def _nearest_other(lengths: Integers) -> Integers:
    """Return for each text the length of another one nearest to its own; the shorter of two equally near."""
    known, place, count = np.unique(lengths, return_inverse=True, return_counts=True)
    far = np.iinfo(np.int64).max // 2
    shorter = np.concatenate([[-far], known[:-1]])
    longer = np.concatenate([known[1:], [far]])
    nearest = np.where(known - shorter <= longer - known, shorter, longer)
    return np.where(count > 1, known, nearest)[place]
