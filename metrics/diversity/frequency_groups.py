"""Frequency groups: how many generated tokens are frequent, medium, rare and very rare in the training text.

F2-Softmax section 4.3 and Figure 2. Tokens in the order of their training counts make up 40 %, 30 %, 20 % and 10 % of
the training text. The paper does not say where a token on a border belongs; in its code (the first commit of a later
repository: tasks/papers/f2softmax.toml) it is the rarer group, so that the first three hold at most their share
together.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bench.metrics.diversity.ngrams import Integers
from bench.metrics.score import Counts, Family, Gold, Row, Score, explained, field_of_all, score_of_sums
from bench.metrics.sums import ratio

GROUPS = ("frequent", "medium", "rare", "very_rare")
TENTHS = (4, 7, 9)
"""Tenths of the training text where the first three groups end at the latest."""


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


def _count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
    groups = field_of_all(rows, "groups")
    return [{} for _ in rows] if groups is None else [{"groups": list(of_text)} for of_text in groups]


def _scores(counts: Sequence[Counts]) -> list[Score]:
    # Batches of a torchmetrics class may differ, where `_count` sees only one of them.
    groups = field_of_all([{"id": place, **row} for place, row in enumerate(counts)], "groups")
    columns = []
    for place, group in enumerate(GROUPS):
        name = f"frequency/{group}"
        signature = f"frequency-group|group:{group}|mass:40/30/20/10|border:rarer|scale:percent|version:1"
        if groups is None:
            score = Score(name, None, "percent", None, len(counts), signature)
            columns.append(explained(score, "rows without counts of frequency groups"))
        else:
            shares = [(of_text[place], sum(of_text)) for of_text in groups]
            columns.append(score_of_sums(name, ratio(), shares, signature, why="no generated token"))
    return columns


frequency_group_scores = Family(_count, _scores)
"""The share of generated tokens in each group, of rows `{"id", "groups"}`: how many tokens are of each group, `[4]`.

Without `groups` the values are None; `groups` in some rows only are refused.
"""
