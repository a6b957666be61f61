"""Diversity of generated texts by tokens: all columns of the F2-Softmax paper's tables, from one n-gram pass.

Columns under a plain name are by the definition that the paper's tables come closest to; another definition of the same
metric has its own column, `name/definition`. All are of token ids, so they compare rows of one tokenizer only: a
signature names a hash of the true continuations' token ids, which differs with the tokenizer, with the length they are
cut to and with the texts that are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.metrics.diversity import distinct, divergence, ms_jaccard, repetition, self_bleu
from bench.metrics.diversity.ngrams import count_ngrams, lengths_of
from bench.metrics.diversity.token_rows import TOO_SHORT, token_rows
from bench.metrics.score import Gold, Row, Score, explained

__all__ = ["diversity_scores"]

MAX_N = 4
NO_REFERENCES = "rows without reference_ids"


def diversity_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Score generated texts alone and against the true continuations of all rows.

    A value is None where it is not defined: one text, texts shorter than n, or no true continuations (rows of a task
    that is not open-ended carry none) for what compares with them.

    Args:
        rows: `{"id", "token_ids", "reference_ids"}`: the generated tokens and those of the true continuation.
        gold: for its ids only.

    Raises:
        ValueError: no rows, other ids than the gold's, a row without `token_ids`, or `reference_ids` in some rows only.
    """
    if not rows:
        raise ValueError("a score of no texts is undefined; expected at least one row")
    given = token_rows(rows, gold)
    texts, references, why = given.texts, given.references, TOO_SHORT
    if references is None:
        references, why = [], NO_REFERENCES
    both = count_ngrams([*texts, *references], MAX_N)
    counts = [of_order.between(0, len(texts)) for of_order in both]
    lengths = lengths_of(texts)
    against = [
        *divergence.divergence_columns(both[0], len(texts), given.tokens),
        *ms_jaccard.ms_jaccard_columns(both, texts, references, given.tokens),
    ]
    alone = [
        *self_bleu.self_bleu_columns(counts, lengths, given.tokens),
        *distinct.distinct_columns(counts, lengths, given.tokens),
        repetition.repetition_column(texts, given.tokens),
        divergence.uniq_column(counts[0], given.tokens),
        distinct.seq_rep_column(counts, lengths, 4, given.tokens),
    ]
    return [*(explained(score, why) for score in against), *(explained(score, TOO_SHORT) for score in alone)]
