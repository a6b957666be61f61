"""Pages of docs/notebooks: their blocks of Python run one after the other, as the cells of a notebook do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tools.site.pages import ROOT

FOLDER = ROOT / "docs" / "notebooks"
CELL = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
WRITEFILE = "%%writefile "
"""The only command of a notebook that pages use: the rest of the cell becomes a file."""


def sources() -> list[Path]:
    """Return these pages."""
    return sorted(FOLDER.glob("*.md"))


def cells(text: str) -> list[tuple[str, str]]:
    """Return kind (`markdown` or `code`) and text of each cell of a page.

    >>> cells("# A\\n\\n```python\\nx = 1\\n```\\n\\nB\\n")
    [('markdown', '# A'), ('code', 'x = 1'), ('markdown', 'B')]
    """
    found = []
    parts = CELL.split(text)  # prose, code, prose, code, ..., prose
    for number, part in enumerate(parts):
        kind = "code" if number % 2 else "markdown"
        if part.strip():
            found.append((kind, part.strip("\n")))
    return found


def execute(text: str, name: str, folder: Path) -> dict[str, Any]:
    """Run the code cells of a page in order, in one namespace; return it.

    Args:
        text: the page.
        name: what tracebacks call it.
        folder: where `%%writefile` writes; the current folder of the caller.

    Raises:
        Exception: whatever a cell raises.
    """
    names: dict[str, Any] = {"__name__": name}
    for number, (kind, code) in enumerate(cells(text)):
        if kind == "markdown":
            continue
        if code.startswith(WRITEFILE):
            first, _, rest = code.partition("\n")
            (folder / first.removeprefix(WRITEFILE)).write_text(rest + "\n", encoding="utf-8")
        else:
            exec(compile(code, f"{name}, cell {number}", "exec"), names)
    return names
