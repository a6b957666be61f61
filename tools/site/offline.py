"""What makes a built site whole without a network: its search has its own worker, and no page asks another host."""

from __future__ import annotations

import re
from pathlib import Path

BOARD = Path("leaderboards/index.html")
"""The page of the kept runs, which the generator has not made."""
WORKER = "https://unpkg.com/iframe-worker/shim"
"""Where the generator takes the worker of its search from on file://."""
VENDORED = "docs/assets/iframe-worker/shim.js"
REQUEST = re.compile(
    r"""(?:\bsrc|\bsrcset|\bdata)=["']?(?:https?:)?//"""  # scripts, pictures, frames
    r"""|<link[^>]+href=["']?(?:https?:)?//"""  # styles, fonts
    r"""|url\(["']?https?:"""
)
"""What a browser would ask another host for."""


def make_whole(site: Path) -> None:
    """Change the pages of a built site in place.

    Args:
        site: its folder.

    Raises:
        SystemExit: a page asks another host for something.
    """
    for path in sorted(site.rglob("*.html")):
        place = path.relative_to(site)
        if place != BOARD:
            text = path.read_text(encoding="utf-8").replace(WORKER, "../" * (len(place.parts) - 1) + VENDORED)
            refuse_requests(text, path)
            path.write_text(text, encoding="utf-8")


def refuse_requests(text: str, path: Path) -> None:
    """Raise SystemExit where a page asks another host for something."""
    asked = REQUEST.search(text)
    if asked is not None:
        around = text[asked.start() : asked.start() + 120]
        raise SystemExit(f"{path} asks another host for something: {around!r}; bring it into docs/")
