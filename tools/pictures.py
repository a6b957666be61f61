"""Pictures for the documentation: the page in Chromium, and a table on a terminal of 80 columns.

`python -m tools.regenerate pictures` makes them again in docs/pictures.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"
PAGE = ROOT / "leaderboards" / "index.html"
TERMINAL = FOLDER / "terminal.svg"
METHODS = "seq2seq,adadec,adadec.swapped,lead"
COMMAND = ("report", "--task", "gigaword", "--method", METHODS, "--results", "leaderboards/runs/grid.jsonl")
SCREENS = ((1280, 640), (400, 960))
"""Width and height in CSS pixels."""
SCHEMES = ("light", "dark")

COLUMNS, CHARACTER, LINE, EDGE = 80, 8.43, 18, 16
"""Of the terminal: columns, and in pixels the width of a character, the height of a line, and the edge around."""
STYLES = {"1": "font-weight:bold", "2": "opacity:.7", "3": "font-style:italic", "4": "text-decoration:underline"}
"""What the numbers of a colour command mean (ECMA-48, SGR) that tables use."""
CODE = re.compile(r"\x1b\[([\d;]*)m")
HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{label}">\n'
    "<style>text{{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#e3e6e8;white-space:pre}}</style>\n"
    '<rect width="100%" height="100%" rx="10" fill="#14171a"/>\n'
)


def page_path(width: int, scheme: str) -> Path:
    """Return the file of a picture of the page."""
    return FOLDER / f"page-{width}-{scheme}.webp"


def write_page_pictures() -> None:
    """Write the page as every screen shows it, from its top.

    Raises:
        SystemExit: there is no Chromium.
    """
    from tests.leaderboards.chromium import Chromium, installed

    program = installed()
    if program is None:
        raise SystemExit("expected a Chromium on the PATH to draw the page with, found none; install Debian's chromium")
    with tempfile.TemporaryDirectory() as folder:
        browser = Chromium(program, Path(folder))
        for width, height in SCREENS:
            for scheme in SCHEMES:
                browser.size(width, height)
                browser.prefers(scheme)
                browser.open(PAGE.as_uri())
                page_path(width, scheme).write_bytes(browser.screenshot(format="webp", quality=50))
        browser.close()


def on_terminal(command: tuple[str, ...]) -> str:
    """Return what `bench` prints on a terminal of 80 columns, with its colours."""
    ours, theirs = pty.openpty()
    settings = {"COLUMNS": str(COLUMNS), "TERM": "xterm-256color", "COLORTERM": "", "NO_COLOR": ""}
    process = subprocess.Popen(
        [sys.executable, "-m", "bench", *command],
        cwd=ROOT,
        env={**os.environ, **settings},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    printed = b""
    while part := _read(ours):
        printed += part
    os.close(ours)
    if process.wait():
        raise RuntimeError(f"expected exit code 0 of bench {' '.join(command)}, got {process.returncode}")
    return printed.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    """Return the next bytes; none when the program has ended, which Linux says by an error."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def terminal_picture() -> str:
    """Return the picture of a table on a terminal, as SVG: a text element for every run of one style."""
    shown = f"$ bench {' '.join(COMMAND)}"
    lines = [shown, *on_terminal(COMMAND).rstrip().split("\n")]
    size = {"width": COLUMNS * CHARACTER + 2 * EDGE, "height": len(lines) * LINE + 2 * EDGE}
    texts = []
    styles: set[str] = set()
    for place, line in enumerate(lines):
        y = EDGE + (place + 0.75) * LINE
        texts += _runs(line, y, styles)
    return HEAD.format(**size, label=escape(shown)) + "\n".join(texts) + "\n</svg>\n"


def _runs(line: str, y: float, styles: set[str]) -> list[str]:
    """Return the text elements of a line; the styles that are on at its end go on in the next."""
    texts, column = [], 0
    for place, part in enumerate(CODE.split(line)):
        if place % 2:
            for code in part.split(";"):
                if code in STYLES:
                    styles.add(code)
                else:
                    styles.clear()
            continue
        if part.strip():
            style = ";".join(STYLES[code] for code in sorted(styles))
            texts.append(_text(part, EDGE + column * CHARACTER, y, style))
        column += len(part)
    return texts


def _text(part: str, x: float, y: float, style: str) -> str:
    """Return a run of text, as wide as its characters are on a terminal, whatever the font."""
    styled = ""
    if style:
        styled = f' style="{style}"'
    width = len(part) * CHARACTER
    return f'<text x="{x:g}" y="{y:g}" textLength="{width:g}" xml:space="preserve"{styled}>{escape(part)}</text>'


def write() -> None:
    """Write all pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    TERMINAL.write_text(terminal_picture(), encoding="utf-8")
    write_page_pictures()
