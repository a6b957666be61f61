"""Patterns: which names of a board are meant by names and globs."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Sequence

from bench.errors import UsageError, did_you_mean

__all__ = ["fits", "refuse_unknown"]


def fits(name: str, patterns: Sequence[str] | None) -> bool:
    """Whether a name is one of those that are meant; None for all."""
    return patterns is None or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def refuse_unknown(what: str, patterns: Sequence[str] | None, names: Collection[str]) -> None:
    """Refuse a pattern that fits nothing, and no pattern at all: an empty board would look like a finding.

    Raises:
        UsageError: it does, or there is none.
    """
    if patterns is not None and not patterns:
        raise UsageError(f"no {what} is named; there are: {', '.join(sorted(names))}")
    for pattern in patterns or ():
        if not fnmatch.filter(names, pattern):
            raise UsageError(f"the board has no {what} '{pattern}'{did_you_mean(pattern, sorted(names))}")
