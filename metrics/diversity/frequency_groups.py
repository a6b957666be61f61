"""Frequency groups: how many generated tokens are frequent, medium, rare and very rare in the training text.

F2-Softmax section 4.3 and Figure 2. Tokens in the order of their training counts make up 40 %, 30 %, 20 % and 10 % of
the training text. The paper does not say where a token on a border belongs; in its code (the first commit of a later
repository: tasks/papers/f2softmax.toml) it is the rarer group, so that the first three hold at most their share
together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bench.metrics.diversity.ngrams import Integers, Texts, flatten
from bench.metrics.score import Counts, Family, Gold, Row, Score, explained, score_of_sums
from bench.metrics.sums import ratio

__all__ = ["GROUPS", "frequency_group_scores", "frequency_groups", "group_of_tokens", "signature"]

GROUPS = ("frequent", "medium", "rare", "very_rare")
TENTHS = (4, 7, 9)
"""Of the training text: where the first three groups end at the latest."""


def frequency_groups(
    texts: Texts, train_counts: Sequence[float] | Integers
) -> tuple[float, float, float, float] | None:
    """Return the percentages of generated tokens in the four groups; None without a token.

    Args:
        texts: token ids.
        train_counts: `[V]` how often each token id is in the training text.

    Raises:
        ValueError: what `group_of_tokens` says, or a token id beyond the counts.

    >>> frequency_groups([[0, 0, 1, 3]], [40, 30, 20, 10])
    (50.0, 25.0, 0.0, 25.0)
    """
    groups, (tokens, _) = group_of_tokens(train_counts), flatten(texts)
    if not len(tokens):
        return None
    if tokens.max() >= len(groups):
        raise ValueError(f"expected token ids below {len(groups)}, the number of training counts, got {tokens.max()}")
    counts = np.bincount(groups[tokens], minlength=len(GROUPS)).tolist()
    frequent, medium, rare, very_rare = (100.0 * count / len(tokens) for count in counts)
    return frequent, medium, rare, very_rare


def group_of_tokens(train_counts: Sequence[float] | Integers) -> Integers:
    """Return the group of every token id, `[V]`: 0 for frequent to 3 for very rare.

    Equal counts are ordered by id. Integer counts are compared with the borders exactly.

    Raises:
        ValueError: no counts, only zeros, or one that is negative or not finite.

    >>> group_of_tokens([1, 5, 3, 1]).tolist()  # 5 of 10 pass 40 %, 8 pass 70 %, 9 reach 90 %
    [2, 1, 2, 3]
    """
    counts: NDArray[np.float64 | np.int64] = np.asarray(train_counts)
    if counts.ndim != 1 or not np.isfinite(counts).all() or (counts < 0).any() or not counts.any():
        raise ValueError("expected training counts of 0 or more in one row, at least one above 0, and all finite")
    order = np.argsort(-counts, kind="stable")
    reached = 10 * np.cumsum(counts[order])
    groups = np.empty(len(counts), dtype=np.int64)
    groups[order] = np.sum([reached > tenths * counts.sum() for tenths in TENTHS], axis=0)
    return groups


def signature(group: str) -> str:
    """Name everything the share depends on but the tokenizer and the counts.

    >>> signature("rare")
    'frequency-group|group:rare|mass:40/30/20/10|border:rarer|scale:percent|version:1'
    """
    if group not in GROUPS:
        raise ValueError(f"group {group!r} is unknown; there are: {', '.join(GROUPS)}")
    return f"frequency-group|group:{group}|mass:40/30/20/10|border:rarer|scale:percent|version:1"


def _count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
    """Take the counts of each row; a row may have none where none has."""
    without = [row["id"] for row in rows if "groups" not in row]
    if without and len(without) < len(rows):
        raise ValueError(f"expected groups in all {len(rows)} rows or in none, {len(without)} lack them: {without[:3]}")
    if without:
        return [{} for _ in rows]
    return [{"groups": list(row["groups"])} for row in rows]


def _scores(counts: Sequence[Counts]) -> list[Score]:
    without = sum(not row for row in counts)
    if 0 < without < len(counts):
        raise ValueError(f"expected groups in all {len(counts)} rows or in none, {without} lack them")
    columns = []
    for place, group in enumerate(GROUPS):
        name = f"frequency/{group}"
        if without:
            score = Score(name, None, "percent", None, len(counts), signature(group))
            columns.append(explained(score, "rows without counts of frequency groups"))
        else:
            shares = [(row["groups"][place], sum(row["groups"])) for row in counts]
            columns.append(score_of_sums(name, ratio(), shares, signature(group), why="no generated token"))
    return columns


frequency_group_scores = Family(_count, _scores)
"""Score generated texts by the share of their tokens in each group.

Rows are `{"id", "groups"}`: how many generated tokens are of each group, `[4]`. Without them the values are None;
`groups` in some rows only is refused.
"""
