"""ROUGE-1/2/3/4/L/Lsum by rouge-score: F1, and recall of the first bytes as in the DUC tasks.

The scores of a pair of texts are rouge-score's to the last bit. rouge-score-rs computes them where it is installed (the
same floats, about a hundred times faster), rouge-score where it is not.

Several references of a text (`several`):

`max`: the best score over the references, chosen by the measure itself: for F1 rouge-score's `score_multi`.
`pooled`: matches over n-grams, both summed over the references: the "model average" that ROUGE-1.5.5 takes by default
(-f A). `jackknife`: leave out each reference in turn, take the best of the others, average (Lin 2004, section 2.1;
ROUGE before version 1.4). With one reference all three are alike.

Two tokenizers: `stemmed` is rouge-score's with its Porter stemmer: lower case, runs of [a-z0-9], words of four and more
letters stemmed. `rouge-1.5.5` splits alike and stems as ROUGE-1.5.5 -m does: irregular forms of WordNet 2.0 become
their base form ("said" and "says" are equal), all else goes through Porter's original algorithm. Both drop letters
other than [a-z]; where more than half of the references' letters are dropped, the value is undefined, and not 0.

ROUGE-Lsum takes every line for a sentence, so a text without a line break is one sentence; where neither hypothesis nor
reference has one, Lsum equals L. A hypothesis or a reference without a word, even both, scores 0.

Checked against the authors' logs of ROUGE-1.5.5 on XSum (11,334 texts, three systems, R-1/2/3/L; F1 and recall):
`rouge-1.5.5` is within 0.01 of every one, `stemmed` up to 0.45 below, because it does not know irregular forms.
"""

import hashlib
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bench.metrics.score import Counts, Family, Gold, Row, Score, explained, score_of_sums, texts_and_references
from bench.metrics.sums import mean

Floats = NDArray[np.float64]
Measure = Literal["f1", "recall"]
Several = Literal["max", "pooled", "jackknife"]
Tokenizer = Literal["stemmed", "rouge-1.5.5"]
KINDS = ("rouge-1", "rouge-2", "rouge-3", "rouge-4", "rouge-l", "rouge-lsum")
ROUGE_SCORE_NAMES = dict(zip(KINDS, ("rouge1", "rouge2", "rouge3", "rouge4", "rougeL", "rougeLsum"), strict=True))
ORDERS = dict(zip(KINDS, (1, 2, 3, 4, 1, 1), strict=True))
"""Tokens of what is counted."""
TOKENIZER_NAMES = {"stemmed": "tok:rouge-score|stem:porter", "rouge-1.5.5": "tok:rouge-score|stem:rouge-1.5.5"}
WORD, NO_LATIN_LETTER, ASCII = re.compile(r"[a-z0-9]+"), re.compile(r"[^a-z]+"), re.compile(r"[\x00-\x7f]+")
FORMS_SHA256 = "9eea71afd1eec1289c574ea4853a88ea58f05076d34ede15913ce8a17ea11694"
"""Hash of the file of irregular forms in py-rouge 1.1."""


@dataclass(frozen=True)
class RougeColumns:
    """Columns of ROUGE that share their options.

    Args:
        kinds: some of `KINDS`.
        measure: `f1`, or `recall` for texts of limited length.
        several: how the scores of several references become one.
        max_bytes: score only so many first bytes of UTF-8, of references too, as ROUGE-1.5.5 -b does although its help
            names only the hypothesis; None scores whole texts.
        as_long: score only as many first words of a hypothesis as the reference has, split at white space.
        ending: what a column's name has after the kind.
        tokenizer: see the first lines of this module.

    >>> RougeColumns(("rouge-1",)).text_scores(["the river is wide"], [["a river is wide", "rivers"]]).tolist()
    [[0.75]]
    """

    kinds: tuple[str, ...]
    measure: Measure = "f1"
    several: Several = "max"
    max_bytes: int | None = None
    as_long: bool = False
    ending: str = ""
    tokenizer: Tokenizer = "stemmed"

    def text_scores(self, texts: Sequence[str], references: Sequence[Sequence[str]]) -> Floats:
        """Return scores from 0 to 1, `[texts, kinds]`; each text has one or more references."""
        pairs = []
        for text, of_text in zip(texts, references, strict=True):
            pairs += [self._as_compared(text, reference) for reference in of_text]
        recalls, scores = self._pair_scores(pairs)
        if len(pairs) == len(texts):
            return scores
        ends = np.cumsum([0, *map(len, references)]).tolist()
        spans = [slice(*span) for span in itertools.pairwise(ends)]
        if self.several == "pooled":
            sizes = self._sizes(pairs)
            for span in spans:
                if span.stop - span.start > 1:  # with one reference the score stays, in whatever batch it is
                    scores[span.start] = self._pooled(recalls[span], sizes[:, span])
            return scores[[span.start for span in spans]]
        choose: Callable[[Sequence[float]], float] = _jackknife if self.several == "jackknife" else max
        return np.array([list(map(choose, scores[span].T.tolist())) for span in spans])

    def _as_compared(self, text: str, reference: str) -> tuple[str, str]:
        """Return a text and a reference, both cut to `max_bytes`, and the text to the length of the reference."""
        if self.max_bytes is not None:
            text, reference = first_bytes(text, self.max_bytes), first_bytes(reference, self.max_bytes)
        if self.as_long:
            text = " ".join(text.split()[: len(reference.split())])
        return text, reference

    def _pair_scores(self, pairs: Sequence[tuple[str, str]]) -> tuple[Floats, Floats]:
        """Return the recall and the measure of each pair of a text and a reference, each `[pairs, kinds]`."""
        names = [ROUGE_SCORE_NAMES[kind] for kind in self.kinds]
        tokenizer = Tokenizer155() if self.tokenizer == "rouge-1.5.5" else None
        scorer = _package().RougeScorer(names, use_stemmer=tokenizer is None, tokenizer=tokenizer)
        texts, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        if hasattr(scorer, "score_batch"):
            scored = scorer.score_batch(references, texts)
        else:
            scored = list(map(scorer.score, references, texts))
        recalls, f1 = np.zeros((len(pairs), len(names))), np.zeros((len(pairs), len(names)))
        for place, of_pair in enumerate(scored):
            recalls[place] = [of_pair[name].recall for name in names]
            f1[place] = [of_pair[name].fmeasure for name in names]
        return recalls, recalls if self.measure == "recall" else f1

    def _sizes(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.int64]:
        """Return how many n-grams texts and references have, `[2, pairs, kinds]`; words for L and Lsum."""
        words = np.array([[len(WORD.findall(text.lower())) for text in pair] for pair in pairs]).T
        orders = np.array([ORDERS[kind] for kind in self.kinds])
        return np.maximum(words[:, :, None] - orders + 1, 0)

    def _pooled(self, recalls: Floats, sizes: NDArray[np.int64]) -> list[float]:
        """Return the scores `[kinds]` from matches and n-grams, each summed over the references of one text."""
        matches = np.rint(recalls * sizes[1]).astype(np.int64).sum(axis=0).tolist()
        of_text, of_references = sizes.sum(axis=1).tolist()
        if self.measure == "recall":
            return [hits / max(n, 1) for hits, n in zip(matches, of_references, strict=True)]
        return [2 * hits / max(m + n, 1) for hits, m, n in zip(matches, of_text, of_references, strict=True)]

    def scores(self, counts: Sequence[Counts]) -> list[Score]:
        """Return a score of each kind; None where the tokenizer drops most letters of all references together."""
        letters, dropped = (sum(row["letters"][place] for row in counts) for place in (0, 1))
        reason = f"it drops {100 * dropped / max(letters, 1):.0f} % of the references' letters"
        numbers = {row["references"] for row in counts}
        scores = []
        for place, kind in enumerate(self.kinds):
            name, signature = kind + self.ending, self.signature(kind, numbers)
            if 2 * dropped > letters:
                scores.append(explained(Score(name, None, "percent", True, len(counts), signature), reason))
            else:
                values = [(row[f"scores{self.ending}"][place], 1) for row in counts]
                scores.append(score_of_sums(name, mean(), values, signature, higher_is_better=True))
        return scores

    def signature(self, kind: str, numbers: set[int]) -> str:
        """Name everything a score depends on, for texts with these numbers of references.

        >>> RougeColumns(("rouge-1",)).signature("rouge-1", {1}).removesuffix(version("rouge-score"))
        'rouge|tok:rouge-score|stem:porter|type:1|f1|refs:max of 1|bytes:all|mean of texts|version:1|rouge-score:'
        """
        parts = ["rouge", TOKENIZER_NAMES[self.tokenizer], f"type:{kind.removeprefix('rouge-')}", self.measure]
        if kind == "rouge-lsum":
            parts += ["sentences:lines"]
        number = str(*numbers) if len(numbers) == 1 else "var"
        parts += [f"refs:{self.several} of {number}", f"bytes:{self.max_bytes or 'all'}"]
        if self.as_long:
            parts += ["words:as many as the reference"]
        return "|".join([*parts, "mean of texts", "version:1", f"rouge-score:{version('rouge-score')}"])


def _package() -> Any:
    """Return the module that has `RougeScorer`; the two give the same floats."""
    try:
        from rouge_score_rs import rouge_scorer
    except ImportError:
        from rouge_score import rouge_scorer  # slow to import, for nltk
    return rouge_scorer


def _jackknife(values: Sequence[float]) -> float:
    """Return the mean, over all sets without one value, of their largest: the largest, and once the second largest."""
    if len(values) == 1:
        return values[0]
    *_, second, best = sorted(values)
    return ((len(values) - 1) * best + second) / len(values)


class Tokenizer155:
    """What rouge-score takes as `tokenizer=`, with the stems of ROUGE-1.5.5 -m."""

    def tokenize(self, text: str) -> list[str]:
        """Return the stemmed words of a text."""
        return [_stem_155(word) for word in WORD.findall(text.lower())]


@lru_cache(maxsize=1 << 16)
def _stem_155(word: str) -> str:
    return word if len(word) <= 3 else irregular_forms().get(word) or _porter().stem(word)


@cache
def _porter() -> Any:
    from nltk.stem.porter import PorterStemmer  # slow to import

    return PorterStemmer(mode=PorterStemmer.ORIGINAL_ALGORITHM)


@cache
def irregular_forms() -> dict[str, str]:
    """Return WordNet 2.0's irregular forms with their base forms, as ROUGE-1.5.5 has them.

    Raises:
        ImportError: py-rouge is not installed (its list is read, none of its code runs), or its list is another one.
    """
    need = "tokenizer 'rouge-1.5.5' needs WordNet's irregular forms as py-rouge 1.1 lists them"
    try:
        file = distribution("py-rouge").locate_file("rouge/wordnet_key_value.txt")
        content = Path(str(file)).read_bytes()
    except (PackageNotFoundError, OSError) as error:
        raise ImportError(f"{need}, and it is not installed; pip install py-rouge==1.1") from error
    if hashlib.sha256(content).hexdigest() != FORMS_SHA256:
        raise ImportError(f"{need}, got {len(content)} bytes that differ; pip install --force-reinstall py-rouge==1.1")
    return dict(line.split("|") for line in content.decode().split())


def count_letters(texts: Iterable[str]) -> tuple[int, int]:
    """Return how many letters texts have, and how many of them the tokenizers drop: all but [a-z].

    >>> count_letters(["Año", "세계"])
    (5, 3)
    """
    lowered = " ".join(texts).lower()
    kept = len(NO_LATIN_LETTER.sub("", lowered))
    dropped = sum(map(str.isalpha, ASCII.sub("", lowered)))
    return kept + dropped, dropped


def first_bytes(text: str, n: int) -> str:
    """Return the characters that are whole in the first n bytes of a text in UTF-8.

    >>> first_bytes("세계", 5)
    '세'
    """
    return text.encode("utf-8", "replace")[:n].decode("utf-8", "ignore")


def rouge_family(*parts: RougeColumns) -> Family:
    """Return the family of some columns; rows have `text`, and their gold has one or more `references`."""

    def count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
        texts, references = texts_and_references(rows, gold)
        counts: list[dict[str, Any]] = []
        for of_text in references:
            counts.append({"references": len(of_text), "letters": count_letters(of_text)})
        for part in parts:
            for row, scores in zip(counts, part.text_scores(texts, references).tolist(), strict=True):
                row[f"scores{part.ending}"] = scores
        return list(counts)

    def scores(counts: Sequence[Counts]) -> list[Score]:
        return [score for part in parts for score in part.scores(counts)]

    return Family(count, scores)


RECALLED = ("rouge-1", "rouge-2", "rouge-l")
MAX_BYTES = 75

rouge_scores = rouge_family(RougeColumns(KINDS))
"""ROUGE-1 to -4, -L and -Lsum F1 as rouge-score with its stemmer computes it, the best reference of each text."""

rouge_155_scores = rouge_family(RougeColumns(KINDS[:5], several="pooled", ending="/1.5.5", tokenizer="rouge-1.5.5"))
"""ROUGE-1 to -4 and -L F1 with the stems of ROUGE-1.5.5 -m; several references are pooled, as it does by default."""

rouge_recall_scores = rouge_family(
    RougeColumns(RECALLED, "recall", "pooled", MAX_BYTES, ending="-r"),
    RougeColumns(RECALLED, "recall", "jackknife", MAX_BYTES, ending="-r/jackknife"),
)
"""ROUGE recall of the first 75 bytes, as in DUC-2003 and DUC-2004 with four references.

The plain columns pool the references as ROUGE-1.5.5 does; `/jackknife` follows its paper and its versions before 1.4.
"""

rouge_limited_scores = rouge_family(RougeColumns(RECALLED, "recall", "pooled", as_long=True, ending="-r/limited"))
"""ROUGE recall of as many first words as the reference has, as is done on the New York Times.

Several references are pooled, each with the text cut to its length.
"""
