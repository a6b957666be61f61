"""Corpus chrF and corpus BLEU as sacrebleu has them, with lengths checked first and a whole signature.

sacrebleu scores three hypotheses against five references as 100, and its signature leaves out the order of BLEU's
n-grams; both are mended here. A corpus whose hypotheses have no 4-gram at all has BLEU 0, even where hypotheses and
references are alike: sacrebleu's rule, kept. chrF is 100 there.

BLEU's tokenizer is chosen by the script of the references and named in the signature: 13a, or single characters
(`char`) where more than half of their letters are Korean, Chinese, Japanese, Thai, Lao, Burmese or Khmer. (sacrebleu's
ko-mecab and ja-mecab need dictionaries of their own.)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from bench.metrics.diversity.ngrams import n_grams
from bench.metrics.overlap.clipped_matches import clipped_matches, code_points
from bench.metrics.overlap.table_bleu import check_pairs
from bench.metrics.score import Gold, Row, Score, ordered, score_of_sums, texts_and_references
from bench.metrics.sums import bleu

__all__ = [
    "BLEU_ORDER",
    "BLEU_TOKENIZERS",
    "BleuTokenizer",
    "bleu_signature",
    "bleu_tokenizer",
    "chrf_signature",
    "corpus_bleu",
    "corpus_chrf",
    "overlap_scores",
    "score_of_counts",
    "text_counts",
]

Name = Literal["bleu", "chrf"]
BleuTokenizer = Literal["13a", "char"]
BLEU_TOKENIZERS: tuple[BleuTokenizer, ...] = ("13a", "char")
BLEU_ORDER = 4
ASCII = re.compile(r"[\x00-\x7f]+")
BY_CHARACTER = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1100, 0x11FF),  # Korean letters
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x318F),  # kana, Chinese phonetic letters, Korean letters
    (0x31A0, 0x31FF),
    (0x3400, 0x9FFF),  # Chinese characters
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),  # Korean syllables
    (0xF900, 0xFAFF),
    (0xFF66, 0xFFDC),
    (0x20000, 0x3FFFF),
)


def corpus_bleu(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], tokenizer: BleuTokenizer | None = None
) -> float:
    """Return corpus BLEU-4 in percent.

    Args:
        hypotheses: one text for each row.
        references: for each of them, one or more texts.
        tokenizer: None to choose it by `bleu_tokenizer`.

    Raises:
        ValueError: as many references as hypotheses are needed, at least one of each, and all must be text.

    >>> round(corpus_bleu(["the river is very long"], [["the river is very wide", "rivers"]]), 6)
    66.87403
    """
    return score_of_counts("bleu", _summed("bleu", hypotheses, references, tokenizer or bleu_tokenizer(references)))


def corpus_chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Return corpus chrF2 in percent: characters up to 6-grams, no words; arguments and errors as for `corpus_bleu`.

    Each hypothesis counts beside the reference that it scores best with.

    >>> round(corpus_chrf(["강이 길다"], [["강이 길다", "산이 높다"]]), 6)
    100.0
    """
    return score_of_counts("chrf", _summed("chrf", hypotheses, references))


def _summed(
    name: Name,
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    tokenizer: BleuTokenizer = "13a",
) -> list[int]:
    counts = text_counts(name, hypotheses, references, tokenizer)
    if not counts:
        raise ValueError(f"{name} of no texts is undefined; expected at least one hypothesis")
    return [sum(column) for column in zip(*counts, strict=True)]


def text_counts(
    name: Name,
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    tokenizer: BleuTokenizer = "13a",
) -> list[list[int]]:
    """Return what a corpus score adds up, for every text.

    BLEU: lengths of hypothesis and nearest reference, matches of orders 1 to 4, n-grams of the hypothesis of orders 1
    to 4. chrF: for orders 1 to 6 n-grams of hypothesis, of reference, and matches.

    Raises:
        ValueError: another number of references than of hypotheses, or what is no text.

    >>> text_counts("bleu", ["a b c"], [["a b", "b c"]])
    [[3, 2, 3, 2, 0, 0, 3, 2, 1, 0]]
    """
    if not check_pairs(hypotheses, references):
        return []
    if name == "chrf":
        return _chrf_counts(hypotheses, references)
    return _bleu_counts(_metric(name, tokenizer), hypotheses, references)


def _bleu_counts(metric: Any, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[list[int]]:
    """Count the words that sacrebleu's tokenizer makes; an n-gram counts as in the reference that has it most often."""
    numbers: dict[str, int] = {}

    def tokens(text: str) -> list[int]:
        return [numbers.setdefault(word, len(numbers)) for word in metric._preprocess_segment(text).split()]

    of_references = [[tokens(text) for text in texts] for texts in references]
    found = clipped_matches([tokens(text) for text in hypotheses], of_references, BLEU_ORDER)
    lengths = found.texts  # [texts]
    farther = np.abs(found.references - lengths[found.owners])  # [references]
    order = np.lexsort((found.references, farther, found.owners))
    nearest = found.references[order[np.unique(found.owners[order], return_index=True)[1]]]  # [texts]: the shorter wins
    totals = np.stack([n_grams(lengths, n) for n in range(1, BLEU_ORDER + 1)], 1)  # [texts, orders]
    counts: list[list[int]] = np.column_stack((lengths, nearest, found.by_text, totals)).tolist()
    return counts


def _chrf_counts(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[list[int]]:
    """Count characters that are no white space, beside the first of the references that a text scores best with."""
    metric = _metric("chrf")
    of_references = [[_characters(text) for text in texts] for texts in references]
    found = clipped_matches([_characters(text) for text in hypotheses], of_references, metric.char_order)
    counts = np.zeros((len(found.owners), metric.char_order, 3), np.int64)  # [references, orders, 3]
    for n in range(1, metric.char_order + 1):
        of_reference = n_grams(found.references, n)
        # An order that the reference is too short for does not count against the text.
        counts[:, n - 1, 0] = n_grams(found.texts, n)[found.owners] * (of_reference > 0)
        counts[:, n - 1, 1] = of_reference
    counts[:, :, 2] = found.by_reference
    every = counts.reshape(len(counts), -1).tolist()
    best: list[list[int]] = []
    at = 0
    for texts in references:
        mine = every[at : at + len(texts)]
        at += len(texts)
        best.append(mine[0])
        if len(mine) > 1:
            best[-1] = max(mine, key=metric._compute_f_score)  # the first of equally good ones
    return best


def _characters(text: str) -> Sequence[int]:
    codes: list[int] = code_points("".join(text.split())).tolist()
    return codes


def score_of_counts(name: Name, counts: Sequence[int]) -> float:
    """Return the score in percent of sums of `text_counts`.

    >>> round(score_of_counts("bleu", [5, 5, 4, 3, 2, 1, 5, 4, 3, 2]), 6)
    66.87403
    """
    return float(_metric(name)._compute_score_from_stats(list(counts)).score)


def _metric(name: Name, tokenizer: BleuTokenizer = "13a") -> Any:
    """Return sacrebleu's metric; `force` only silences its doubts about texts that are tokenized already."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    if name not in ("bleu", "chrf"):
        raise ValueError(f"score {name!r} is unknown; there are: bleu, chrf")
    if name == "chrf":
        return CHRF()
    if tokenizer not in BLEU_TOKENIZERS:
        raise ValueError(f"tokenizer {tokenizer!r} is unknown; there are: {', '.join(BLEU_TOKENIZERS)}")
    return BLEU(tokenize=tokenizer, max_ngram_order=BLEU_ORDER, force=True)


def bleu_tokenizer(references: Sequence[Sequence[str]]) -> BleuTokenizer:
    """Return the tokenizer for the script that most letters of the references are of.

    >>> bleu_tokenizer([["강이 길다 (Han)"]]), bleu_tokenizer([["река длинная"]])
    ('char', '13a')
    """
    letters = by_character = 0
    for text in (text for texts in references for text in texts):
        letters += sum(map(str.isalpha, text))
        for c in ASCII.sub("", text):
            by_character += c.isalpha() and any(first <= ord(c) <= last for first, last in BY_CHARACTER)
    if 2 * by_character > letters:
        return "char"
    return "13a"


def bleu_signature(references: Sequence[Sequence[str]], tokenizer: BleuTokenizer | None = None) -> str:
    """Name everything corpus BLEU depends on: sacrebleu's own signature, and the order that it leaves out.

    >>> bleu_signature([["a"], ["b", "c"]]).partition("|version")[0]
    'sacrebleu-bleu|order:4|nrefs:var|case:mixed|eff:no|tok:13a|smooth:exp'
    """
    own = _metric("bleu", tokenizer or bleu_tokenizer(references))
    return f"sacrebleu-bleu|order:{BLEU_ORDER}|{_signed(own, references)}"


def chrf_signature(references: Sequence[Sequence[str]]) -> str:
    """Name everything corpus chrF depends on.

    >>> chrf_signature([["a"]]).partition("|version")[0]
    'sacrebleu-chrf|beta:2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no'
    """
    own = _metric("chrf")
    return f"sacrebleu-chrf|beta:{own.beta}|{_signed(own, references)}"


def _signed(own: Any, references: Sequence[Sequence[str]]) -> str:
    numbers = {len(texts) for texts in references}
    own.num_refs = -1
    if len(numbers) == 1:
        own.num_refs = numbers.pop()
    return str(own.get_signature())


def overlap_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Score texts by corpus BLEU and chrF.

    BLEU's tokenizer depends on the references of all rows, so this is a plain function of them. No form of
    `bench.metrics.sums` is a chrF: it has no sums.

    Args:
        rows: `{"id", "text"}`.
        gold: `{id: {"references"}}`: one or more texts.

    Raises:
        ValueError: other ids than the gold's, no row, or a row without a reference.
    """
    texts, references = texts_and_references(ordered(rows, gold), gold)
    if not texts:
        raise ValueError("BLEU of no texts is undefined; expected at least one row")
    counts = text_counts("bleu", texts, references, bleu_tokenizer(references))
    # sacrebleu counts lengths first, `bleu()` takes matches, totals and then lengths.
    sums = [(*row[2:], *row[:2]) for row in counts]
    signed = bleu_signature(references)
    of_chrf = corpus_chrf(texts, references)
    return [
        score_of_sums("bleu", bleu(smoothing="exp"), sums, signed, higher_is_better=True),
        Score("chrf", of_chrf, "percent", True, len(rows), chrf_signature(references)),
    ]
