"""Formats: leaderboards as terminal output, Markdown, CSV, LaTeX or JSON; `html` writes the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from bench.leaderboards.leaderboards import Leaderboards
from bench.leaderboards.render.board import board
from bench.leaderboards.render.comma_separated import comma_separated
from bench.leaderboards.render.latex import latex
from bench.leaderboards.render.markdown import markdown
from bench.leaderboards.render.terminal import terminal

__all__ = ["FORMATS", "render"]


def _json(leaderboards: Leaderboards) -> str:
    """Render tables as the JSON content of a board."""
    return json.dumps(board(leaderboards), indent=1, allow_nan=False) + "\n"


FORMATS: Mapping[str, Callable[[Leaderboards], str]] = {
    "terminal": terminal,
    "markdown": markdown,
    "csv": comma_separated,
    "latex": latex,
    "json": _json,
}
WITH_NOTES = ("terminal", "markdown")
"""Formats for people, in which notes stand under the tables."""


def render(leaderboards: Leaderboards, form: str) -> str:
    """Render leaderboards in one of `FORMATS`."""
    text = FORMATS[form](leaderboards)
    if form in WITH_NOTES:
        text += "".join(f"{note}\n" for note in leaderboards.notes)
    return text
