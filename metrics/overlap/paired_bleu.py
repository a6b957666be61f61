"""Paired BLEU: each generated text against its own true continuation, by tokens (`bleu_upto` of F2-Softmax's code)."""

from __future__ import annotations

import math

import numpy as np

from bench.metrics.diversity.ngrams import Integers, NgramCounts, Texts, count_ngrams, lengths_of
from bench.metrics.diversity.self_bleu import Definition, bleu_scores

__all__ = ["paired_bleu"]


def paired_bleu(
    texts: Texts, references: Texts, max_n: int = 3, definition: Definition = "original"
) -> list[float | None]:
    """Return the mean sentence BLEU-1 to -`max_n` in percent, with equal weights.

    None without a text, and for orders that no text is long enough for. An empty text scores 0.

    Args:
        texts: token ids of the generated texts.
        references: token ids of the true texts, one for each, in the same order.
        max_n: largest order.
        definition: what zero shared n-grams count as; `original`, nltk's method1, is that of the authors' code here.

    Raises:
        ValueError: not one reference for each text.

    >>> one, two = paired_bleu([[1, 2, 3, 4]], [[1, 2, 3, 5]], 2)
    >>> round(one, 6), round(two, 6)  # 3/4 of the tokens, 2/3 of the pairs
    (75.0, 70.710678)
    """
    if len(texts) != len(references):
        raise ValueError(f"expected one reference for each text, got {len(texts)} texts, {len(references)} references")
    counts = count_ngrams([*texts, *references], max_n)
    if not len(texts):
        return [None] * max_n
    lengths, wanted = lengths_of(texts), lengths_of(references)
    scores = bleu_scores([_shared(of_order, len(texts)) for of_order in counts], lengths, wanted, definition)
    means = [100.0 * math.fsum(column) / len(texts) for column in scores.T.tolist()]
    return [mean if n <= lengths.max() else None for n, mean in enumerate(means, start=1)]


def _shared(counts: NgramCounts, n_texts: int) -> Integers:
    """Return how many n-grams each text shares with its reference, `[n_texts]`."""
    ours, theirs = counts.between(0, n_texts), counts.between(n_texts, 2 * n_texts)
    keys, theirs_keys = (side.grams * n_texts + side.texts for side in (ours, theirs))
    _, here, there = np.intersect1d(keys, theirs_keys, assume_unique=True, return_indices=True)
    shared = np.minimum(ours.counts[here], theirs.counts[there])
    return np.bincount(ours.texts[here], weights=shared, minlength=n_texts).astype(np.int64)
