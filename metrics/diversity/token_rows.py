"""Token rows: the token ids of stored rows, and what a signature says of the tokens."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from bench.metrics.diversity.ngrams import Texts, flatten
from bench.metrics.score import Gold, Row, ordered

__all__ = ["TOO_SHORT", "TokenRows", "column_name", "token_rows", "tokenisation", "tokens_of"]

TOO_SHORT = "too few texts, or none with an n-gram"
"""Why a column of token ids has no value."""


@dataclass(frozen=True)
class TokenRows:
    """The token ids of generated texts and of their true continuations, in the order of the rows' ids.

    Args:
        texts: token ids of each generated text.
        references: token ids of each true continuation; None where the rows have none.
        tokens: what signatures say of the tokens, from `tokenisation`.
    """

    texts: Texts
    references: Texts | None
    tokens: str


def token_rows(rows: Sequence[Row], gold: Gold) -> TokenRows:
    """Read the token ids of stored rows.

    Args:
        rows: `{"id", "token_ids", "reference_ids"}`; `reference_ids` may be left out of all.
        gold: for its ids only.

    Raises:
        ValueError: other ids than the gold's, a row without `token_ids`, or `reference_ids` in some rows only.
    """
    rows = ordered(rows, gold)
    texts, references = tokens_of(rows, "token_ids"), tokens_of(rows, "reference_ids")
    if texts is None:
        raise ValueError(f"expected rows with token_ids, got {len(rows)} without; generate them again")
    return TokenRows(texts, references, tokenisation(references))


def tokens_of(rows: Sequence[Row], field: str) -> Texts | None:
    """Return the token ids of every row, or None when no row has them.

    Raises:
        ValueError: some rows have them and others do not.
    """
    without = [row["id"] for row in rows if field not in row]
    if rows and len(without) == len(rows):
        return None
    if without:
        raise ValueError(f"expected {field} in all {len(rows)} rows or in none, {len(without)} lack it: {without[:3]}")
    return [row[field] for row in rows]


def tokenisation(references: Texts | None) -> str:
    """Say which tokens are counted, by a hash of the true continuations, which differ with the tokenizer.

    >>> tokenisation([[4, 8], [15]])
    'longest:2|tokens:62fcd9cb'
    >>> tokenisation(None)
    'tokens:unknown'
    """
    if references is None:
        return "tokens:unknown"
    tokens, lengths = flatten(references)
    digest = hashlib.sha256(b"".join(part.astype("<i8").tobytes() for part in (lengths, tokens)))
    return f"longest:{lengths.max(initial=0)}|tokens:{digest.hexdigest()[:8]}"


def column_name(name: str, definition: str, plain: str) -> str:
    """Return the name of a column: `plain` is the definition whose column has no ending.

    >>> column_name("distinct-1", "f2_code", "f2_code"), column_name("distinct-1", "per_text", "f2_code")
    ('distinct-1', 'distinct-1/per_text')
    """
    if definition == plain:
        return name
    return f"{name}/{definition}"
