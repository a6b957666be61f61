"""The picture of the page for README: `python -m tools.pictures`, with a Chromium on the PATH."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.leaderboards.chromium import Chromium, installed

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "leaderboards" / "index.html"
PICTURE = ROOT / "docs" / "pictures" / "page-1280-light.webp"
WIDTH, HEIGHT = 1280, 640
"""Of the screen, in CSS pixels."""


def main() -> None:
    """Draw the top of the page.

    Raises:
        SystemExit: there is no Chromium.
    """
    program = installed()
    if program is None:
        raise SystemExit("expected a Chromium on the PATH to draw the page with, found none; install Debian's chromium")
    with tempfile.TemporaryDirectory() as folder:
        browser = Chromium(program, Path(folder))
        browser.size(WIDTH, HEIGHT)
        browser.prefers("light")
        browser.open(PAGE.as_uri())
        PICTURE.write_bytes(browser.screenshot(format="webp", quality=30))
        browser.close()


if __name__ == "__main__":
    main()
