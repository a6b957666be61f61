"""The page: a board as one HTML file that needs no network, complete without JavaScript (`page/` holds its parts)."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import zlib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from bench.base.files import write_atomic
from bench.leaderboards.render.grid import number, plain
from bench.leaderboards.statistics.significance import ALPHA

SCRIPTS = ("state.js", "table.js", "details.js", "charts.js", "tradeoff.js", "samples.js", "copy.js", "page.js")
"""In the order they are joined: one function scope, `page.js` starts it."""

DIGITS, OTHER_DIGITS = {"mean": 9, "half": 6, "difference": 5, "p": 3}, 4
"""Significant ones of numbers in the page, more where they are rounded once more. The JSON report has all."""

WAYS = {True: " ↑", False: " ↓", None: ""}


def write_page(path: Path, board: Mapping[str, Any]) -> None:
    """Write the page of a board, in place of an older one."""
    write_atomic(path, page(board).encode("utf-8", "replace"), replace=True)


def page(board: Mapping[str, Any]) -> str:
    """Return the page of a board.

    Nothing in a board is trusted: it is base64 in its element, the static tables are escaped, the scripts make text
    nodes of it only, and the page's policy lets nothing but its own script and style run and nothing be loaded.
    """
    style, script = _bare(_part("page.css")), _script()
    policy = [
        "default-src 'none'", f"script-src '{_digest(script)}'", f"style-src '{_digest(style)}'",
        "base-uri 'none'", "form-action 'none'",
    ]  # fmt: skip
    given = {
        "policy": "; ".join(policy),
        "style": style,
        "static": "".join(static_table(table) for table in board["tables"]),
        "notes": "".join(f"<li>{_text(note)}</li>" for note in board["notes"]),
        "board": packed(board),
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: given[found[1]], _part("page.html"))


def packed(board: Mapping[str, Any]) -> str:
    """Return a board as text for the page: its JSON, rounded, deflated (RFC 1950), in base64, of any line length.

    `state.js` inflates it, so that rows cost little and a page with samples and curves stays one that can be sent.
    """
    content = json.dumps(_rounded(board), allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(content.encode("ascii"), 9)).decode()


def unpacked(text: str) -> dict[str, Any]:
    """Return the board of `packed`.

    >>> unpacked(packed({"tables": [], "mean": 1 / 3}))
    {'tables': [], 'mean': 0.333333333}
    """
    return dict(json.loads(zlib.decompress(base64.b64decode(text))))


def _rounded(content: Any, name: str = "") -> Any:
    if name == "published":  # as printed
        return content
    if isinstance(content, float):
        short = float(f"{content:.{DIGITS.get(name, OTHER_DIGITS)}g}")
        if name == "p" and (short <= ALPHA) != (content <= ALPHA):  # a dagger is of the number as it is
            return content
        return int(short) if short.is_integer() else short
    if isinstance(content, Mapping):
        return {key: _rounded(value, key) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_rounded(value, name) for value in content]
    return content


def static_table(table: Mapping[str, Any]) -> str:
    """Return a table for readers without JavaScript: every row and every shown column."""
    shown = [column for column in table["columns"] if column["shown"]]
    names = [column["name"] for column in shown]
    ways = [f"{column['name']}{WAYS[column['higher_is_better']]}" for column in shown]
    heads = "".join(f"<th scope=col>{_text(name)}" for name in ("Method", "Backbone", "Seeds", *ways))
    lines, said = [], set()
    for row in table["methods"]:
        lines.append(_static_row(row, names, ""))
        for i, paper in enumerate(table["published"]):
            if paper["method"] == row["method"] and i not in said:
                said.add(i)
                cells = "".join(f"<td>{number(paper['values'].get(name))}" for name in names)
                about = f"{_text(paper['paper'])} {_text(paper['table'])}"
                lines.append(f"<tr class=paper><th scope=row>{about}<td>{_text(paper['backbone'])}<td>{cells}")
    lines += [_static_row(row, names, " class=human") for row in table["human"]]
    mark = f"<p class=mark>Not comparable with published numbers: {_text(table['watermark'])}</p>"
    remarks = "".join(f"<li>{_text(remark)}" for remark in table["remarks"])
    return (
        f"<section class=board><h2>{_text(table['title'])}</h2>{mark if table['watermark'] else ''}"
        f"<div class=scroll><table><thead><tr>{heads}<tbody>{''.join(lines)}</table></div>"
        f"{f'<ul class=remarks>{remarks}</ul>' if remarks else ''}</section>\n"
    )


def _static_row(row: Mapping[str, Any], names: list[str], kind: str) -> str:
    diverged = f" (div {row['diverged']})" if row["diverged"] else ""
    n = max((value["n_seeds"] for value in row["values"].values()), default=0)
    cells = "".join(f"<td>{_static_value(row['values'].get(name))}" for name in names)
    head = f"<tr{kind}><th scope=row>{_text(row['label'])}<td>{_text(row['backbone'])}"
    return f"{head}<td>{n}{diverged}{cells}" if not kind else f"{head}<td>{cells}"


def _static_value(value: Mapping[str, Any] | None) -> str:
    if value is None:
        return ""
    if value["mean"] is None:
        return "conflict" if value["conflict"] else "n/a"
    shown = number(value["mean"])
    shown = f"<b>{shown}</b>" if value["best"] else f"<u>{shown}</u>" if value["second"] else shown
    marks = ("†" if value["differs"] else "") + value["tied"]
    half = f" ±{number(value['half'])}" if value["half"] is not None else ""
    return f"{shown}{f'<i>{_text(marks)}</i>' if marks else ''}{half}"


def _text(text: str) -> str:
    return html.escape(plain(text))


def _part(name: str) -> str:
    return resources.files("bench.leaderboards").joinpath("page", name).read_text(encoding="utf-8")


def _script() -> str:
    return '(async () => {\n"use strict";\n' + "".join(_bare(_part(name)) for name in SCRIPTS) + "})();\n"


def _bare(text: str) -> str:
    """Return a script or style without indents and lines of comment; no string in them goes over a line."""
    lines = (line.strip() for line in text.splitlines())
    return "".join(line + "\n" for line in lines if line and not line.startswith("//"))


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
