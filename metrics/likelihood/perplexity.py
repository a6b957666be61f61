"""Perplexity per token, word or byte, from stored negative log-likelihoods.

exp(total negative log-likelihood in nats / total number of units). Texts are pooled: a long one weighs more than a
short one. Only words and bytes can be compared across tokenizers, under each of which the same text has another number
of tokens.
"""

import math
from collections.abc import Sequence
from typing import Literal

from bench.metrics import sums
from bench.metrics.score import Counts, Family, Gold, Row, Score, score_of_sums

Unit = Literal["token", "word", "byte"]
UNITS: tuple[Unit, ...] = ("token", "word", "byte")


def _losses_and_counts(row: Row) -> Counts:
    """Return for each unit the negative log-likelihood of a row in nats and its number of units.

    Raises:
        ValueError: `nll_sum` is no negative log-likelihood, or a count is negative.
    """
    loss = float(row["nll_sum"])
    counts = {unit: row[f"n_{unit}s"] for unit in UNITS}
    if math.isnan(loss) or loss == -math.inf or min(counts.values()) < 0:
        raise ValueError(f"row {row['id']!r} is no likelihood: nll_sum = {loss}, {counts}; did the model diverge?")
    return {unit: (loss, n) for unit, n in counts.items()}


def _count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
    return [_losses_and_counts(row) for row in rows]


def _scores(counts: Sequence[Counts]) -> list[Score]:
    return [
        score_of_sums(
            f"ppl/{unit}",
            sums.perplexity(),
            [row[unit] for row in counts],
            f"perplexity|per:{unit}|pooled|base:e|version:1",
            unit="",
            higher_is_better=False,
            why=f"the texts have no {unit}",
        )
        for unit in UNITS
    ]


perplexity_scores = Family(_count, _scores)
"""Perplexity per token, word and byte, of rows `{"id", "nll_sum", "n_tokens", "n_words", "n_bytes"}`.

The value is infinite, and so not shown, where the mean is above 709 nats, whose exponential no float holds.
"""
