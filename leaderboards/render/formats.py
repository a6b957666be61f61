"""Formats: leaderboards as text in one of the formats there are, or in one of the user's own."""

from __future__ import annotations

from bench.errors import UsageError
from bench.leaderboards.leaderboards import Leaderboards
from bench.leaderboards.render import find_format

__all__ = ["render"]


def render(leaderboards: Leaderboards, form: str) -> str:
    """Render leaderboards in one of `FORMATS`, or as `module:Name` or `file.py:Name` does.

    Raises:
        UsageError: there is no such format, or one of the user's own returns no text.
    """
    entry = find_format(form).value
    text = entry.load()(leaderboards)
    if not isinstance(text, str):
        raise UsageError(f"'{form}' should return text, not {type(text).__name__}")
    if entry.with_notes:
        text += "".join(f"{note}\n" for note in leaderboards.notes)
    return text
