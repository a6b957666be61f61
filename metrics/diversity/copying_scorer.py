"""Copying of stored texts from their sources: copy rate and novelty of n-grams, longest copied span."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench.metrics.diversity.copying import MAX_N, copied, signature, values_of, words_of
from bench.metrics.diversity.ngrams import Integers
from bench.metrics.score import Gold, Row, Score, by_id, check_ids, explained
from bench.metrics.sources import NO_SOURCE, sources_of
from bench.metrics.sums import Sums, ratio

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
    rows = by_id(rows)
    sources, about, n = sources_of(rows, gold), "", [len(rows)] * (MAX_N + 1)
    rates: list[float | None] = [None] * MAX_N
    counts: list[Integers] = []
    longest: float | None = None
    if sources is None:
        about = f"|{NO_SOURCE}"
    else:
        texts = words_of([row["text"] for row in rows])
        counts = [copied([text], [source]) for text, source in zip(texts, words_of(sources), strict=True)]
        *rates, longest = values_of(np.sum(counts, axis=0))
        n = [sum(len(text) >= order for text in texts) for order in (*range(1, MAX_N + 1), 1)]
    novel = [None if rate is None else 100.0 - rate for rate in rates]
    columns = [
        *((f"copy-{order}", rate, "percent", order) for order, rate in enumerate(rates, start=1)),
        *((f"novel-{order}", rate, "percent", order) for order, rate in enumerate(novel, start=1)),
        ("longest-copy", longest, "words", 0),
    ]
    found = [
        Score(name, value, unit, None, n[at - 1], signature(name) + about,
              None if value is None else _items(name, [one[:, at - 1].tolist() for one in counts]))
        for name, value, unit, at in columns
    ]  # fmt: skip
    return [explained(score, "no text that is long enough") for score in found]


def _items(name: str, counts: list[list[int]]) -> Sums:
    """Return what a column is made of, from copied n-grams and n-grams of each text."""
    if name.startswith("novel"):
        counts = [[total - part, total] for part, total in counts]
    return Sums(ratio(1 if name == "longest-copy" else 100), counts)
