"""Exact match of a final answer, as for arithmetic in words: GSM8K (Cobbe et al. 2021) ends a text with `#### 42`."""

from __future__ import annotations

from collections.abc import Sequence

from bench.metrics.score import Counts, Family, Gold, Row, Score, score_of_sums, texts_and_references
from bench.metrics.sums import mean

__all__ = ["exact_match_scores", "final_answer"]

MARK = "####"


def final_answer(text: str) -> str:
    """Return what a text ends with: what follows its last `####`, else its last line.

    Case, white space at the ends, a last full stop, and commas and signs of currency within a number do not count.

    >>> final_answer("16 - 3 is 13. #### $1,013."), final_answer("Let me see.\\nIt is Paris")
    ('1013', 'it is paris')
    """
    marked = text.rpartition(MARK)[2] if MARK in text else (text.strip().splitlines() or [""])[-1]
    answer = marked.strip().removesuffix(".").strip().lower()
    number = answer.replace(",", "").lstrip("$€£").strip()
    return number if number.lstrip("+-").replace(".", "", 1).isdigit() else answer


def _count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
    texts, references = texts_and_references(rows, gold)
    return [
        {"right": int(final_answer(text) in map(final_answer, of_row))}
        for text, of_row in zip(texts, references, strict=True)
    ]


def _scores(counts: Sequence[Counts]) -> list[Score]:
    signature = "exact-match|after:####|else:last-line|lc|version:1"
    sums = [(row["right"], 1) for row in counts]
    return [score_of_sums("exact-match", mean(), sums, signature, higher_is_better=True)]


exact_match_scores = Family(_count, _scores)
"""Share of rows `{"id", "text"}` whose final answer is that of one of the `references` of their gold, in percent."""
