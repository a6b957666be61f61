"""Self-BLEU: how much of each text the other texts already say (Zhu et al. 2018; F2-Softmax section 4.1.6).

Each text is scored by sentence BLEU with all other texts as references, and the mean is reported in percent. It is
exact over all texts and takes time proportional to the n-grams: a text may use an n-gram as often as the text that has
it most, or, where it is that text itself, as the one that has it second most.

Definitions, which differ where no n-gram of an order is shared:

`f2_code`: the precision is 1e-100 over the number of n-grams, as in F2-Softmax's code (the first commit of a later
repository: tasks/papers/f2softmax.toml), so that such a text scores nearly 0. `original`: 0.1 over the number of
n-grams, and 0 without a shared token, as nltk's method1, which the inventors' package Texygen calls (on its first 500
texts; here on all).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bench.metrics.diversity.ngrams import Integers, NgramCounts, Texts, count_ngrams, lengths_of, n_grams
from bench.metrics.diversity.token_rows import TOO_SHORT, column_name, token_rows
from bench.metrics.score import Gold, Row, Score, explained

__all__ = [
    "DEFINITIONS",
    "Definition",
    "self_bleu",
    "self_bleu_columns",
    "self_bleu_from_counts",
    "self_bleu_of_each",
    "self_bleu_scores",
    "signature",
]

Definition = Literal["f2_code", "original"]
DEFINITIONS: tuple[Definition, ...] = ("f2_code", "original")
MAX_N = 4
ZERO = {"f2_code": 1e-100, "original": 0.1}
"""What stands in for zero shared n-grams."""


def self_bleu(texts: Texts, max_n: int = 4, definition: Definition = "f2_code") -> list[float | None]:
    """Return Self-BLEU-1 to -`max_n` in percent, each with equal weights; lower means more diverse.

    None with fewer than two texts (F2-Softmax's code and Texygen raise), and for orders that no text is long enough
    for (they score smoothing alone). An empty text scores 0, and one shorter than n has no shared n-gram.

    Args:
        texts: token ids.
        max_n: largest order.
        definition: what zero shared n-grams count as.

    >>> by_tokens, by_pairs = self_bleu([[1, 2, 3, 4], [1, 2, 3, 5], [6, 7, 8, 9]], 2)
    >>> round(by_tokens, 6), round(by_pairs, 6)  # 3/4, 3/4 and 0 of the tokens, 2/3, 2/3 and 0 of the pairs
    (50.0, 47.140452)
    """
    counts = count_ngrams(texts, max_n)
    return self_bleu_from_counts(counts, lengths_of(texts), definition)


def self_bleu_of_each(texts: Texts, max_n: int = 4, definition: Definition = "f2_code") -> NDArray[np.float64]:
    """Return the BLEU of every text against all others as a fraction, `[texts, max_n]`.

    Raises:
        ValueError: fewer than two texts.
    """
    counts = count_ngrams(texts, max_n)
    return _scores(counts, lengths_of(texts), definition)


def self_bleu_from_counts(
    counts: Sequence[NgramCounts], lengths: Integers, definition: Definition = "f2_code"
) -> list[float | None]:
    """Return Self-BLEU for n = 1, 2, ... from the counts of a pass that other metrics share.

    Args:
        counts: of orders 1, 2, ... in turn.
        lengths: `[texts]` tokens of each text.
        definition: what zero shared n-grams count as.
    """
    _check(definition)
    if len(lengths) < 2:
        return [None] * len(counts)
    scores = _scores(counts, lengths, definition)
    means = [100.0 * math.fsum(column) / len(lengths) for column in scores.T.tolist()]
    longest = int(lengths.max())
    return means[:longest] + [None] * len(means[longest:])


def self_bleu_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Score generated texts by Self-BLEU-1 to -4 alone; arguments and errors as for `token_rows`."""
    given = token_rows(rows, gold)
    columns = self_bleu_columns(count_ngrams(given.texts, MAX_N), lengths_of(given.texts), given.tokens)
    return [explained(score, TOO_SHORT) for score in columns]


def self_bleu_columns(counts: Sequence[NgramCounts], lengths: Integers, tokenisation: str) -> list[Score]:
    """Return the columns of Self-BLEU-1 to -4 by both definitions.

    Args:
        counts: of orders 1 to 4 in turn, from a pass that other metrics may share.
        lengths: `[texts]` tokens of each text.
        tokenisation: what the signature says of the tokens.
    """
    columns = []
    for definition in DEFINITIONS:
        for n, value in enumerate(self_bleu_from_counts(counts, lengths, definition), start=1):
            name = column_name(f"self-bleu-{n}", definition, DEFINITIONS[0])
            signed = f"{signature(n, definition)}|{tokenisation}"
            columns.append(Score(name, value, "percent", False, len(lengths), signed))
    return columns


def _bleu(
    matches: Sequence[Integers], lengths: Integers, wanted: Integers, definition: Definition
) -> NDArray[np.float64]:
    """Return sentence BLEU with equal weights up to each order, as a fraction.

    Args:
        matches: for n = 1, 2, ... the shared n-grams of each text, `[texts]`.
        lengths: `[texts]` tokens of each text.
        wanted: `[texts]` length of its nearest reference, for the brevity penalty.
        definition: what zero shared n-grams count as.

    Returns:
        `[texts, orders]`.
    """
    # Logarithms of integers by the C library: those of numpy differ between processors in the last bit.
    longest = int(lengths.max(initial=1))
    logs = np.array([math.log(ZERO[definition]), *map(math.log, range(1, longest + 1))])
    precisions = []
    for n, matched in enumerate(matches, start=1):
        precisions.append(logs[matched] - logs[np.maximum(n_grams(lengths, n), 1)])
    orders = np.arange(1, len(matches) + 1)
    means = np.cumsum(np.array(precisions).T.reshape(len(lengths), len(matches)), axis=1) / orders
    brevity = np.minimum(1.0 - wanted / np.maximum(lengths, 1), 0.0)
    exponents = means + brevity[:, None]
    scores = np.array([math.exp(x) for x in exponents.ravel().tolist()]).reshape(exponents.shape)
    scores[(lengths == 0) | ((matches[0] == 0) & (definition == "original"))] = 0.0
    return scores


def signature(n: int, definition: Definition) -> str:
    """Name everything the score depends on but the tokenizer, for the store and the leaderboard.

    >>> signature(2, "f2_code")
    'self-bleu|n:2|definition:f2_code|refs:all others|weights:equal|zero:1e-100|scale:percent|version:1'
    """
    _check(definition)
    options = f"n:{n}|definition:{definition}|refs:all others|weights:equal|zero:{ZERO[definition]:g}"
    return f"self-bleu|{options}|scale:percent|version:1"


def _check(definition: str) -> None:
    if definition not in DEFINITIONS:
        raise ValueError(f"definition {definition!r} is unknown; there are: {', '.join(DEFINITIONS)}")


def _scores(counts: Sequence[NgramCounts], lengths: Integers, definition: Definition) -> NDArray[np.float64]:
    _check(definition)
    if len(lengths) < 2:
        raise ValueError(f"Self-BLEU compares texts with each other: expected two or more, got {len(lengths)}")
    return _bleu([_matches(of_order) for of_order in counts], lengths, _nearest_other(lengths), definition)


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
