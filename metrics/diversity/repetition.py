"""Rep: the share of texts that end in a loop (Holtzman et al. 2020, by the rule of their code; F2-Softmax's Rep).

Read from its end, a text repeats a phrase of n tokens r times. Of all n up to 100 the one with most repeats counts, the
shortest of equals. The text ends in a loop if r is 2 or more and the phrase has 3 tokens or more, or r is over 50. The
prose of that paper asks for 3 repeats of 2 tokens or more; by the code, "a b" 50 times is no loop, and "a b c a b c" is
one, as here.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.metrics.diversity.ngrams import Texts
from bench.metrics.diversity.token_rows import TOO_SHORT
from bench.metrics.score import Score, score_of_sums
from bench.metrics.sums import mean

__all__ = ["ends_in_a_loop", "repetition", "repetition_column", "signature"]

LONGEST_PHRASE = 100
SHORTEST_PHRASE = 3
MANY = 50
"""Repeats above which a phrase of one or two tokens counts too."""


def repetition(texts: Texts) -> float | None:
    """Return the percentage of texts that end in a loop; None without a text. An empty text has no loop.

    >>> repetition([[1, 2, 3, 1, 2, 3], [1, 1, 1, 1, 1, 1]])
    50.0
    """
    return repetition_column(texts, "").value


def repetition_column(texts: Texts, tokenisation: str) -> Score:
    """Return the column `rep`; `tokenisation` is what the signature says of the tokens."""
    loops = [(int(ends_in_a_loop(text)), 1) for text in texts]
    signed = f"{signature()}|{tokenisation}"
    return score_of_sums("rep", mean(), loops, signed, higher_is_better=False, why=TOO_SHORT)


def ends_in_a_loop(tokens: Sequence[int]) -> bool:
    """Say whether a text ends in a loop, in time proportional to its length."""
    matched = _matches_of_end(list(reversed(tokens)))
    loops = [(1 + run // n, -n) for n, run in enumerate(matched, start=1) if run >= n]
    repeats, minus_n = max(loops, default=(1, 0))
    return -minus_n >= SHORTEST_PHRASE or repeats > MANY


def signature() -> str:
    """Name everything the score depends on but the tokenizer, for the store and the leaderboard."""
    rule = f"loop:most repeats of n<={LONGEST_PHRASE} at the end, n>={SHORTEST_PHRASE} twice or over {MANY} times"
    return f"rep|definition:f2_code|{rule}|scale:percent|version:1"


def _matches_of_end(backward: Sequence[int]) -> list[int]:
    """Return for n = 1, 2, ... how many tokens agree with those n places further on, from the first (the Z-function).

    A window that is known to repeat the beginning answers for the places inside it, so that no token is compared twice.
    """
    length = len(backward)
    runs = [0] * min(length, LONGEST_PHRASE + 1)
    start = stop = 0
    for n in range(1, len(runs)):
        run = 0
        if n < stop:
            run = min(stop - n, runs[n - start])
        while n + run < length and backward[run] == backward[n + run]:
            run += 1
        runs[n] = run
        if n + run > stop:
            start, stop = n, n + run
    return runs[1:]
