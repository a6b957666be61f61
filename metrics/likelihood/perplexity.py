"""Perplexity per token, word or byte, from stored negative log-likelihoods.

exp(total negative log-likelihood in nats / total number of units). Only words and bytes can be compared across
tokenizers: the same text has a different number of tokens under each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from bench.metrics import sums
from bench.metrics.score import Counts, Family, Gold, Row, Score, score_of_sums

__all__ = ["UNITS", "Unit", "perplexity", "perplexity_scores", "signature"]

Unit = Literal["token", "word", "byte"]
UNITS: tuple[Unit, ...] = ("token", "word", "byte")


def perplexity(rows: Iterable[Row], unit: Unit = "token") -> float:
    """Return the perplexity of all rows together.

    The sum is exact before its single rounding, so neither the order of the rows nor the number of processes that wrote
    them changes a bit. Texts are pooled, not averaged: a long one weighs more than a short one.

    Args:
        rows: Likelihood rows `{"id", "nll_sum", "n_tokens", "n_words", "n_bytes"}`, `nll_sum` in nats, each text
            once.
        unit: What the likelihood is spread over.

    Returns:
        The perplexity, at least 1 for a proper distribution. Infinite when a row was impossible under the model
        (`nll_sum` infinite) or when the number is too large for float64.

    Raises:
        ValueError: No rows or no units at all, an unknown unit, a negative count, or a `nll_sum` that is not a
            likelihood.

    >>> rows = [{"id": "a", "nll_sum": 4 * math.log(8.0), "n_tokens": 4, "n_words": 2, "n_bytes": 12}]
    >>> round(perplexity(rows), 6), round(perplexity(rows, "word"), 6), round(perplexity(rows, "byte"), 6)
    (8.0, 64.0, 2.0)
    """
    pairs = [_loss_and_count(row, unit) for row in rows]
    value = sums.value_of([math.fsum(column) for column in zip(*pairs, strict=True)] or [0, 0], sums.perplexity())
    if value is None:
        raise ValueError(f"perplexity per {unit} is undefined: {len(pairs)} rows hold no {unit}")
    return value


def signature(unit: Unit) -> str:
    """Name everything the score depends on, for the store and the leaderboard.

    >>> signature("word")
    'perplexity|per:word|pooled|base:e|version:1'
    """
    _count_field(unit)
    return f"perplexity|per:{unit}|pooled|base:e|version:1"


def _count_field(unit: str) -> str:
    if unit not in UNITS:
        raise ValueError(f"unit {unit!r} is unknown; there are: {', '.join(UNITS)}")
    return f"n_{unit}s"


def _loss_and_count(row: Row, unit: Unit) -> tuple[float, int]:
    """Return a row's negative log-likelihood in nats and its units."""
    count = _count_field(unit)
    loss, n = float(row["nll_sum"]), row[count]
    if math.isnan(loss) or loss == -math.inf or n < 0:
        given = f"nll_sum = {loss}, {count} = {n}"
        raise ValueError(f"row {row['id']!r} is no likelihood: {given}; did the model diverge?")
    return loss, n


def _count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
    return [dict(zip(UNITS, _losses_and_counts(row), strict=True)) for row in rows]


def _losses_and_counts(row: Row) -> list[tuple[float, int]]:
    return [_loss_and_count(row, unit) for unit in UNITS]


def _scores(counts: Sequence[Counts]) -> list[Score]:
    scores = []
    for unit in UNITS:
        pairs = [row[unit] for row in counts]
        signed, why = signature(unit), f"the texts have no {unit}"
        scores.append(
            score_of_sums(f"ppl/{unit}", sums.perplexity(), pairs, signed, unit="", higher_is_better=False, why=why)
        )
    return scores


perplexity_scores = Family(_count, _scores)
"""Perplexity per token, word and byte; only the last two compare models with different tokenizers."""
