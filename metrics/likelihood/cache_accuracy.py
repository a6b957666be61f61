"""Acc@k on Ambiguous Template: are both possible next words among the k best predictions? (HistAlign, section 5.3.)

A prompt names two words and may continue with either, so it counts as right only when both are among the k best next
tokens. Three rankings of each probe row are scored: `head` (the softmax alone), `cache` (similarities to the history
alone) and `full`, by which the model predicts: softmax and cache combined (equation 3) if it was trained with a cache,
else the softmax. Acc@1 is 0 unless one token begins both words; the paper's table starts at k = 2.

A word is found through the first token of its spelling with or without a leading space, as in the authors' evaluation;
a first token that both words share therefore finds both.
"""

from collections.abc import Sequence

from bench.metrics.score import Counts, Family, Gold, Row, Score, score_of_sums
from bench.metrics.sums import mean

KS = (1, 2, 5, 10, 25)
MODES = ("head", "full", "cache")


def signature(mode: str, k: int) -> str:
    """Name everything the score depends on.

    >>> signature("cache", 2)
    'acc@k|k:2|mode:cache|words:both|match:first_token|per:prompt|scale:percent|version:1'
    """
    return f"acc@k|k:{k}|mode:{mode}|words:both|match:first_token|per:prompt|scale:percent|version:1"


def are_found(row: Row, mode: str, k: int) -> bool:
    """Return whether both words of a probe row are among its `k` best tokens.

    Args:
        row: `{"id", "head", "full", "cache", "wanted"}`: each ranking lists distinct token ids, best first, and
            `wanted` holds for each of the two words the ids it may begin with.
        mode: ranking to read, one of `MODES`.
        k: number of predictions, one of `KS`.

    Raises:
        ValueError: a word without ids, or a `head` or `full` ranking shorter than k. A `cache` ranking may be shorter:
            it ends where the history has no further distinct token.

    >>> row = {"id": "a", "head": [7, 8, 3], "full": [3, 9, 7], "cache": [3, 4], "wanted": [[3, 30], [4, 40]]}
    >>> are_found(row, "cache", 2), are_found(row, "cache", 1), are_found(row, "full", 2)
    (True, False, False)
    """
    ranking: Sequence[int] = row[mode]
    if mode != "cache" and len(ranking) < k:
        stored = f"prompt {row['id']!r} stores {len(ranking)} {mode} tokens"
        raise ValueError(f"{stored}, Acc@{k} needs {k}; store more or lower k")
    words: Sequence[Sequence[int]] = row["wanted"]
    if len(words) != 2 or not all(words):
        raise ValueError(f"expected two words with a token id each for prompt {row['id']!r}, got {words!r}")
    best = set(ranking[:k])
    return all(not best.isdisjoint(word) for word in words)


COLUMNS = {f"acc@{k}/{mode}": (mode, k) for mode in MODES for k in KS}


def _count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
    return [{name: int(are_found(row, *column)) for name, column in COLUMNS.items()} for row in rows]


def _scores(counts: Sequence[Counts]) -> list[Score]:
    scores = []
    for name, column in COLUMNS.items():
        hits = [(row[name], 1) for row in counts]
        scores.append(score_of_sums(name, mean(), hits, signature(*column), higher_is_better=True))
    return scores


cache_accuracy_scores = Family(_count, _scores)
"""Acc@k of three rankings: the share of prompts whose two words are both found."""
