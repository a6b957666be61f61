"""Acc@k on Ambiguous Template: are both words that could come next among the k best guesses?

HistAlign, section 5.3. A prompt names two words and may go on with either, so it counts as right only when both are
among the k best next tokens. Three rankings are scored, each stored in the probe row under its own name: `head` (the
softmax alone), `cache` (similarities to the history alone) and `full`, what the model predicts by: softmax and cache
combined (eq. 3) where it was trained with a cache, else the softmax.

A word is found through the first token of its spelling with or without a leading space, as in the authors' evaluation;
a first token that both words share therefore finds both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench.metrics.score import Counts, Family, Gold, Row, Score, score_of_sums
from bench.metrics.sums import Sums, mean

__all__ = ["KS", "MODES", "acc_at_k", "are_found", "cache_accuracy_scores", "signature"]

KS = (1, 2, 5, 10, 25)
MODES = ("head", "full", "cache")


def acc_at_k(rows: Iterable[Row], mode: str, k: int) -> float:
    """Return the percentage of distinct prompts whose two words are both among the `k` best tokens.

    Acc@1 is 0 unless one token begins both words; the paper's table starts at k = 2.

    Args:
        rows: Probe rows `{"id", "head", "full", "cache", "wanted"}`. `id` names the prompt, each ranking lists
            distinct token ids, best first, and `wanted` holds for each of the two words the ids it may begin with. A
            row that comes twice counts once.
        mode: Which ranking is read: `head`, `full` or `cache`.
        k: How many guesses are allowed: 1, 2, 5, 10 or 25.

    Returns:
        A percentage, 0 to 100.

    Raises:
        ValueError: No rows, an unknown mode or k, one id with two contents, a word without ids, or a `head` or
            `full` ranking shorter than k. A `cache` ranking may be shorter: it ends where the history has no
            further distinct token.

    >>> row = {"id": "a", "head": [7, 8, 3], "full": [3, 9, 7], "cache": [3, 4], "wanted": [[3, 30], [4, 40]]}
    >>> acc_at_k([row], "cache", 2), acc_at_k([row], "cache", 1), acc_at_k([row], "full", 2)
    (100.0, 0.0, 0.0)
    """
    hits = are_found(rows, mode, k)
    return Sums(mean(), [(hit, 1) for hit in hits]).value


def are_found(rows: Iterable[Row], mode: str, k: int) -> list[bool]:
    """Return for each distinct prompt whether both its words are found; arguments and errors as for `acc_at_k`."""
    _check(mode, k)
    return [_both_found(row, mode, k) for row in _distinct(rows).values()]


def signature(mode: str, k: int) -> str:
    """Name everything the score depends on, for the store and the leaderboard.

    >>> signature("cache", 2)
    'acc@k|k:2|mode:cache|words:both|match:first_token|per:prompt|scale:percent|version:1'
    """
    _check(mode, k)
    return f"acc@k|k:{k}|mode:{mode}|words:both|match:first_token|per:prompt|scale:percent|version:1"


def _check(mode: str, k: int) -> None:
    if mode not in MODES:
        raise ValueError(f"mode {mode!r} is not a ranking of a probe row; there are: {', '.join(MODES)}")
    if k not in KS:
        raise ValueError(f"k = {k} is not reported for Acc@k; use one of {', '.join(map(str, KS))}")


def _distinct(rows: Iterable[Row]) -> dict[str, Row]:
    prompts: dict[str, Row] = {}
    for row in rows:
        if prompts.setdefault(row["id"], row) != row:
            raise ValueError(f"prompt {row['id']!r} comes twice with different contents; score one cell at a time")
    if not prompts:
        raise ValueError("Acc@k of no rows is undefined; the probe wrote none")
    return prompts


def _both_found(row: Row, mode: str, k: int) -> bool:
    ranking: Sequence[int] = row[mode]
    if mode != "cache" and len(ranking) < k:
        stored = f"prompt {row['id']!r} stores {len(ranking)} {mode} tokens"
        raise ValueError(f"{stored}, Acc@{k} needs {k}; store more or lower k")
    words: Sequence[Sequence[int]] = row["wanted"]
    if len(words) != 2 or not all(words):
        raise ValueError(f"prompt {row['id']!r} must want two words with at least one token id each, it has {words!r}")
    best = set(ranking[:k])
    return all(not best.isdisjoint(word) for word in words)


def _count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
    counts: list[dict[str, int]] = [{} for _ in rows]
    for mode in MODES:
        for k in KS:
            for row, hit in zip(counts, are_found(rows, mode, k), strict=True):
                row[f"acc@{k}/{mode}"] = int(hit)
    return list(counts)


def _scores(counts: Sequence[Counts]) -> list[Score]:
    scores = []
    for mode in MODES:
        for k in KS:
            name = f"acc@{k}/{mode}"
            hits = [(row[name], 1) for row in counts]
            scores.append(score_of_sums(name, mean(), hits, signature(mode, k), higher_is_better=True))
    return scores


cache_accuracy_scores = Family(_count, _scores)
"""Acc@k of three rankings; a prompt counts once, and only when both its words are found."""
