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
"""By metric, how far one or two seeds may be off: in the metric's unit, or as a share of the published number. The
first name that fits counts."""


def tolerance(metric: str, published: float) -> float:
    """Return how far a mean of fewer than three seeds may be off.

    >>> tolerance("rouge-l", 34.7), tolerance("ppl/token", 25.0), tolerance("acc@2/full", 50.0)
    (0.5, 0.5, 3.0)
    """
    absolute, share = next((least, part) for name, least, part in TOLERANCES if is_named(metric, name))
    return max(absolute, share * abs(published))


def half_digit(printed: str) -> float:
    """Return half a unit of the last digit printed.

    >>> half_digit("24.7"), half_digit("8.48k"), half_digit("762"), half_digit("9,706")
    (0.05, 5.0, 0.5, 0.5)
    """
    text = printed.rstrip("?").replace(",", "")
    scale = {"k": 3, "m": 6}.get(text[-1:].lower(), 0)
    return float(f"5e{scale - len(text.rstrip('kKmM').partition('.')[2]) - 1}")
