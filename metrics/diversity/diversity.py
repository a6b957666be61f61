"""Diversity of generated texts by tokens: all columns of the F2-Softmax paper's tables, from one pass over n-grams.

Columns under a plain name follow the definition that the paper's tables come closest to; another definition of the same
metric has its own column, `name/definition`. All count token ids, so they compare rows of one tokenizer only: a
signature contains a hash of the true continuations' token ids, which differs with the tokenizer, with the length they
are cut to and with the set of texts.
"""

from collections.abc import Sequence
from dataclasses import replace

from bench.metrics.diversity import distinct, divergence, ms_jaccard, repetition, self_bleu
from bench.metrics.diversity.ngrams import count_ngrams, lengths_of
from bench.metrics.diversity.token_names import TOO_SHORT, tokenisation
from bench.metrics.score import NOT_APPLICABLE, Gold, Row, Score, explained, field_of_all, ordered

MAX_N = 4
NO_REFERENCES = "rows without reference_ids"
NO_TOKENS = "rows without token_ids"


def diversity_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Score generated texts alone and against the true continuations of all rows.

    A value is None where it is undefined: one text, texts shorter than n, texts that no tokenizer made. A column that
    compares with true continuations has none either where there are none (tasks that are not open-ended).

    Args:
        rows: `{"id", "token_ids", "reference_ids"}`: the generated tokens and those of the true continuation; all rows
            have a field, or none.
        gold: for its ids only.

    Raises:
        ValueError: no rows, the ids are not those of `gold`, or a field is in some rows only.
    """
    if not rows:
        raise ValueError("a score of no texts is undefined; expected at least one row")
    rows = ordered(rows, gold)
    token_ids, reference_ids = field_of_all(rows, "token_ids"), field_of_all(rows, "reference_ids")
    texts, references, signed = token_ids or [], reference_ids or [], tokenisation(reference_ids)
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
    if token_ids is None:
        return [unknown(score) for score in (*compared, *alone)]
    reason = TOO_SHORT if reference_ids is not None else NO_REFERENCES
    return [*(explained(score, reason) for score in compared), *(explained(score, TOO_SHORT) for score in alone)]


def unknown(score: Score) -> Score:
    """Return a score without its value, for texts whose tokens are not known."""
    signature = score.signature.partition(f"|{NOT_APPLICABLE}")[0]
    return explained(replace(score, value=None, sums=None, signature=signature), NO_TOKENS)
