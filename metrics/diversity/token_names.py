"""How signatures name the tokens of stored rows, and the names of columns by their definition."""

import hashlib

from bench.metrics.diversity.ngrams import Texts, flatten

TOO_SHORT = "too few texts, or none with an n-gram"


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
