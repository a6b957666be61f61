"""Cache hit rate: how often the memory entry that is most like a position's state holds the token that follows.

Over the target tokens that stand in the readable memory at all (`coverage` says how many do): the others no cache can
name. A probe of alignment (HistAlign section 3.2 wants such entries ranked first), for methods without a cache too.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.metrics.score import Gold, Row, Score, by_id, check_ids
from bench.metrics.sums import Sums, ratio

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
    return 100 * sum(hits) / sum(cached) if any(cached) else None


def signature(name: str) -> str:
    """Name everything the score depends on."""
    return f"{name}|most similar:dot product|ties:last|of:target tokens, pooled|scale:percent|version:1"


def cache_hit_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Score likelihood rows by what their memory holds and ranks first.

    Args:
        rows: `{"id", "n_tokens", "n_cached", "n_cache_hits"}`.
        gold: for its ids only.

    Raises:
        ValueError: other ids than the gold's, or rows without these counts.
    """
    check_ids(rows, gold)
    rows = by_id(rows)
    without = [row["id"] for row in rows if "n_cached" not in row or "n_cache_hits" not in row]
    if without:
        raise ValueError(f"expected n_cached and n_cache_hits in every row, {len(without)} lack them; evaluate again")
    cached, tokens = [row["n_cached"] for row in rows], sum(row["n_tokens"] for row in rows)
    rate, why = hit_rate([row["n_cache_hits"] for row in rows], cached), ""
    if rate is None:
        why = "|not applicable: no target token stands in the memory"
    coverage = 100 * sum(cached) / tokens if tokens else None
    about = "" if tokens else "|not applicable: no target tokens"
    of_rate = [(row["n_cache_hits"], row["n_cached"]) for row in rows]
    of_coverage = [(row["n_cached"], row["n_tokens"]) for row in rows]
    return [
        Score("cache-hit@1", rate, "percent", None, len(rows), signature("cache-hit@1") + why,
              None if rate is None else Sums(ratio(), of_rate)),
        Score("cache-coverage", coverage, "percent", None, len(rows), signature("cache-coverage") + about,
              None if coverage is None else Sums(ratio(), of_coverage)),
    ]  # fmt: skip
