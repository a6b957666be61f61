"""Copying: how much of a text stands word for word in its source (See et al. 2017, section 6, and Narayan et al. 2018).

An n-gram of the text is copied when the same n words stand side by side in the source. Every occurrence in the text
counts, and n-grams of all texts are pooled, so that sums of batches add up exactly. Novelty is the rest: 100 % less the
copy rate. The longest copied span is the longest run of words that stands in the source, mean over texts with a word.

Words are lower-cased runs of letters and digits in any script (`unicode` of `bench.metrics.overlap.rouge_tokens`):
marks and letter case do not keep a copy from being one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from bench.metrics.diversity.ngrams import Integers
from bench.metrics.overlap.rouge_tokens import WordTokenizer, name_of

__all__ = ["MAX_N", "copied", "copy_rates", "longest_copied", "matches", "signature", "values_of", "words_of"]

MAX_N = 4
NOT_IN_SOURCE = 0
Item = TypeVar("Item", int, str)


def copy_rates(texts: Sequence[Sequence[Item]], sources: Sequence[Sequence[Item]]) -> list[float | None]:
    """Return the percentage of n-grams of the texts that stand in their sources, for n = 1 to 4.

    None for an order of which no text has an n-gram.

    Args:
        texts: words, or token ids.
        sources: as many, in the same tokens.

    Raises:
        ValueError: unlike numbers of texts and sources.

    >>> text, source = "a dog ran to the park".split(), "the dog ran to town".split()
    >>> [round(rate, 1) for rate in copy_rates([text], [source])]  # dog ran to the; dog ran, ran to; dog ran to; none
    [66.7, 40.0, 25.0, 0.0]
    """
    return values_of(copied(texts, sources))[:MAX_N]


def longest_copied(texts: Sequence[Sequence[Item]], sources: Sequence[Sequence[Item]]) -> float | None:
    """Return the mean length of the longest copied span, in words; texts without a word are left out.

    >>> longest_copied([["dog", "ran", "to", "me"], ["cat"], []], [["the", "dog", "ran", "to"], ["dog"], ["dog"]])
    1.5
    """
    return values_of(copied(texts, sources))[MAX_N]


def values_of(counts: Integers) -> list[float | None]:
    """Return the four copy rates and the mean longest copied span from what `copied` returns."""
    scales = (*[100.0] * MAX_N, 1.0)
    return [
        scale * part / total if total else None for scale, (part, total) in zip(scales, counts.T.tolist(), strict=True)
    ]


def copied(texts: Sequence[Sequence[Item]], sources: Sequence[Sequence[Item]]) -> Integers:
    """Return what all values come from, `[2, 5]`; those of parts add up to those of the whole.

    Columns 0 to 3: copied n-grams over n-grams for n = 1 to 4. Column 4: longest copied spans over texts with a word.
    """
    if len(texts) != len(sources):
        raise ValueError(f"expected one source for each text, got {len(texts)} texts and {len(sources)} sources")
    found = np.zeros((2, MAX_N + 1), dtype=np.int64)
    for text, source in zip(texts, sources, strict=True):
        runs = matches(text, source)
        for n in range(1, MAX_N + 1):
            found[:, n - 1] += sum(run >= n for run in runs), max(len(text) - n + 1, 0)
        found[:, MAX_N] += max(runs, default=0), len(text) > 0
    return found


def matches(text: Sequence[Item], source: Sequence[Item]) -> list[int]:
    """Return for each word of a text how many words that end with it stand side by side in the source.

    Each word becomes one character, so that Python's own search of a string finds a run of words. A run is at most one
    longer than that of the word before, so there are at most two searches a word.

    >>> matches("a dog ran to the park".split(), "the dog ran to town".split())
    [0, 1, 2, 3, 1, 0]
    """
    letters: dict[Item, str] = {}
    held = "".join(letters.setdefault(word, chr(len(letters) + 1)) for word in source)
    coded = "".join(letters.get(word, chr(NOT_IN_SOURCE)) for word in text)
    runs, run = [], 0
    for stop in range(1, len(coded) + 1):
        run += 1
        while coded[stop - run : stop] not in held:  # the empty run is always there
            run -= 1
        runs.append(run)
    return runs


def words_of(texts: Sequence[str]) -> list[list[str]]:
    """Return the words of texts, as copying is counted in.

    >>> words_of(["It's LATE."])
    [['it', 's', 'late']]
    """
    tokenizer = WordTokenizer("unicode")
    return [tokenizer.tokenize(text) for text in texts]


def signature(name: str) -> str:
    """Name everything a column depends on, for the store and the leaderboard.

    >>> signature("copy-2")
    'copy-2|of:occurrences, pooled over texts|scale:percent|version:1|tok:unicode|stem:none'
    """
    how = (
        "mean over:texts with a word|scale:words"
        if name == "longest-copy"
        else "of:occurrences, pooled over texts|scale:percent"
    )
    return f"{name}|{how}|version:1|{name_of('unicode')}"
