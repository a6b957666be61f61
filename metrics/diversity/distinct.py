"""Distinct-n and seq-rep-n: how many of a text's n-grams are new within it (Li et al. 2016; Welleck et al. 2020).

Definitions of Distinct-n, all in percent:

`f2_code`: different n-grams over the number of TOKENS of a text, mean over texts of more than 5 tokens, as in
F2-Softmax's code (the first commit of a later repository: tasks/papers/f2softmax.toml); at most (L-n+1)/L. `per_text`:
over the number of n-grams of a text, mean over texts that have one; 1 - seq-rep-n. `original`: different n-grams of all
texts together over all their tokens, so that it falls with the number of texts.

seq-rep-n is the share of a text's n-grams that are not new in it, mean over texts that have an n-gram. F2-Softmax's
code divides by zero where no text is long enough; the value is None here.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bench.metrics.diversity.ngrams import Integers, NgramCounts, n_grams
from bench.metrics.diversity.token_names import TOO_SHORT, column_name
from bench.metrics.score import Score, explained, score_of_sums
from bench.metrics.sums import mean

Definition = Literal["f2_code", "per_text", "original"]
DEFINITIONS: tuple[Definition, ...] = ("f2_code", "per_text", "original")
MAX_N = 3
MAX_SHORT = 5
"""Tokens of the longest text that F2-Softmax's code leaves out."""
OVER = {
    "f2_code": f"tokens of the text|texts:over {MAX_SHORT} tokens",
    "per_text": "n-grams of the text|texts:with an n-gram",
    "original": "tokens of all texts|texts:pooled",
}


def distinct_columns(counts: Sequence[NgramCounts], lengths: Integers, tokens: str) -> list[Score]:
    """Return the columns of Distinct-1 to -3 by every definition.

    Args:
        counts: of orders 1, 2, ... in turn, at least 3, from a pass that other metrics may share.
        lengths: `[texts]` tokens of each text.
        tokens: part of the signature that names the tokens.
    """
    return [
        distinct_column(of_order, lengths, n, definition, tokens)
        for definition in DEFINITIONS
        for n, of_order in enumerate(counts[:MAX_N], start=1)
    ]


def distinct_column(counts: NgramCounts, lengths: Integers, n: int, definition: Definition, tokens: str) -> Score:
    """Return one column of Distinct-n, None when no text is long enough; arguments as for `distinct_columns`.

    >>> from bench.metrics.diversity.ngrams import count_ngrams, lengths_of
    >>> lengths, counts = lengths_of(texts := [[1, 2, 1, 2, 1, 2], [1, 1]]), count_ngrams(texts, 1)[0]
    >>> [round(distinct_column(counts, lengths, 1, name, "").value, 3) for name in DEFINITIONS]  # 2/6; 2/6, 1/2; 2/8
    [33.333, 41.667, 25.0]
    """
    name = column_name(f"distinct-{n}", definition, DEFINITIONS[0])
    signature = f"distinct|n:{n}|definition:{definition}|over:{OVER[definition]}|scale:percent|version:1|{tokens}"
    scored = _is_scored(lengths, n, definition)
    if definition == "original":
        value = 100.0 * counts.kinds / int(lengths.sum()) if counts.kinds else None
        return explained(Score(name, value, "percent", True, int(scored.sum()), signature), TOO_SHORT)
    below = lengths if definition == "f2_code" else n_grams(lengths, n)
    sums = _sums(counts.kinds_by_text() / np.maximum(below, 1), scored)
    score = score_of_sums(name, mean(), sums, signature, higher_is_better=True, why=TOO_SHORT)
    return replace(score, n=int(scored.sum()))


def seq_rep_column(counts: NgramCounts, lengths: Integers, n: int, tokens: str) -> Score:
    """Return the column of seq-rep-n, None when no text has an n-gram; arguments as for `distinct_columns`.

    >>> from bench.metrics.diversity.ngrams import count_ngrams, lengths_of
    >>> texts = [[1, 2, 1, 2, 1], [1, 2, 3], [1]]
    >>> seq_rep_column(count_ngrams(texts, 2)[1], lengths_of(texts), 2, "").value  # half of 12 21 12 21 is not new
    0.25
    """
    signature = f"seq-rep|n:{n}|over:n-grams of the text|texts:with an n-gram|scale:fraction|version:1|{tokens}"
    scored = _is_scored(lengths, n, "per_text")
    sums = _sums(1.0 - counts.kinds_by_text() / np.maximum(n_grams(lengths, n), 1), scored)
    name = f"seq-rep-{n}"
    score = score_of_sums(name, mean(1), sums, signature, unit="fraction", higher_is_better=False, why=TOO_SHORT)
    return replace(score, n=int(scored.sum()))


def _is_scored(lengths: Integers, n: int, definition: Definition) -> NDArray[np.bool_]:
    """Return which texts are long enough to be counted, `[texts]`."""
    return lengths >= {"f2_code": max(n, MAX_SHORT + 1), "per_text": n, "original": 1}[definition]


def _sums(values: NDArray[np.float64], scored: NDArray[np.bool_]) -> list[list[float]]:
    """Return the sums of a mean, `[texts, 2]`: value and 1 of a text that counts, 0 and 0 of any other."""
    rows: list[list[float]] = np.stack([np.where(scored, values, 0.0), scored], axis=1).tolist()
    return rows
