"""Overlap of stored texts with their references: ROUGE F1, ROUGE recall of the first 75 bytes, corpus BLEU and chrF."""

from __future__ import annotations

from collections.abc import Sequence

from bench.metrics.overlap import chrf
from bench.metrics.overlap.rouge import Kind, Measure, Several, mean_of, signature, text_scores
from bench.metrics.score import Gold, Row, Score, by_id, check_ids
from bench.metrics.sums import Sums, bleu, mean

__all__ = ["overlap_scores", "rouge_limited_scores", "rouge_recall_scores", "rouge_scores"]

F1_KINDS: tuple[Kind, ...] = ("rouge-1", "rouge-2", "rouge-3", "rouge-4", "rouge-l", "rouge-lsum")
RECALL_KINDS: tuple[Kind, ...] = ("rouge-1", "rouge-2", "rouge-l")
RECALL_SEVERAL: tuple[Several, ...] = ("pooled", "jackknife")
MAX_BYTES = 75


def rouge_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Score texts by ROUGE-1 to -4, -L and -Lsum F1, as rouge-score with its stemmer does, the best reference each.

    A value is None where the references are not in the letters that its tokenizer keeps; the signature says so.

    Args:
        rows: `{"id", "text"}`.
        gold: `{id: {"references"}}`: one or more texts.

    Raises:
        ValueError: other ids than the gold's, no row, or a row without a reference.
    """
    return _rouge(rows, gold, F1_KINDS, "f1", "max", None)


def rouge_recall_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Score the first 75 bytes of texts by ROUGE recall, as DUC-2003 and DUC-2004 do with four references.

    The plain columns pool the references as ROUGE-1.5.5 does; `/jackknife` are by the rule of its paper, and of its
    versions before 1.4. Arguments and errors as for `rouge_scores`.
    """
    return [
        score for several in RECALL_SEVERAL for score in _rouge(rows, gold, RECALL_KINDS, "recall", several, MAX_BYTES)
    ]


def rouge_limited_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Score as many first words of texts as their reference has by ROUGE recall, as is done on the New York Times.

    Several references are pooled, each with the text cut to its own length. Arguments and errors as for `rouge_scores`.
    """
    return _rouge(rows, gold, RECALL_KINDS, "recall", "pooled", None, as_long=True)


def overlap_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Score texts by corpus BLEU and chrF; arguments and errors as for `rouge_scores`."""
    texts, references = _pairs(rows, gold)
    of_bleu, of_chrf = chrf.corpus_bleu(texts, references), chrf.corpus_chrf(texts, references)
    items = _bleu_items(texts, references)
    return [
        Score("bleu", of_bleu, "percent", True, len(rows), chrf.bleu_signature(references), items),
        Score("chrf", of_chrf, "percent", True, len(rows), chrf.chrf_signature(references)),
    ]


def _bleu_items(texts: Sequence[str], references: Sequence[Sequence[str]]) -> Sums:
    """Return matches, totals and lengths of each text; sacrebleu gives the lengths first."""
    counts = chrf.text_counts("bleu", texts, references, chrf.bleu_tokenizer(references))
    return Sums(bleu(smoothing="exp"), [(*one[2:], *one[:2]) for one in counts])


def _rouge(
    rows: Sequence[Row],
    gold: Gold,
    kinds: Sequence[Kind],
    measure: Measure,
    several: Several,
    max_bytes: int | None,
    as_long: bool = False,
) -> list[Score]:
    texts, references = _pairs(rows, gold)
    scores = text_scores(texts, references, kinds, measure, several=several, max_bytes=max_bytes, as_long=as_long)
    found = []
    for kind, value, column in zip(kinds, mean_of(scores, references), scores.T.tolist(), strict=True):
        name = kind + ("-r" if measure == "recall" else "") + ("/jackknife" if several == "jackknife" else "")
        name += "/limited" if as_long else ""
        signed = signature(kind, measure, several=several, max_bytes=max_bytes, as_long=as_long, references=references)
        items = None if value is None else Sums(mean(), [(one, 1) for one in column])
        found.append(Score(name, value, "percent", True, len(rows), signed, items))
    return found


def _pairs(rows: Sequence[Row], gold: Gold) -> tuple[list[str], list[Sequence[str]]]:
    """Return texts and references of the same rows."""
    check_ids(rows, gold)
    rows = by_id(rows)
    return [row["text"] for row in rows], [gold[row["id"]].get("references", ()) for row in rows]
