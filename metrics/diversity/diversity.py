"""Diversity of generated texts by tokens: all columns of the F2-Softmax paper's tables, from one pass over n-grams.

Columns under a plain name follow the definition that the paper's tables come closest to; another definition of the same
metric has its own column, `name/definition`. All count token ids, so they compare rows of one tokenizer only: a
signature contains a hash of the true continuations' token ids, which differs with the tokenizer, with the length they
are cut to and with the set of texts.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.metrics.diversity import distinct, divergence, ms_jaccard, repetition, self_bleu
from bench.metrics.diversity.ngrams import count_ngrams, lengths_of
from bench.metrics.diversity.token_rows import NO_REFERENCES, TOO_SHORT, token_rows
from bench.metrics.score import Gold, Row, Score, explained

MAX_N = 4


def diversity_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Score generated texts alone and against the true continuations of all rows.

    A value is None where it is undefined: one text, texts shorter than n, or, for a column that compares with them, no
    true continuations (tasks that are not open-ended have none).

    Args:
        rows: `{"id", "token_ids", "reference_ids"}`: the generated tokens and those of the true continuation.
        gold: for its ids only.

    Raises:
        ValueError: no rows, the ids are not those of `gold`, or `token_rows` refuses the rows.
    """
    if not rows:
        raise ValueError("a score of no texts is undefined; expected at least one row")
    tokens = token_rows(rows, gold)
    texts, references, signed = tokens.texts, tokens.references or [], tokens.tokens
    both = count_ngrams([*texts, *references], MAX_N)
    counts = [of_order.between(0, len(texts)) for of_order in both]
    lengths = lengths_of(texts)
    compared = [
        *divergence.divergence_columns(both[0], len(texts), signed),
        *ms_jaccard.ms_jaccard_columns(both, texts, references, signed),
    ]
    alone = [
        *self_bleu.self_bleu_columns(counts, lengths, signed),
        *distinct.distinct_columns(counts, lengths, signed),
        repetition.repetition_column(texts, signed),
        divergence.uniq_column(counts[0], signed),
        distinct.seq_rep_column(counts[3], lengths, 4, signed),
    ]
    reason = NO_REFERENCES if tokens.references is None else TOO_SHORT
    return [*(explained(score, reason) for score in compared), *(explained(score, TOO_SHORT) for score in alone)]
