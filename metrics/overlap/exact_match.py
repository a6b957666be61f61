"""Exact match of a final answer, as for arithmetic in words: GSM8K (Cobbe et al. 2021) ends a text with `#### 42`."""

import re
from collections.abc import Sequence

from bench.metrics.score import Counts, Family, Gold, Row, Score, score_of_sums, texts_and_references
from bench.metrics.sums import mean

MARK = "####"
NUMBER = re.compile(r"([+-]?)(?:[$€£] ?)?([+-]?)((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+) ?[$€£%]?")
"""With a sign of currency or percent, and commas between thousands."""


def final_answer(text: str) -> str:
    """Return what a text answers: the line behind its last `####`, else its last line; empty for no answer.

    A mark with nothing behind it ends the answer that an earlier mark began. Case, white space at the ends and full
    stops at the end do not count; numbers are compared by their value.

    >>> final_answer("16 - 3 is 13. #### $1,013.0"), final_answer("Let me see: it is Paris.")
    ('1013', 'let me see: it is paris')
    """
    before, *marked = text.split(MARK)
    last = next((part for part in reversed(marked) if part.strip()), "" if marked else before)
    lines = [line.strip() for line in last.splitlines() if line.strip()]
    if not lines:
        return ""
    answer = (lines[0] if marked else lines[-1]).rstrip(". ").lower().replace("\N{MINUS SIGN}", "-")
    if found := NUMBER.fullmatch(answer):
        negative = "-" in found.group(1) + found.group(2)
        value = found.group(3).replace(",", "")
        whole, _, rest = value.partition(".")
        number = (whole.lstrip("0") or "0") + (f".{rest.rstrip('0')}" if rest.rstrip("0") else "")
        return "-" * (negative and number != "0") + number
    return answer


def _count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
    texts, references = texts_and_references(rows, gold)
    return [
        {"right": int(bool(final_answer(text)) and final_answer(text) in map(final_answer, of_row))}
        for text, of_row in zip(texts, references, strict=True)
    ]


def _scores(counts: Sequence[Counts]) -> list[Score]:
    signature = "exact-match|after:####|else:last-line|lc|version:2"
    sums = [(row["right"], 1) for row in counts]
    return [score_of_sums("exact-match", mean(), sums, signature, higher_is_better=True)]


exact_match_scores = Family(_count, _scores)
"""Share of rows `{"id", "text"}` whose final answer is that of one of the `references` of their gold, in percent."""
