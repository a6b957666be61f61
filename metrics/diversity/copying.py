"""Copying: how much of a text occurs word for word in its source (See et al. 2017, section 6; Narayan et al. 2018).

An n-gram of the text is copied when the same n words occur side by side in the source. Every occurrence in the text
counts, and n-grams of all texts are pooled, so that sums of batches add up exactly. Novelty is the rest: 100 % less the
copy rate. The longest copied span is the longest run of words that occurs in the source, mean over texts with a word.

Words are lower-cased runs of letters and digits in any script, so that punctuation and letter case do not hide a copy.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from bench.metrics.diversity.ngrams import Integers
from bench.metrics.score import NO_SOURCE, Counts, Family, Gold, Row, Score, explained, score_of_sums, sources_of
from bench.metrics.sums import ratio

MAX_N = 4
ORDERS = range(1, MAX_N + 1)
WORD = re.compile(r"\w+")
LONGEST = "longest-copy"
NOT_IN_SOURCE = 0
Item = TypeVar("Item", int, str)


def matches(text: Sequence[Item], source: Sequence[Item]) -> list[int]:
    """Return for each word of a text how many words that end with it occur side by side in the source.

    Each word becomes one character, so that Python's own search of a string finds a run of words. A run is at most one
    longer than that of the word before, so there are at most two searches a word.

    >>> matches("a dog ran to the park".split(), "the dog ran to town".split())
    [0, 1, 2, 3, 1, 0]
    """
    letters: dict[Item, str] = {}
    coded_source = "".join(letters.setdefault(word, chr(len(letters) + 1)) for word in source)
    coded_text = "".join(letters.get(word, chr(NOT_IN_SOURCE)) for word in text)
    runs, run = [], 0
    for stop in range(1, len(coded_text) + 1):
        run += 1
        while coded_text[stop - run : stop] not in coded_source:  # the empty run is always found
            run -= 1
        runs.append(run)
    return runs


def copied(texts: Sequence[Sequence[Item]], sources: Sequence[Sequence[Item]]) -> Integers:
    """Return the counts of each text, `[texts, 2, 5]`, which are summed over texts.

    Columns 0 to 3: copied n-grams, and n-grams, for n = 1 to 4. Column 4: words of the longest copied span, and 1 for a
    text with a word.

    >>> text, source = "a dog ran to the park".split(), "the dog ran to town".split()
    >>> copied([text], [source])[0].tolist()  # dog, ran, to, the; dog ran, ran to; dog ran to; none
    [[4, 2, 1, 0, 3], [6, 5, 4, 3, 1]]
    """
    counts = np.zeros((len(texts), 2, MAX_N + 1), dtype=np.int64)
    for of_text, text, source in zip(counts, texts, sources, strict=True):
        runs = matches(text, source)
        for n in ORDERS:
            of_text[:, n - 1] = sum(run >= n for run in runs), max(len(text) - n + 1, 0)
        of_text[:, MAX_N] = max(runs, default=0), len(text) > 0
    return counts


def words_of(texts: Sequence[str]) -> list[list[str]]:
    """Return the words of texts, in composed form (NFC).

    >>> words_of(["It's LATE."])
    [['it', 's', 'late']]
    """
    return [WORD.findall(unicodedata.normalize("NFC", text.lower())) for text in texts]


def _count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
    """Count what each text copies; a row without a source has no counts."""
    sources_of(rows, gold)  # refuses rows of which some have a source and others have none
    sources = [row.get("prompt", gold[row["id"]].get("source")) for row in rows]
    texts, source_words = words_of([row["text"] for row in rows]), words_of([source or "" for source in sources])
    counts: list[Counts] = []
    for source, (copies, ngrams) in zip(sources, copied(texts, source_words).tolist(), strict=True):
        if source is None:
            counts.append({})
        else:
            counts.append({"copied": copies, "ngrams": ngrams, "source_is_empty": not source})
    return counts


def _scores(counts: Sequence[Counts]) -> list[Score]:
    if all(row.get("source_is_empty", True) for row in counts):
        return _without_source(len(counts))
    if without := sum(not row for row in counts):
        raise ValueError(f"expected a source in all {len(counts)} rows or in none; {without} rows have none")
    copies, novelties = [], []
    for n in ORDERS:
        pairs = [(row["copied"][n - 1], row["ngrams"][n - 1]) for row in counts]
        copy = _column(f"copy-{n}", pairs)
        novelty = _column(f"novel-{n}", [(ngrams - in_source, ngrams) for in_source, ngrams in pairs])
        if copy.value is not None:
            novelty = replace(novelty, value=100.0 - copy.value)  # which may differ from its sums in the last bit
        copies.append(copy)
        novelties.append(novelty)
    spans = [(row["copied"][MAX_N], row["ngrams"][MAX_N]) for row in counts]
    return [*copies, *novelties, _column(LONGEST, spans)]


def _without_source(n_rows: int) -> list[Score]:
    columns = []
    for name in [*(f"copy-{n}" for n in ORDERS), *(f"novel-{n}" for n in ORDERS), LONGEST]:
        unit = "words" if name == LONGEST else "percent"
        columns.append(explained(Score(name, None, unit, None, n_rows, _signature(name)), NO_SOURCE))
    return columns


def _column(name: str, pairs: Sequence[tuple[int, int]]) -> Score:
    """Return a column whose value is a ratio of sums; its n is the number of texts with a denominator above 0."""
    form, unit = (ratio(1), "words") if name == LONGEST else (ratio(100), "percent")
    score = score_of_sums(name, form, pairs, _signature(name), unit=unit, why="no text that is long enough")
    return replace(score, n=sum(denominator > 0 for _, denominator in pairs))


def _signature(name: str) -> str:
    rule = "of:occurrences, pooled over texts|scale:percent"
    if name == LONGEST:
        rule = "mean over:texts with a word|scale:words"
    return f"{name}|{rule}|version:1|tok:unicode|stem:none"


copying_scores = Family(_count, _scores)
"""Copy rates, novelty and the longest copied span; neither direction is better, human texts show what is usual.

Rows are `{"id", "text"}`, gold is `{id: {"source"}}`: the text that the row was generated from; a row may have it as
`prompt` itself. Without any source all values are None; a source in some rows only is refused.
"""
