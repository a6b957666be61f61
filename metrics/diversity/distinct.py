"""Distinct-n and seq-rep-n: how many of a text's n-grams are new within it (Li et al. 2016; Welleck et al. 2020).

Definitions of Distinct-n, all in percent:

`f2_code`: different n-grams over the number of TOKENS of a text, mean over texts of more than 5 tokens, as in the
F2-Softmax authors' code; at most (L-n+1)/L. `per_text`: over the number of n-grams of a text, mean over texts that have
one; 1 - seq-rep-n. `original`: different n-grams of all texts together over all their tokens, so that it falls with the
number of texts.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bench.metrics.diversity.ngrams import Integers, NgramCounts, Texts, count_ngrams, lengths_of, n_grams

__all__ = [
    "DEFINITIONS",
    "Definition",
    "distinct",
    "distinct_from_counts",
    "n_scored",
    "seq_rep",
    "seq_rep_from_counts",
    "seq_rep_signature",
    "shares",
    "signature",
]

Definition = Literal["f2_code", "per_text", "original"]
DEFINITIONS: tuple[Definition, ...] = ("f2_code", "per_text", "original")
SHORT = 5
"""Tokens of the longest text that the F2-Softmax authors' code leaves out."""


def distinct(texts: Texts, n: int, definition: Definition = "f2_code") -> float | None:
    """Return Distinct-n in percent; higher means more diverse.

    None when no text has an n-gram, or none is long enough for the definition (the authors' code divides by zero).

    Args:
        texts: token ids.
        n: order.
        definition: what is divided by what.

    >>> texts = [[1, 2, 1, 2, 1, 2], [1, 1]]
    >>> [round(distinct(texts, 1, name), 6) for name in DEFINITIONS]  # 2/6; mean of 2/6 and 1/2; 2/8
    [33.333333, 41.666667, 25.0]
    """
    return distinct_from_counts(count_ngrams(texts, n)[-1], lengths_of(texts), n, definition)


def distinct_from_counts(
    counts: NgramCounts, lengths: Integers, n: int, definition: Definition = "f2_code"
) -> float | None:
    """Return Distinct-n from the counts of order n of a pass that other metrics share; `lengths` is `[texts]`."""
    _check(definition)
    if definition == "original":
        return 100.0 * counts.kinds / int(lengths.sum()) if counts.kinds else None
    found = shares(counts, lengths, n, definition)
    return 100.0 * math.fsum(found.tolist()) / len(found) if len(found) else None


def shares(counts: NgramCounts, lengths: Integers, n: int, definition: Definition) -> NDArray[np.float64]:
    """Return the share of new n-grams of each text that the definition `f2_code` or `per_text` looks at, `[texts]`."""
    kept = _kept(lengths, n, definition)
    below = lengths if definition == "f2_code" else n_grams(lengths, n)
    return counts.kinds_by_text()[kept] / below[kept]


def n_scored(lengths: Integers, n: int, definition: Definition) -> int:
    """Return how many texts are long enough to be looked at."""
    return int(_kept(lengths, n, definition).sum())


def signature(n: int, definition: Definition) -> str:
    """Name everything the score depends on but the tokenizer, for the store and the leaderboard.

    >>> signature(1, "f2_code")
    'distinct|n:1|definition:f2_code|over:tokens of the text|texts:over 5 tokens|scale:percent|version:1'
    """
    _check(definition)
    over = {
        "f2_code": f"tokens of the text|texts:over {SHORT} tokens",
        "per_text": "n-grams of the text|texts:with an n-gram",
        "original": "tokens of all texts|texts:pooled",
    }
    return f"distinct|n:{n}|definition:{definition}|over:{over[definition]}|scale:percent|version:1"


def seq_rep(texts: Texts, n: int = 4) -> float | None:
    """Return seq-rep-n, the share of a text's n-grams that are not new in it, mean over texts; lower is better.

    A text without an n-gram is left out (the authors' code divides by zero); None when all are.

    >>> seq_rep([[1, 2, 1, 2, 1], [1, 2, 3], [1]], 2)  # half of 12 21 12 21 is not new; nothing of 12 23
    0.25
    """
    return seq_rep_from_counts(count_ngrams(texts, n)[-1], lengths_of(texts), n)


def seq_rep_from_counts(counts: NgramCounts, lengths: Integers, n: int = 4) -> float | None:
    """Return seq-rep-n from the counts of order n of a pass that other metrics share; `lengths` is `[texts]`."""
    new = shares(counts, lengths, n, "per_text")
    return math.fsum((1.0 - new).tolist()) / len(new) if len(new) else None


def seq_rep_signature(n: int) -> str:
    """Name everything seq-rep-n depends on but the tokenizer.

    >>> seq_rep_signature(4)
    'seq-rep|n:4|over:n-grams of the text|texts:with an n-gram|scale:fraction|version:1'
    """
    return f"seq-rep|n:{n}|over:n-grams of the text|texts:with an n-gram|scale:fraction|version:1"


def _kept(lengths: Integers, n: int, definition: Definition) -> NDArray[np.bool_]:
    least = {"f2_code": max(n, SHORT + 1), "per_text": n, "original": 1}
    return lengths >= least[definition]


def _check(definition: str) -> None:
    if definition not in DEFINITIONS:
        raise ValueError(f"definition {definition!r} is unknown; there are: {', '.join(DEFINITIONS)}")
