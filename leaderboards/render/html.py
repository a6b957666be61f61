"""The page: a board as one HTML file that needs no network, complete without JavaScript (`page/` holds its parts)."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from bench.base.files import write_atomic
from bench.base.redaction import one_line, redacted
from bench.leaderboards.render.page.budget import with_few_curves, within_budget, without_hidden_seeds
from bench.leaderboards.render.page.data import deflated, packed
from bench.leaderboards.sections.around_tables import around_tables
from bench.leaderboards.sections.markup import table_anchor

STYLES = ("page.css", "sections.css")
SCRIPTS = (
    "state.js",
    "view.js",
    "table.js",
    "tools.js",
    "filters.js",
    "details.js",
    "charts.js",
    "samples.js",
    "links.js",
    "page.js",
)
"""In the order they are joined: one function scope, `page.js` starts it. `loader.js` brings them in."""

WAYS = {True: " ↑", False: " ↓", None: ""}


def write_page(path: Path, board: Mapping[str, Any]) -> None:
    """Write the page of a board, in place of an older one; a secret that a record holds stays out."""
    board = redacted(board)
    write_atomic(path, page(board).encode("utf-8", "replace"), replace=True)


def page(board: Mapping[str, Any]) -> str:
    """Return the page of a board.

    Nothing in a board is trusted: it is base64 in its element, the static tables are escaped, the scripts make text
    nodes of it only, and the page's policy lets nothing but its own scripts and style run and nothing be loaded. The
    scripts are deflated as the board is; `loader.js` inflates them, and the policy names what must come out.
    """
    style, script = "".join(_tight(_part(name)) for name in STYLES), _script()
    loader = _bare(_part("loader.js"))
    before, behind = around_tables(board)
    policy = [
        "default-src 'none'",
        f"script-src '{_digest(loader)}' '{_digest(script)}'",
        f"style-src '{_digest(style)}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    parts = {
        "policy": "; ".join(policy),
        "style": style,
        "before": before,
        "behind": behind,
        "static": "".join(static_table(table) for table in board["tables"]),
        "notes": "".join(f"<li>{_text(note)}</li>" for note in board["notes"]),
        "board": packed(within_budget(with_few_curves(without_hidden_seeds(board)))),
        "script": deflated(script),
        "loader": loader,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda slot: parts[slot[1]], _part("page.html"))


def static_table(table: Mapping[str, Any]) -> str:
    """Return a table for readers without JavaScript: every row and every shown column."""
    shown = [column for column in table["columns"] if column["shown"]]
    names = [column["name"] for column in shown]
    ways = [f"{column['name']}{WAYS[column['higher_is_better']]}" for column in shown]
    heads = "".join(f"<th scope=col>{_text(name)}" for name in ("Method", "Backbone", "Seeds", *ways))
    mark, cue, remarks = "", "", ""
    if table["watermark"]:
        mark = f"<p class=mark>Not comparable with published numbers: {_text(table['watermark'])}</p>"
    if len(names) > 1:
        cue = f"<p class=sideways>{len(names)} columns: scroll the table sideways →</p>"
    if table["remarks"]:
        remarks = f"<ul class=remarks>{''.join(f'<li>{_text(remark)}' for remark in table['remarks'])}</ul>"
    title = _text(table["title"])
    return (
        f"<section class=board id={table_anchor(table['id'])}><h2>{_text(table['name'])}"
        f"<small>{title}</small></h2>{mark}{cue}{_legend(table)}"
        f'<div class=scroll tabindex=0 role=group aria-label="Table that scrolls"><table aria-label="{title}">'
        f"<thead><tr>{heads}<tbody>{''.join(_static_lines(table, names))}</table></div>"
        f"{remarks}</section>\n"
    )


def _legend(table: Mapping[str, Any]) -> str:
    """Return what the marks of a table mean, above it."""
    if not table["legend"]:
        return ""
    return f"<p class=legend-line>{_text(' · '.join(table['legend']))}</p>"


def _static_lines(table: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Return our rows, each followed by what papers publish for its method, once, and what people's texts score."""
    lines, methods = [], set()
    for row in table["methods"]:
        lines.append(_static_row("<tr>", row, names))
        for paper in table["published"]:
            if paper["method"] == row["method"] and row["method"] not in methods:
                lines.append(_static_paper(paper, names))
        methods.add(row["method"])
    return lines + [_static_row("<tr class=human>", row, names) for row in table["human"]]


def _static_row(tag: str, row: Mapping[str, Any], names: Sequence[str]) -> str:
    cells = "".join(f"<td>{_static_value(row['values'].get(name))}" for name in names)
    backbone, seeds = _text(row["backbone"]), _text(row["seeds_text"])
    return f"{tag}<th scope=row>{_text(row['label'])}<td>{backbone}<td>{seeds}{cells}"


def _static_paper(paper: Mapping[str, Any], names: Sequence[str]) -> str:
    cells = "".join(f"<td>{_text(paper['texts'].get(name, ''))}" for name in names)
    label = _text(paper["name"])
    return f"<tr class=paper><th scope=row>{label}<td>{_text(paper['backbone'])}<td>{cells}"


def _static_value(value: Mapping[str, Any] | None) -> str:
    if value is None:
        return ""
    text = _text(value["text"])
    if value["best"]:
        text = f"<b>{text}</b>"
    elif value["second"]:
        text = f"<u>{text}</u>"
    if value["differs"]:
        text += "<i>†</i>"
    if value["interval"]:
        text += f" ±{_text(value['interval'])}"
    if value["fewer"]:
        text += f" ({_text(value['fewer'])})"
    return text


def _text(text: str) -> str:
    return html.escape(one_line(text))


def _part(name: str) -> str:
    return resources.files("bench.leaderboards").joinpath("page", name).read_text(encoding="utf-8")


def _script() -> str:
    return '(async () => {\n"use strict";\n' + "".join(_bare(_part(name)) for name in SCRIPTS) + "})();\n"


def _bare(text: str) -> str:
    """Return a script or style without indents and lines of comment; no string in them goes over a line."""
    lines = (line.strip() for line in text.splitlines())
    return "".join(line + "\n" for line in lines if line and not line.startswith("//"))


def _tight(text: str) -> str:
    """Return a style without comments and white space that means nothing; no string in it holds a brace or the like.

    >>> _tight("td { color: red; margin: 0 1px }\\n@media print { a, b { top: 0; } }")
    'td{color:red;margin:0 1px}@media print{a,b{top:0}}'
    """
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r" ?([{};,]) ?", r"\1", text)
    return re.sub(r"([\w-]): ", r"\1:", text).replace(";}", "}").strip()


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
