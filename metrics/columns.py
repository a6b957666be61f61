"""Columns: the names of a metric family's columns and their direction, as short patterns."""

import re
from collections.abc import Iterable

SIGNS = {"+": True, "-": False, "=": None}


def expand(pattern: str) -> list[str]:
    """Return the names that a pattern stands for: each of the alternatives in braces.

    >>> expand("bleu-{1,2}{,/original}")
    ['bleu-1', 'bleu-1/original', 'bleu-2', 'bleu-2/original']
    """
    before, brace, rest = pattern.partition("{")
    if not brace:
        return [pattern]
    inside, _, after = rest.partition("}")
    return [before + word + tail for word in inside.split(",") for tail in expand(after)]


def is_named(column: str, pattern: str) -> bool:
    """Return whether a pattern stands for a column; `*` stands for any text, such as the name of a tagger.

    >>> is_named("p_ent[small,level2,mean]", "p_ent[*,level2,{mean,pooled}]")
    True
    """
    return any(re.fullmatch(re.escape(name).replace(r"\*", ".*"), column) for name in expand(pattern))


def matching(column: str, signed: Iterable[str]) -> str:
    """Return the pattern that stands for a column, with its sign; arguments and errors as for `direction_of`."""
    for pattern in signed:
        if is_named(column, pattern[1:]):
            return pattern
    raise KeyError(f"no pattern for column '{column}' among {list(signed)}")


def direction_of(column: str, signed: Iterable[str]) -> bool | None:
    """Return whether a higher value is better; None where neither direction is.

    Args:
        column: name of a column.
        signed: patterns of a family, each after `+` (higher is better), `-` (lower is better) or `=` (neither).

    Raises:
        KeyError: no pattern stands for the column.

    >>> direction_of("ppl/word", ["-ppl/{token,word}"]), direction_of("p_ent[x,none]", ["=p_ent[*,none]"])
    (False, None)
    """
    return SIGNS[matching(column, signed)[0]]
