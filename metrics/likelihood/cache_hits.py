"""Cache hit rate: how often the memory entry that is most like a position's state holds the token that follows.

Over the target tokens that stand in the readable memory at all (`coverage` says how many do): the others no cache can
name. A probe of alignment (HistAlign section 3.2 wants such entries ranked first), for methods without a cache too.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.metrics.score import Counts, Family, Gold, Row, Score, score_of_sums
from bench.metrics.sums import ratio, value_of

__all__ = ["cache_hit_scores", "hit_rate", "signature"]


def hit_rate(hits: Sequence[int], cached: Sequence[int]) -> float | None:
    """Return hits in percent of the tokens that the memory has; None without such a token.

    Args:
        hits: per text, tokens that the most similar entry holds.
        cached: per text, tokens that some readable entry holds.

    Raises:
        ValueError: unequal lengths, or more hits than tokens that could be.

    >>> hit_rate([1, 0], [3, 1])
    25.0
    """
    if len(hits) != len(cached) or any(not 0 <= hit <= n for hit, n in zip(hits, cached, strict=False)):
        raise ValueError(f"expected per text 0 <= hits <= cached, got {len(hits)} and {len(cached)} counts")
    return value_of([sum(hits), sum(cached)], ratio())


def signature(name: str) -> str:
    """Name everything the score depends on."""
    return f"{name}|most similar:dot product|ties:last|of:target tokens, pooled|scale:percent|version:1"


def _count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
    without = [row["id"] for row in rows if "n_cached" not in row or "n_cache_hits" not in row]
    if without:
        raise ValueError(f"expected n_cached and n_cache_hits in every row, {len(without)} lack them; evaluate again")
    wrong = [row["id"] for row in rows if not 0 <= row["n_cache_hits"] <= row["n_cached"] <= row["n_tokens"]]
    if wrong:
        raise ValueError(f"expected 0 <= n_cache_hits <= n_cached <= n_tokens, {len(wrong)} rows differ: {wrong[:3]}")
    return [{"hits": row["n_cache_hits"], "cached": row["n_cached"], "tokens": row["n_tokens"]} for row in rows]


def _scores(counts: Sequence[Counts]) -> list[Score]:
    hits = [(row["hits"], row["cached"]) for row in counts]
    cached = [(row["cached"], row["tokens"]) for row in counts]
    none_cached, no_tokens = "no target token stands in the memory", "no target tokens"
    return [
        score_of_sums("cache-hit@1", ratio(), hits, signature("cache-hit@1"), why=none_cached),
        score_of_sums("cache-coverage", ratio(), cached, signature("cache-coverage"), why=no_tokens),
    ]


cache_hit_scores = Family(_count, _scores)
"""The share of cached target tokens that the most similar entry holds, and of target tokens that are cached."""
