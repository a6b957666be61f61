"""Tolerance: how far a number from one or two seeds may be from a published one, and what rounding hides."""

from __future__ import annotations

from bench.metrics.columns import is_named

TOLERANCES: tuple[tuple[str, float, float], ...] = (
    ("acc@*", 3.0, 0.0),
    ("rouge-*", 0.5, 0.0),
    ("bleu*", 0.5, 0.0),
    ("ppl/*", 0.0, 0.02),
    ("kld*", 0.0, 0.05),
    ("ms-jaccard-*", 1.0, 0.0),
    ("self-bleu-*", 1.0, 0.0),
    ("distinct-*", 1.0, 0.0),
    ("rep", 0.5, 0.0),
    ("uniq", 0.0, 0.03),
    ("mauve", 1.5, 0.0),
    ("ngram-diversity", 0.5, 0.0),
    ("coherence", 1.0, 0.0),
    ("*-acc", 1.0, 0.0),
    ("factcc", 1.0, 0.0),
    ("dae*", 1.0, 0.0),
    ("p_ent*", 1.0, 0.0),
    ("*", 0.0, 0.05),
)
"""By pattern of a metric's name, how far the mean of one or two seeds may be off: in the metric's unit, and as a share
of the published number; the larger counts. The first pattern that fits a metric decides."""


def tolerance(metric: str, published: float) -> float:
    """Return how far a mean of fewer than three seeds may be off.

    >>> tolerance("rouge-l", 34.7), tolerance("ppl/token", 25.0), tolerance("acc@2/full", 50.0)
    (0.5, 0.5, 3.0)
    """
    for pattern, absolute, share in TOLERANCES:
        if is_named(metric, pattern):
            return max(absolute, share * abs(published))
    raise AssertionError("the last pattern fits every metric")


def half_digit(printed: str) -> float:
    """Return half a unit of the last digit printed.

    >>> half_digit("24.7"), half_digit("8.48k"), half_digit("762"), half_digit("9,706")
    (0.05, 5.0, 0.5, 0.5)
    """
    text = printed.rstrip("?").replace(",", "")
    exponent = {"k": 3, "m": 6}.get(text[-1:].lower(), 0)
    decimals = len(text.rstrip("kKmM").partition(".")[2])
    return float(f"5e{exponent - decimals - 1}")
