"""Token rows: the token ids of stored rows, and how signatures name the tokens."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from bench.metrics.diversity.ngrams import Texts, flatten
from bench.metrics.score import Gold, Row, field_of_all, ordered

TOO_SHORT = "too few texts, or none with an n-gram"
NO_REFERENCES = "rows without reference_ids"


@dataclass(frozen=True)
class TokenRows:
    """The token ids of generated texts and of their true continuations, in the order of the rows' ids.

    Args:
        texts: token ids of each generated text.
        references: token ids of each true continuation; None where the rows have none.
        tokens: part of a signature that names the tokens, from `tokenisation`.
    """

    texts: Texts
    references: Texts | None
    tokens: str


def token_rows(rows: Sequence[Row], gold: Gold) -> TokenRows:
    """Read the token ids of stored rows.

    Args:
        rows: `{"id", "token_ids", "reference_ids"}`; all rows or none have `reference_ids`.
        gold: for its ids only.

    Raises:
        ValueError: the ids are not those of `gold`, a row without `token_ids`, or `reference_ids` in some rows only.
    """
    rows = ordered(rows, gold)
    texts, references = field_of_all(rows, "token_ids"), field_of_all(rows, "reference_ids")
    if texts is None:
        raise ValueError(f"expected rows with token_ids, got {len(rows)} without; generate them again")
    return TokenRows(texts, references, tokenisation(references))


def tokenisation(references: Texts | None) -> str:
    """Name the tokens by a hash of the true continuations, which differ with the tokenizer.

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
    """Return the name of a column; the column of the definition `plain` has no ending.

    >>> column_name("distinct-1", "f2_code", "f2_code"), column_name("distinct-1", "per_text", "f2_code")
    ('distinct-1', 'distinct-1/per_text')
    """
    return name if definition == plain else f"{name}/{definition}"
