"""Leaderboards as terminal text, Markdown, LaTeX, CSV, JSON and HTML. FORMATS lists them all."""

import inspect
from dataclasses import dataclass
from typing import Any

from bench.base.registry import Entry, find
from bench.errors import UsageError


@dataclass(frozen=True)
class FormatEntry(Entry):
    """A format of leaderboards: a function from `Leaderboards` to text.

    Args:
        ending: of the names of its files.
    """

    ending: str = ".txt"


RENDER = "bench.leaderboards.render"

FORMATS: dict[str, FormatEntry] = {
    "terminal": FormatEntry(f"{RENDER}.formats:terminal", "tables for a terminal"),
    "markdown": FormatEntry(f"{RENDER}.formats:markdown", "tables in Markdown", ending=".md"),
    "csv": FormatEntry(f"{RENDER}.formats:comma_separated", "a line for each number", ending=".csv"),
    "latex": FormatEntry(f"{RENDER}.formats:latex", "tables for a paper", ending=".tex"),
    "json": FormatEntry(f"{RENDER}.board:as_json", "everything, for other programs", ending=".json"),
}
PAGE = "html"
"""The page, which is no function of leaderboards alone: it shows what models wrote, and is always a file."""


def find_format(name: str) -> FormatEntry:
    """Return the entry of a format: built in, or of a user's function `(leaderboards) -> str`.

    Raises:
        UsageError: there is no such format, or it is no such function.
        MissingError: its module or file is not there.
    """
    if name in FORMATS:
        return FORMATS[name]
    return FormatEntry(find(name, FORMATS, "format", check=check_format).code["class"], "a format of yours")


def check_format(name: str, value: Any) -> None:
    """Refuse what is no function of leaderboards.

    Raises:
        UsageError: it is no such function.
    """
    if inspect.isclass(value) or not callable(value) or len(inspect.signature(value).parameters) != 1:
        raise UsageError(f"'{name}' is no function (leaderboards) -> str")


__all__ = ["FORMATS", "PAGE", "FormatEntry", "check_format", "find_format"]
