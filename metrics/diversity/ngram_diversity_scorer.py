"""N-gram diversity of stored open-ended texts, by words and by tokens.

The plain columns are of words between white space, as SimCTG's code takes them, and compare models with different
tokenizers; `/tokens` are of token ids, where rows have them.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.metrics.diversity.diversity_scorer import tokenisation, tokens_of
from bench.metrics.diversity.ngram_diversity import (
    DEFINITIONS,
    by_text,
    kinds_and_lengths,
    mean_of,
    pooled,
    product_of,
    signature,
    simctg_signature,
    whitespace_ids,
)
from bench.metrics.diversity.ngrams import Texts
from bench.metrics.score import Gold, Row, Score, check_ids, explained
from bench.metrics.sums import Sums, mean

__all__ = ["ngram_diversity_scores"]

NO_TOKENS = "not applicable: rows without token_ids"


def ngram_diversity_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Score texts by Meister et al.'s n-gram diversity and by SimCTG's, of words and of tokens.

    A value is None where it is not defined: no text that is long enough, or rows without token ids.

    Args:
        rows: `{"id", "text"}`, with `token_ids` and `reference_ids` if the task is open-ended.
        gold: for its ids only.

    Raises:
        ValueError: other ids than the gold's, or `token_ids` in some rows only.
    """
    check_ids(rows, gold)
    rows = sorted(rows, key=lambda row: str(row["id"]))
    tokens = tokens_of(rows, "token_ids")
    about = NO_TOKENS if tokens is None else tokenisation(tokens_of(rows, "reference_ids"))
    return [
        *_columns(whitespace_ids([row["text"] for row in rows]), "words:whitespace", ""),
        *_columns(tokens or [], about, "/tokens"),
    ]


def _columns(texts: Texts, about: str, end: str) -> list[Score]:
    counts = kinds_and_lengths(texts)
    there, value = (counts[:, -1] > 0).tolist(), mean_of(counts)
    items = None if value is None else Sums(mean(), list(zip(by_text(counts), map(int, there), strict=True)))
    found = [Score(f"ngram-diversity{end}", value, "percent", True, sum(there), signature(about), items)]
    for definition in DEFINITIONS:
        value = product_of(pooled(texts, definition), definition)
        name = "simctg-diversity" + ("" if definition == "released" else f"/{definition}") + end
        found.append(Score(name, value, "percent", True, len(texts), simctg_signature(definition, about)))
    return [explained(score, "no text that is long enough") for score in found]
