"""ROUGE-1/2/3/4/L/Lsum: F1 as rouge-score has it, and recall of the first bytes as the DUC tasks have it.

The scores of a pair of texts are rouge-score's to the last bit. rouge-score-rs computes them where it is installed (the
same floats, about a hundred times faster), rouge-score where it is not.

Several references of a text (`several`):

`max`: the best score over the references, chosen by the measure itself: for F1 rouge-score's `score_multi`.
`pooled`: matches over n-grams, both summed over the references: the "model average" that ROUGE-1.5.5 takes by default
(-f A). `jackknife`: leave out each reference in turn, take the best of the others, average (Lin 2004, section 2.1;
ROUGE before version 1.4, which took it out). `average`: the mean over the references. With one reference all are alike.

ROUGE-Lsum takes every line for a sentence, so a text without a line break is one sentence; where neither hypothesis nor
reference has one, Lsum equals L. A hypothesis or a reference without a word, even both, scores 0.

Checked against the authors' logs of ROUGE-1.5.5 on XSum (11,334 texts, three systems, R-1/2/3/L; F1 and recall):
`rouge-1.5.5` is within 0.01 of every one, `stemmed` up to 0.45 below, because it does not know irregular forms.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bench.metrics.overlap.rouge_tokens import (
    Tokenizer,
    WordTokenizer,
    check_tokenizer,
    count_letters,
    count_words,
    first_bytes,
    is_applicable,
    name_of,
)
from bench.metrics.overlap.table_bleu import check_pairs
from bench.metrics.score import Counts, Family, Gold, Row, Score, score_of_sums, texts_and_references
from bench.metrics.sums import mean, value_of

__all__ = [
    "KINDS",
    "MEASURES",
    "SEVERAL",
    "Kind",
    "Measure",
    "Several",
    "check_options",
    "rouge",
    "rouge_155_scores",
    "rouge_limited_scores",
    "rouge_recall_scores",
    "rouge_scores",
    "signature",
    "text_scores",
]

Kind = Literal["rouge-1", "rouge-2", "rouge-3", "rouge-4", "rouge-l", "rouge-lsum"]
Measure = Literal["f1", "recall"]
Several = Literal["max", "pooled", "jackknife", "average"]
KINDS: tuple[Kind, ...] = ("rouge-1", "rouge-2", "rouge-3", "rouge-4", "rouge-l", "rouge-lsum")
MEASURES: tuple[Measure, ...] = ("f1", "recall")
SEVERAL: tuple[Several, ...] = ("max", "pooled", "jackknife", "average")
USUAL: tuple[Kind, ...] = ("rouge-1", "rouge-2", "rouge-l", "rouge-lsum")
THEIRS = {"rouge-l": "rougeL", "rouge-lsum": "rougeLsum"}
ORDERS = {"rouge-1": 1, "rouge-2": 2, "rouge-3": 3, "rouge-4": 4, "rouge-l": 1, "rouge-lsum": 1}
Floats = NDArray[np.float64]


def rouge(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    kinds: Sequence[Kind] = USUAL,
    measure: Measure = "f1",
    *,
    tokenizer: Tokenizer = "stemmed",
    several: Several = "max",
    max_bytes: int | None = None,
    as_long: bool = False,
) -> list[float | None]:
    """Return the mean over texts of each kind of ROUGE, in percent.

    None where the tokenizer drops more than half of the letters of the references: not applicable, and not 0. The sum
    is exact before it is divided, so the order of texts and references does not matter.

    Args:
        hypotheses: one text for each row.
        references: for each of them, one or more texts.
        kinds: some of `KINDS`.
        measure: `f1`, or `recall` for texts of limited length.
        tokenizer: one of `rouge_tokens.TOKENIZERS`; `stemmed` is rouge-score with use_stemmer=True.
        several: how the scores of several references become one.
        max_bytes: score only so many first bytes of UTF-8, of references too, as ROUGE-1.5.5 -b does: its help names
            only the hypothesis.
        as_long: score only as many first words of a hypothesis as the reference has; words are what white space parts.

    Raises:
        ValueError: as many references as hypotheses are needed, at least one of each, and all must be text.

    >>> rouge(["the river is wide"], [["a river is wide", "rivers"]], ["rouge-1", "rouge-l"])
    [75.0, 75.0]
    >>> rouge(["같은 글"], [["같은 글"]], ["rouge-1"])
    [None]
    >>> rouge(["같은 글"], [["같은 글"]], ["rouge-1"], tokenizer="unicode")
    [100.0]
    """
    scores = text_scores(
        hypotheses,
        references,
        kinds,
        measure,
        tokenizer=tokenizer,
        several=several,
        max_bytes=max_bytes,
        as_long=as_long,
    )
    if not len(scores):
        raise ValueError("ROUGE of no texts is undefined; expected at least one hypothesis")
    if not is_applicable(*count_letters(text for texts in references for text in texts), tokenizer):
        return [None] * scores.shape[1]
    return [value_of([math.fsum(column), len(scores)], mean()) for column in scores.T.tolist()]


def text_scores(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    kinds: Sequence[Kind] = USUAL,
    measure: Measure = "f1",
    *,
    tokenizer: Tokenizer = "stemmed",
    several: Several = "max",
    max_bytes: int | None = None,
    as_long: bool = False,
) -> Floats:
    """Return `[texts, kinds]` scores as fractions, for tests over texts; arguments and errors as for `rouge`."""
    check_options(kinds, measure, tokenizer, several, max_bytes)
    if not check_pairs(hypotheses, references):
        return np.zeros((0, len(kinds)))
    pairs = []
    for hypothesis, texts in zip(hypotheses, references, strict=True):
        pairs += [_as_compared(hypothesis, text, max_bytes, as_long) for text in texts]
    recalls, scores = _pair_scores(pairs, kinds, measure, tokenizer)
    if len(pairs) == len(hypotheses):
        return scores
    ends = np.cumsum([0, *map(len, references)]).tolist()
    spans = [slice(*span) for span in itertools.pairwise(ends)]
    if several == "pooled":
        sizes = _sizes(pairs, kinds, tokenizer)
        for span in spans:
            if span.stop - span.start > 1:  # of one reference the score stays, in whatever batch it is
                scores[span.start] = _pooled(recalls[span], sizes[:, span], measure)
        return scores[[span.start for span in spans]]
    return np.array([list(map(RULES[several], scores[span].T.tolist())) for span in spans])


def _as_compared(hypothesis: str, reference: str, max_bytes: int | None, as_long: bool) -> tuple[str, str]:
    """Return a hypothesis and a reference, both cut to so many bytes, and the hypothesis to the reference's words."""
    if max_bytes is not None:
        hypothesis, reference = first_bytes(hypothesis, max_bytes), first_bytes(reference, max_bytes)
    if as_long:
        hypothesis = " ".join(hypothesis.split()[: len(reference.split())])
    return hypothesis, reference


def _pair_scores(
    pairs: Sequence[tuple[str, str]], kinds: Sequence[Kind], measure: Measure, tokenizer: Tokenizer
) -> tuple[Floats, Floats]:
    """Return recall and the measure of every hypothesis and reference, each `[pairs, kinds]`."""
    own = None
    if tokenizer in ("rouge-1.5.5", "unicode"):
        own = WordTokenizer(tokenizer)
    names = [THEIRS.get(kind, kind.replace("-", "")) for kind in kinds]
    scorer = _package().RougeScorer(names, use_stemmer=tokenizer == "stemmed", tokenizer=own)
    hypotheses, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    if hasattr(scorer, "score_batch"):
        scored = scorer.score_batch(references, hypotheses)
    else:
        scored = list(map(scorer.score, references, hypotheses))
    recalls, fmeasures = np.zeros((len(pairs), len(names))), np.zeros((len(pairs), len(names)))
    for place, of_pair in enumerate(scored):
        recalls[place] = [of_pair[name].recall for name in names]
        fmeasures[place] = [of_pair[name].fmeasure for name in names]
    if measure == "recall":
        return recalls, recalls
    return recalls, fmeasures


def _package() -> Any:
    """Return the module that has `RougeScorer`; the two give the same floats."""
    try:
        from rouge_score_rs import rouge_scorer
    except ImportError:
        from rouge_score import rouge_scorer  # slow to import, for nltk
    return rouge_scorer


def _average(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _jackknife(values: Sequence[float]) -> float:
    """Average the best of every set that lacks one: the best, but once the second best."""
    if len(values) == 1:
        return values[0]
    *_, second, best = sorted(values)
    return ((len(values) - 1) * best + second) / len(values)


RULES: dict[str, Callable[[Sequence[float]], float]] = {"max": max, "average": _average, "jackknife": _jackknife}


def _sizes(pairs: Sequence[tuple[str, str]], kinds: Sequence[Kind], tokenizer: Tokenizer) -> NDArray[np.int64]:
    """Return how many n-grams hypotheses and references have, `[2, pairs, kinds]`; words for L and Lsum."""
    words = np.array([(count_words(text, tokenizer), count_words(reference, tokenizer)) for text, reference in pairs]).T
    orders = np.array([ORDERS[kind] for kind in kinds])
    return np.maximum(words[:, :, None] - orders + 1, 0)


def _pooled(recalls: Floats, sizes: NDArray[np.int64], measure: Measure) -> list[float]:
    """Return the score of matches, n-grams of references and n-grams of the hypothesis, each summed over references."""
    matches = np.rint(recalls * sizes[1]).astype(np.int64).sum(axis=0).tolist()
    hypothesis, reference = sizes.sum(axis=1).tolist()
    if measure == "recall":
        return [hits / max(n, 1) for hits, n in zip(matches, reference, strict=True)]
    counts = zip(matches, hypothesis, reference, strict=True)
    return [2 * hits / max(of_hypothesis + of_reference, 1) for hits, of_hypothesis, of_reference in counts]


def signature(
    kind: Kind,
    measure: Measure = "f1",
    *,
    tokenizer: Tokenizer = "stemmed",
    several: Several = "max",
    max_bytes: int | None = None,
    as_long: bool = False,
    references: Iterable[Sequence[str]] = (),
) -> str:
    """Name everything the score depends on, and why there is none.

    Args:
        kind: of ROUGE; the others as for `rouge`.
        measure: as for `rouge`.
        tokenizer: as for `rouge`.
        several: as for `rouge`.
        max_bytes: as for `rouge`.
        as_long: as for `rouge`.
        references: say how many a text has, and whether the tokenizer is applicable to them.

    >>> signature("rouge-1", references=[["a"]]).removesuffix(version("rouge-score"))
    'rouge|tok:rouge-score|stem:porter|type:1|f1|refs:max of 1|bytes:all|mean of texts|version:1|rouge-score:'
    """
    check_options([kind], measure, tokenizer, several, max_bytes)
    references = list(references)
    letters = count_letters(text for texts in references for text in texts)
    return _signature(
        kind, {len(texts) for texts in references}, letters, measure, tokenizer, several, max_bytes, as_long
    )


def _signature(
    kind: Kind,
    numbers: set[int],
    letters: tuple[int, int],
    measure: Measure,
    tokenizer: Tokenizer,
    several: Several,
    max_bytes: int | None,
    as_long: bool,
) -> str:
    """Return the signature over texts with these numbers of references, which have so many letters, so many dropped."""
    how_many = "any"
    if numbers:
        how_many = "var" if len(numbers) > 1 else str(*numbers)
    parts = ["rouge", name_of(tokenizer), f"type:{kind.removeprefix('rouge-')}", measure]
    if kind == "rouge-lsum":
        parts += ["sentences:lines"]
    parts += [f"refs:{several} of {how_many}", f"bytes:{max_bytes or 'all'}"]
    if as_long:
        parts += ["words:as many as the reference"]
    parts += ["mean of texts", "version:1", f"rouge-score:{version('rouge-score')}"]
    if not is_applicable(*letters, tokenizer):
        parts += [f"not applicable: it drops {100 * letters[1] / letters[0]:.0f} % of the references' letters"]
    return "|".join(parts)


def check_options(
    kinds: Sequence[str], measure: str, tokenizer: str, several: str, max_bytes: int | None = None
) -> None:
    """Raise ValueError for an option that does not exist."""
    if isinstance(kinds, str) or not kinds:
        raise ValueError(f"expected one or more kinds of ROUGE in a list, got {kinds!r}")
    given = [(kind, "kind", KINDS) for kind in kinds] + [(measure, "measure", MEASURES), (several, "several", SEVERAL)]
    for value, what, known in given:
        if value not in known:
            raise ValueError(f"{what} {value!r} is unknown; there are: {', '.join(known)}")
    check_tokenizer(tokenizer)
    if max_bytes is not None and max_bytes < 1:
        raise ValueError(f"expected max_bytes of 1 or more, or None for all, got {max_bytes}")


@dataclass(frozen=True)
class Columns:
    """Some columns of a ROUGE family, which share their options.

    Args:
        kinds: as for `rouge`.
        measure: as for `rouge`.
        several: as for `rouge`.
        max_bytes: as for `rouge`.
        as_long: as for `rouge`.
        ending: what a column's name has after the kind.
        tokenizer: as for `rouge`.
    """

    kinds: tuple[Kind, ...]
    measure: Measure = "f1"
    several: Several = "max"
    max_bytes: int | None = None
    as_long: bool = False
    ending: str = ""
    tokenizer: Tokenizer = "stemmed"

    def count(self, texts: Sequence[str], references: Sequence[Sequence[str]]) -> list[list[float]]:
        """Return `[texts][kinds]` scores as fractions."""
        scores = text_scores(
            texts,
            references,
            self.kinds,
            self.measure,
            tokenizer=self.tokenizer,
            several=self.several,
            max_bytes=self.max_bytes,
            as_long=self.as_long,
        )
        fractions: list[list[float]] = scores.tolist()
        return fractions

    def scores(self, counts: Sequence[Counts]) -> list[Score]:
        """Return a score of each kind; None where the tokenizer is not applicable to all references together."""
        numbers = {row["references"] for row in counts}
        letters = sum(row["letters"][0] for row in counts)
        dropped = sum(row["letters"][1] for row in counts)
        scores = []
        for place, kind in enumerate(self.kinds):
            signed = _signature(
                kind,
                numbers,
                (letters, dropped),
                self.measure,
                self.tokenizer,
                self.several,
                self.max_bytes,
                self.as_long,
            )
            name = kind + self.ending
            values = [(row[f"scores{self.ending}"][place], 1) for row in counts]
            if is_applicable(letters, dropped, self.tokenizer):
                scores.append(score_of_sums(name, mean(), values, signed, higher_is_better=True))
            else:
                scores.append(Score(name, None, "percent", True, len(counts), signed))
        return scores


def rouge_family(*parts: Columns) -> Family:
    """Return the family of some columns; rows have `text`, their gold one or more `references`."""

    def count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
        texts, references = texts_and_references(rows, gold)
        counts: list[dict[str, Any]] = []
        for of_text in references:
            counts.append({"references": len(of_text), "letters": count_letters(of_text)})
        for part in parts:
            for row, scores in zip(counts, part.count(texts, references), strict=True):
                row[f"scores{part.ending}"] = scores
        return list(counts)

    def scores(counts: Sequence[Counts]) -> list[Score]:
        return [score for part in parts for score in part.scores(counts)]

    return Family(count, scores)


RECALLED: tuple[Kind, ...] = ("rouge-1", "rouge-2", "rouge-l")
OF_155: tuple[Kind, ...] = ("rouge-1", "rouge-2", "rouge-3", "rouge-4", "rouge-l")
MAX_BYTES = 75

rouge_scores = rouge_family(Columns(KINDS))
"""ROUGE-1 to -4, -L and -Lsum F1, as rouge-score with its stemmer does, the best reference each."""

rouge_155_scores = rouge_family(Columns(OF_155, several="pooled", ending="/1.5.5", tokenizer="rouge-1.5.5"))
"""ROUGE-1 to -4 and -L F1 with the stems of ROUGE-1.5.5 -m; several references are pooled, as it does by default."""

rouge_recall_scores = rouge_family(
    Columns(RECALLED, "recall", "pooled", MAX_BYTES, ending="-r"),
    Columns(RECALLED, "recall", "jackknife", MAX_BYTES, ending="-r/jackknife"),
)
"""ROUGE recall of the first 75 bytes, as DUC-2003 and DUC-2004 do with four references.

The plain columns pool the references as ROUGE-1.5.5 does; `/jackknife` are by the rule of its paper, and of its
versions before 1.4.
"""

rouge_limited_scores = rouge_family(Columns(RECALLED, "recall", "pooled", as_long=True, ending="-r/limited"))
"""ROUGE recall of as many first words as the reference has, as is done on the New York Times.

Several references are pooled, each with the text cut to its own length.
"""
