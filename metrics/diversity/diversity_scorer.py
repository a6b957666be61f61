"""Likelihood and diversity of stored generations, by tokens: the columns of the F2-Softmax paper, from one n-gram pass.

Columns under a plain name are by the definition that the paper's tables come closest to; another definition of the same
metric has its own column, `name/definition`. All are of token ids, so they compare rows of one tokenizer only: a
signature names a hash of the true continuations' token ids, which differs with the tokenizer, with the length they are
cut to and with the texts that are asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bench.metrics.diversity import distinct, divergence, ms_jaccard, repetition, self_bleu
from bench.metrics.diversity.ngrams import NgramCounts, Texts, count_ngrams, flatten, lengths_of
from bench.metrics.score import Gold, Row, Score, check_ids, explained

__all__ = ["diversity_scores", "tokenisation", "tokens_of"]

MAX_N = 4
DISTINCT: tuple[distinct.Definition, ...] = ("f2_code", "per_text", "original")
SELF_BLEU: tuple[self_bleu.Definition, ...] = ("f2_code", "original")
MS_JACCARD: tuple[ms_jaccard.Definition, ...] = ("original", "f2_code")


def diversity_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Score generated texts alone and against the true continuations of all rows.

    A value is None where it is not defined: one text, texts shorter than n, or no true continuations (rows of a task
    that is not open-ended carry none) for what compares with them.

    Args:
        rows: `{"id", "token_ids", "reference_ids"}`: the generated tokens and those of the true continuation.
        gold: for its ids only.

    Raises:
        ValueError: other ids than the gold's, a row without `token_ids`, or `reference_ids` in some rows only.
    """
    check_ids(rows, gold)
    rows = sorted(rows, key=lambda row: str(row["id"]))
    texts = tokens_of(rows, "token_ids")
    if texts is None:
        raise ValueError(f"expected rows with token_ids, got {len(rows)} without; generate them again")
    return _scores(texts, tokens_of(rows, "reference_ids"))


def tokens_of(rows: Sequence[Row], field: str) -> Texts | None:
    """Return the token ids of every row, or None when no row has them."""
    without = [row["id"] for row in rows if field not in row]
    if rows and len(without) == len(rows):
        return None
    if without:
        raise ValueError(f"expected {field} in all {len(rows)} rows or in none, {len(without)} lack it: {without[:3]}")
    return [row[field] for row in rows]


def _scores(texts: Texts, references: Texts | None) -> list[Score]:
    both = count_ngrams([*texts, *(references or ())], MAX_N)
    about, why = tokenisation(references), "too few texts, or none with an n-gram"
    against, alone = _against(both, texts, references or ()), _alone(both, texts)
    return [
        *(explained(_signed(score, about), "rows without reference_ids" if references is None else why)
          for score in against),
        *(explained(_signed(score, about), why) for score in alone),
    ]  # fmt: skip


def _signed(score: Score, about: str) -> Score:
    return replace(score, signature=f"{score.signature}|{about}")


def _against(both: Sequence[NgramCounts], texts: Texts, references: Texts) -> Iterator[Score]:
    """What compares the texts with the references."""
    n, tokens = len(texts), both[0].sides(len(texts))
    yield Score("kld", divergence.kld_from_counts(*tokens), "nats", False, n, divergence.kld_signature())
    yield Score("jsd", divergence.jsd_from_counts(*tokens), "nats", False, n, divergence.jsd_signature())
    for definition in MS_JACCARD:
        if definition == "original":
            values = ms_jaccard.ms_jaccard_from_counts(both[:3], n)
        else:
            values = ms_jaccard.ms_jaccard(texts, references, 3, definition)
        for order, value in enumerate(values, start=1):
            name = _column(f"ms-jaccard-{order}", definition, MS_JACCARD)
            yield Score(name, value, "percent", True, n, ms_jaccard.signature(order, definition))


def _alone(both: Sequence[NgramCounts], texts: Texts) -> Iterator[Score]:
    """What needs the texts only."""
    n, lengths = len(texts), lengths_of(texts)
    counts = [of_order.between(0, n) for of_order in both]
    for definition in SELF_BLEU:
        for order, value in enumerate(self_bleu.self_bleu_from_counts(counts, lengths, definition), start=1):
            name = _column(f"self-bleu-{order}", definition, SELF_BLEU)
            yield Score(name, value, "percent", False, n, self_bleu.signature(order, definition))
    for kind in DISTINCT:
        for order, of_order in enumerate(counts[:3], start=1):
            name, kept = _column(f"distinct-{order}", kind, DISTINCT), distinct.n_scored(lengths, order, kind)
            value = distinct.distinct_from_counts(of_order, lengths, order, kind)
            yield Score(name, value, "percent", True, kept, distinct.signature(order, kind))
    yield Score("rep", repetition.repetition(texts), "percent", False, n, repetition.signature())
    yield Score("uniq", float(counts[0].kinds), "count", True, n, divergence.uniq_signature())
    value, kept = distinct.seq_rep_from_counts(counts[3], lengths, 4), distinct.n_scored(lengths, 4, "per_text")
    yield Score("seq-rep-4", value, "fraction", False, kept, distinct.seq_rep_signature(4))


def _column(name: str, definition: str, definitions: Sequence[str]) -> str:
    return name if definition == definitions[0] else f"{name}/{definition}"


def tokenisation(references: Texts | None) -> str:
    """Say which tokens are counted, by what the true continuations are under the same tokenizer."""
    if references is None:
        return "tokens:unknown"
    tokens, lengths = flatten(references)
    digest = hashlib.sha256(b"".join(part.astype("<i8").tobytes() for part in (lengths, tokens)))
    return f"longest:{lengths.max(initial=0)}|tokens:{digest.hexdigest()[:8]}"
