"""Notebooks of the documentation: pages whose blocks of Python are cells, and the .ipynb files made of them.

The page is the source. `python -m tools.regenerate notebooks` writes the .ipynb beside it, without outputs.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tools.site.pages import ROOT

FOLDER = ROOT / "docs" / "notebooks"
CELL = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
WRITEFILE = "%%writefile "
"""The only command of a notebook that pages use: the rest of the cell becomes a file."""


def sources() -> list[Path]:
    """Return the pages that are notebooks too."""
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


def notebook(text: str) -> str:
    """Return the content of the .ipynb of a page."""
    made: list[dict[str, Any]] = []
    for number, (kind, part) in enumerate(cells(text)):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        made.append({**cell, "source": part.splitlines(keepends=True)})
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {"cells": made, "metadata": {"kernelspec": python}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def write_all() -> None:
    """Write the .ipynb of every page beside it."""
    for path in sources():
        path.with_suffix(".ipynb").write_text(notebook(path.read_text(encoding="utf-8")), encoding="utf-8")


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
