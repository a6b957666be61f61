"""LogicNLG BLEU-1/2/3, on both scales.

Two numbers go by this name. LogicNLG and PLOG print the mean of sentence BLEU; HistAlign's Table 7 is on the scale of
corpus BLEU (inferred from its values), which is 2 to 6 points higher. They share everything else: lower case,
hypotheses split at white space, references split at single spaces, all sentences of the same table as references, no
smoothing, and the weights of the official script, (1, 0, 0), (.5, .5, 0) and (.33, .33, .33); the last sum to .99.

Checked against published outputs: `GPT_gpt2_12.65` gives 48.84/27.14/12.65 by sentence and 50.64/30.85/19.49 by corpus.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import Literal

from bench.metrics.score import Counts, Family, Gold, Row, Score, score_of_sums
from bench.metrics.sums import bleu, mean, value_of

__all__ = [
    "SCALES",
    "WEIGHTS",
    "Scale",
    "bleu_counts",
    "bleu_from_counts",
    "check_pairs",
    "corpus_bleu_123",
    "sentence_bleu_123",
    "sentence_scores",
    "signature",
    "table_bleu_scores",
]

Scale = Literal["corpus", "sentence"]
SCALES: tuple[Scale, ...] = ("corpus", "sentence")
WEIGHTS = ((1.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.33, 0.33, 0.33))
FORMS = tuple(bleu(weights, "tiny") for weights in WEIGHTS)

Bleu123 = tuple[float, float, float]


def corpus_bleu_123(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Bleu123:
    """Return corpus BLEU-1, -2 and -3 in percent.

    A hypothesis without a word counts as zero words beside its shortest reference. Without one shared word all three
    are 0. With shared words but no shared pair or triple the precision of those is taken as the smallest positive
    float, which is the official script's rule too: the score is then positive and below 1e-100. Equal to nltk's in
    every bit.

    Args:
        hypotheses: one text for each sentence of the test set.
        references: for each of them, every sentence of its table.

    Raises:
        ValueError: as many references as hypotheses are needed, at least one of each, and all must be text.

    >>> [round(score, 2) for score in corpus_bleu_123(["The aldra is long"], [["the aldra is the longest river"]])]
    [45.49, 42.89, 38.39]
    """
    counts = [bleu_counts(*pair) for pair in _pairs(hypotheses, references)]
    return bleu_from_counts([sum(column) for column in zip(*counts, strict=True)])


def sentence_bleu_123(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Bleu123:
    """Return the mean of sentence BLEU-1, -2 and -3 in percent; arguments and errors as for `corpus_bleu_123`.

    The sum is exact before it is divided, so the order of the sentences does not matter.
    """
    scores = sentence_scores(hypotheses, references)
    first, second, third = (math.fsum(column) / len(scores) for column in zip(*scores, strict=True))
    return first, second, third


def sentence_scores(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[Bleu123]:
    """Return BLEU-1, -2 and -3 of every sentence in percent, for significance tests over sentences.

    >>> sentence_scores([""], [["the aldra is the longest river"]])
    [(0.0, 0.0, 0.0)]
    """
    return [bleu_from_counts(bleu_counts(*pair)) for pair in _pairs(hypotheses, references)]


def bleu_counts(hypothesis: str, references: Sequence[str]) -> tuple[int, ...]:
    """Return what corpus BLEU adds up: three numbers of matches, three totals, two lengths.

    A total is at least 1 even when the hypothesis has fewer words than the n-gram: nltk's rule, and the official one.

    >>> bleu_counts("the river", ["the long river", "a river"])
    (2, 0, 0, 2, 1, 1, 2, 2)
    """
    words = hypothesis.lower().split()
    allowed, lengths = _reference_side(tuple(references))
    grams = [_grams(words, n) for n in (1, 2, 3)]
    matches = [(of_order & most).total() for of_order, most in zip(grams, allowed, strict=True)]
    nearest = min((abs(length - len(words)), length) for length in lengths)[1]
    return (*matches, *(max(1, of_order.total()) for of_order in grams), len(words), nearest)


@lru_cache(maxsize=256)  # a table's sentences share their references and come one after the other
def _reference_side(references: tuple[str, ...]) -> tuple[list[Counter[tuple[str, ...]]], list[int]]:
    """How often each 1-, 2- and 3-gram may match, and the lengths."""
    sources = tokenise("", references)[1]
    allowed = [Counter[tuple[str, ...]]() for _ in range(3)]
    for source in sources:
        for n in (1, 2, 3):
            allowed[n - 1] |= _grams(source, n)
    return allowed, [len(source) for source in sources]


def bleu_from_counts(counts: Sequence[int]) -> Bleu123:
    """Return BLEU-1, -2 and -3 in percent from sums of `bleu_counts`; not a number when nothing was counted."""
    if not any(counts[3:6]):
        return math.nan, math.nan, math.nan
    first, second, third = (value_of(counts, form) or 0.0 for form in FORMS)
    return first, second, third


def signature(scale: Scale) -> str:
    """Name everything the score depends on, for the store and the leaderboard."""
    if scale not in SCALES:
        raise ValueError(f"scale {scale!r} is unknown; there are: {', '.join(SCALES)}")
    return f"logicnlg-bleu|scale:{scale}|weights:.33|lc|split:space|refs:table|smooth:none|nltk:{version('nltk')}"


def tokenise(hypothesis: str, references: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Lower-case and split as the official script does: it splits references at every single space."""
    return hypothesis.lower().split(), [reference.lower().split(" ") for reference in references]


def _grams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def check_pairs(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> int:
    """Return the number of sentences.

    nltk only asserts lengths, and would score a text in place of a list of texts by its letters.
    """
    if isinstance(hypotheses, str) or isinstance(references, str):
        raise ValueError("expected a list of hypotheses and a list of lists of references, got one text")
    if len(hypotheses) != len(references):
        given = f"{len(hypotheses)} hypotheses and {len(references)} lists of references"
        raise ValueError(f"expected one list of references for each hypothesis, got {given}")
    for place, (hypothesis, sources) in enumerate(zip(hypotheses, references, strict=True)):
        if not isinstance(hypothesis, str):
            raise ValueError(f"hypothesis {place}: expected a text, got {type(hypothesis).__name__}")
        if isinstance(sources, str) or not sources or not all(isinstance(source, str) for source in sources):
            raise ValueError(f"references {place}: expected one or more texts in a list, got {sources!r:.60}")
    return len(hypotheses)


def _pairs(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[tuple[str, Sequence[str]]]:
    if not check_pairs(hypotheses, references):
        raise ValueError("BLEU of no sentences is undefined; expected at least one hypothesis")
    return list(zip(hypotheses, references, strict=True))


def _count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
    pairs = _pairs([row["text"] for row in rows], [gold[row["id"]]["references"] for row in rows])
    counts = [bleu_counts(*pair) for pair in pairs]
    return [{"corpus": of_text, "sentence": bleu_from_counts(of_text)} for of_text in counts]


def _scores(counts: Sequence[Counts]) -> list[Score]:
    corpus = [row["corpus"] for row in counts]
    scores = []
    for n, form in enumerate(FORMS, start=1):
        scores.append(score_of_sums(f"bleu-{n}", form, corpus, signature("corpus"), higher_is_better=True))
    for n in (1, 2, 3):
        values = [(row["sentence"][n - 1], 1) for row in counts]
        signed = signature("sentence")
        scores.append(score_of_sums(f"sentence-bleu-{n}", mean(1), values, signed, higher_is_better=True))
    return scores


table_bleu_scores = Family(_count, _scores)
"""LogicNLG's BLEU-1/2/3 against all sentences of the table, on both published scales."""
