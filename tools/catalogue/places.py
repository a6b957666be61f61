"""Where the generated pages are, and how they name each other: every name of a file in one place."""

from __future__ import annotations

import posixpath
from pathlib import Path

__all__ = [
    "API",
    "API_INDEX",
    "BACKBONES",
    "BOARD",
    "CLAIMS",
    "COMMAND_LINE",
    "DECODINGS",
    "DOCS",
    "FAMILIES",
    "FOLDERS",
    "METHODS",
    "METRICS",
    "ROOT",
    "TASKS",
    "link",
    "method_page",
    "module_page",
    "task_page",
]

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FOLDERS = ("catalogue", "api")
"""Below `docs`: everything in them is generated."""

METHODS = "catalogue/methods.md"
TASKS = "catalogue/tasks.md"
METRICS = "catalogue/metrics.md"
BACKBONES = "catalogue/backbones.md"
DECODINGS = "catalogue/decodings.md"
COMMAND_LINE = "catalogue/command_line.md"
API = "api"
API_INDEX = f"{API}/bench.md"

CLAIMS = "../leaderboards/claims.md"
"""Not made here, relative to `docs`; so is the next."""
FAMILIES = "families.md"

BOARD = ROOT / "leaderboards" / "runs" / "grid.jsonl"
"""The kept runs that verdicts and measured costs are read from."""


def method_page(name: str) -> str:
    """Return the page of a method, with all its variants."""
    return f"catalogue/methods/{name.partition('.')[0]}.md"


def task_page(name: str) -> str:
    """Return the page of a task."""
    return f"catalogue/tasks/{name}.md"


def module_page(module: str) -> str:
    """Return the page of a module."""
    return f"{API}/{module}.md"


def link(text: str, page: str, of: str) -> str:
    """Return a link to a page.

    Args:
        text: what is shown, as Markdown.
        page: where it leads, relative to `docs`; a heading may stand behind `#`.
        of: the page that it stands on.

    >>> link("`face`", method_page("face.released"), METHODS)
    '[`face`](methods/face.md)'
    """
    return f"[{text}]({posixpath.relpath(page, posixpath.dirname(of))})"
