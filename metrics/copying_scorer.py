"""Copying of stored texts from their sources: copy rate and novelty of n-grams, longest copied span."""

from __future__ import annotations

from collections.abc import Sequence

from bench.metrics.copying import MAX_N, copy_rates, longest_copied, signature, words_of
from bench.metrics.score import Gold, Row, Score, check_ids
from bench.metrics.sources import NO_SOURCE, sources_of

__all__ = ["copying_scores"]


def copying_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Score texts by what they copy; neither direction is better, the human row says what is usual.

    Args:
        rows: `{"id", "text"}`.
        gold: `{id: {"source"}}`: the text that the row was made from; a row with a `prompt` names it itself. Without
            any, all values are None.

    Raises:
        ValueError: other ids than the gold's, or a source in some rows only.
    """
    check_ids(rows, gold)
    sources, about = sources_of(rows, gold), ""
    rates: list[float | None] = [None] * MAX_N
    longest: float | None = None
    if sources is None:
        about = f"|{NO_SOURCE}"
    else:
        texts, words = words_of([row["text"] for row in rows]), words_of(sources)
        rates, longest = copy_rates(texts, words), longest_copied(texts, words)
    novel = [None if rate is None else 100.0 - rate for rate in rates]
    columns = [
        *((f"copy-{n}", rate, "percent") for n, rate in enumerate(rates, start=1)),
        *((f"novel-{n}", rate, "percent") for n, rate in enumerate(novel, start=1)),
        ("longest-copy", longest, "words"),
    ]
    return [Score(name, value, unit, None, len(rows), signature(name) + about) for name, value, unit in columns]
