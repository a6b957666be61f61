"""Cache hit rate: how often the memory entry that is most similar to a position's state holds the next token.

The rate is over the target tokens that some readable memory entry holds; the others no cache can predict, and
`cache-coverage` is the share of tokens that the memory holds. HistAlign (section 3.2) trains such entries to be ranked
first; methods without a cache have the numbers too.
"""

from collections.abc import Sequence

from bench.metrics.score import Counts, Family, Gold, Row, Score, score_of_sums
from bench.metrics.sums import ratio


def _signature(name: str) -> str:
    return f"{name}|most similar:dot product|ties:last|of:target tokens, pooled|scale:percent|version:1"


def _count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
    without = [row["id"] for row in rows if "n_cached" not in row or "n_cache_hits" not in row]
    if without:
        raise ValueError(
            f"expected n_cached and n_cache_hits in every row, {len(without)} rows have none; evaluate again"
        )
    wrong = [row["id"] for row in rows if not 0 <= row["n_cache_hits"] <= row["n_cached"] <= row["n_tokens"]]
    if wrong:
        raise ValueError(f"expected 0 <= n_cache_hits <= n_cached <= n_tokens, {len(wrong)} rows differ: {wrong[:3]}")
    return [{"hits": row["n_cache_hits"], "cached": row["n_cached"], "tokens": row["n_tokens"]} for row in rows]


def _scores(counts: Sequence[Counts]) -> list[Score]:
    hits = [(row["hits"], row["cached"]) for row in counts]
    cached = [(row["cached"], row["tokens"]) for row in counts]
    none_cached, no_tokens = "no target token stands in the memory", "no target tokens"
    return [
        score_of_sums("cache-hit@1", ratio(), hits, _signature("cache-hit@1"), why=none_cached),
        score_of_sums("cache-coverage", ratio(), cached, _signature("cache-coverage"), why=no_tokens),
    ]


cache_hit_scores = Family(_count, _scores)
"""Rows are `{"id", "n_tokens", "n_cached", "n_cache_hits"}`."""
