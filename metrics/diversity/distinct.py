"""Distinct-n and seq-rep-n: how many of a text's n-grams are new within it (Li et al. 2016; Welleck et al. 2020).

Definitions of Distinct-n, all in percent:

`f2_code`: different n-grams over the number of TOKENS of a text, mean over texts of more than 5 tokens, as in
F2-Softmax's code (the first commit of a later repository: tasks/papers/f2softmax.toml); at most (L-n+1)/L. `per_text`:
over the number of n-grams of a text, mean over texts that have one; 1 - seq-rep-n. `original`: different n-grams of all
texts together over all their tokens, so that it falls with the number of texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bench.metrics.diversity.ngrams import Integers, NgramCounts, Texts, count_ngrams, lengths_of, n_grams
from bench.metrics.diversity.token_rows import TOO_SHORT, column_name, token_rows
from bench.metrics.score import Gold, Row, Score, explained, score_of_sums
from bench.metrics.sums import mean

__all__ = [
    "DEFINITIONS",
    "Definition",
    "distinct",
    "distinct_columns",
    "distinct_scores",
    "n_scored",
    "seq_rep",
    "seq_rep_column",
    "seq_rep_signature",
    "signature",
]

Definition = Literal["f2_code", "per_text", "original"]
DEFINITIONS: tuple[Definition, ...] = ("f2_code", "per_text", "original")
MAX_N = 3
SHORT = 5
"""Tokens of the longest text that F2-Softmax's code leaves out."""


def distinct(texts: Texts, n: int, definition: Definition = "f2_code") -> float | None:
    """Return Distinct-n in percent; higher means more diverse.

    None when no text has an n-gram, or none is long enough for the definition (F2-Softmax's code divides by zero).

    Args:
        texts: token ids.
        n: order.
        definition: what is divided by what.

    >>> texts = [[1, 2, 1, 2, 1, 2], [1, 1]]
    >>> [round(distinct(texts, 1, name), 6) for name in DEFINITIONS]  # 2/6; mean of 2/6 and 1/2; 2/8
    [33.333333, 41.666667, 25.0]
    """
    return _distinct_column(count_ngrams(texts, n)[-1], lengths_of(texts), n, definition, "").value


def seq_rep(texts: Texts, n: int = 4) -> float | None:
    """Return seq-rep-n, the share of a text's n-grams that are not new in it, mean over texts; lower is better.

    A text without an n-gram is left out (F2-Softmax's code divides by zero); None when all are.

    >>> seq_rep([[1, 2, 1, 2, 1], [1, 2, 3], [1]], 2)  # half of 12 21 12 21 is not new; nothing of 12 23
    0.25
    """
    return seq_rep_column(count_ngrams(texts, n), lengths_of(texts), n, "").value


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


def seq_rep_signature(n: int) -> str:
    """Name everything seq-rep-n depends on but the tokenizer.

    >>> seq_rep_signature(4)
    'seq-rep|n:4|over:n-grams of the text|texts:with an n-gram|scale:fraction|version:1'
    """
    return f"seq-rep|n:{n}|over:n-grams of the text|texts:with an n-gram|scale:fraction|version:1"


def distinct_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Score generated texts by Distinct-1 to -3 alone; arguments and errors as for `token_rows`."""
    given = token_rows(rows, gold)
    return distinct_columns(count_ngrams(given.texts, MAX_N), lengths_of(given.texts), given.tokens)


def distinct_columns(counts: Sequence[NgramCounts], lengths: Integers, tokenisation: str) -> list[Score]:
    """Return the columns of Distinct-1 to -3 by every definition.

    Args:
        counts: of orders 1, 2, ... in turn, at least 3, from a pass that other metrics may share.
        lengths: `[texts]` tokens of each text.
        tokenisation: what the signature says of the tokens.
    """
    columns = []
    for definition in DEFINITIONS:
        for n, of_order in enumerate(counts[:MAX_N], start=1):
            columns.append(_distinct_column(of_order, lengths, n, definition, tokenisation))
    return columns


def seq_rep_column(counts: Sequence[NgramCounts], lengths: Integers, n: int, tokenisation: str) -> Score:
    """Return the column of seq-rep-n; arguments as for `distinct_columns`."""
    repeated = 1.0 - _shares_of_new(counts[n - 1], lengths, n, "per_text")
    sums = _one_row_a_text(repeated, _kept(lengths, n, "per_text"))
    name, signed = f"seq-rep-{n}", f"{seq_rep_signature(n)}|{tokenisation}"
    score = score_of_sums(name, mean(1), sums, signed, unit="fraction", higher_is_better=False, why=TOO_SHORT)
    return replace(score, n=n_scored(lengths, n, "per_text"))


def _distinct_column(
    counts: NgramCounts, lengths: Integers, n: int, definition: Definition, tokenisation: str
) -> Score:
    name = column_name(f"distinct-{n}", definition, DEFINITIONS[0])
    signed, scored = f"{signature(n, definition)}|{tokenisation}", n_scored(lengths, n, definition)
    if definition != "original":
        sums = _one_row_a_text(_shares_of_new(counts, lengths, n, definition), _kept(lengths, n, definition))
        score = score_of_sums(name, mean(), sums, signed, higher_is_better=True, why=TOO_SHORT)
        return replace(score, n=scored)
    value = None
    if counts.kinds:
        value = 100.0 * counts.kinds / int(lengths.sum())
    return explained(Score(name, value, "percent", True, scored, signed), TOO_SHORT)


def _shares_of_new(counts: NgramCounts, lengths: Integers, n: int, definition: Definition) -> NDArray[np.float64]:
    """Return the different n-grams of each text over its tokens (`f2_code`) or over its n-grams, `[texts]`."""
    below = n_grams(lengths, n)
    if definition == "f2_code":
        below = lengths
    return counts.kinds_by_text() / np.maximum(below, 1)


def _one_row_a_text(values: NDArray[np.float64], kept: NDArray[np.bool_]) -> list[list[float]]:
    """Return what a mean is summed from, `[texts, 2]`: value and 1 of a text that counts, 0 and 0 of any other."""
    rows: list[list[float]] = np.stack([np.where(kept, values, 0.0), kept], axis=1).tolist()
    return rows


def _kept(lengths: Integers, n: int, definition: Definition) -> NDArray[np.bool_]:
    """Return which texts are long enough to be looked at, `[texts]`."""
    least = {"f2_code": max(n, SHORT + 1), "per_text": n, "original": 1}
    return lengths >= least[definition]


def _check(definition: str) -> None:
    if definition not in DEFINITIONS:
        raise ValueError(f"definition {definition!r} is unknown; there are: {', '.join(DEFINITIONS)}")
