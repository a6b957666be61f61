"""Rep: the share of texts that end in a loop (Holtzman et al. 2020, by the rule of their code; F2-Softmax's Rep).

Read from its end, a text repeats a phrase of n tokens r times. Of all n up to 100 the one with most repeats counts, the
shortest of equals. The text ends in a loop if r is 2 or more and the phrase has 3 tokens or more, or if r is over 50.
The prose of that paper asks for 3 repeats of 2 tokens or more; by the code, "a b" 50 times is no loop, and "a b c a b
c" is one, as here.
"""

from collections.abc import Sequence

from bench.metrics.diversity.ngrams import Texts
from bench.metrics.diversity.token_names import TOO_SHORT
from bench.metrics.score import Score, score_of_sums
from bench.metrics.sums import mean

MAX_PHRASE = 100
MIN_PHRASE = 3
MANY_REPEATS = 50
"""Above this number of repeats a phrase of one or two tokens counts too."""


def repetition_column(texts: Texts, tokens: str) -> Score:
    """Return the column `rep` in percent; `tokens` is the part of the signature that names the tokens.

    >>> repetition_column([[1, 2, 3, 1, 2, 3], [1, 1, 1, 1, 1, 1]], "").value
    50.0
    """
    loops = [(int(ends_in_a_loop(text)), 1) for text in texts]
    rule = f"loop:most repeats of n<={MAX_PHRASE} at the end, n>={MIN_PHRASE} twice or over {MANY_REPEATS} times"
    signature = f"rep|definition:f2_code|{rule}|scale:percent|version:1|{tokens}"
    return score_of_sums("rep", mean(), loops, signature, higher_is_better=False, why=TOO_SHORT)


def ends_in_a_loop(tokens: Sequence[int]) -> bool:
    """Return whether a text ends in a loop, in time proportional to its length; an empty text does not."""
    matched = _matches_of_end(list(reversed(tokens)))
    loops = [(1 + run // n, -n) for n, run in enumerate(matched, start=1) if run >= n]
    repeats, minus_n = max(loops, default=(1, 0))
    return -minus_n >= MIN_PHRASE or repeats > MANY_REPEATS


def _matches_of_end(backward: Sequence[int]) -> list[int]:
    """Return for n = 1, 2, ... how many tokens agree with those n places further on, from the first (the Z-function).

    A window that is known to repeat the beginning answers for the places inside it, so that no token is compared twice.
    """
    length = len(backward)
    runs = [0] * min(length, MAX_PHRASE + 1)
    start = stop = 0
    for n in range(1, len(runs)):
        run = min(stop - n, runs[n - start]) if n < stop else 0
        while n + run < length and backward[run] == backward[n + run]:
            run += 1
        runs[n] = run
        if n + run > stop:
            start, stop = n, n + run
    return runs[1:]
