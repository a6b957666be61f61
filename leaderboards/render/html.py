"""Page: a board as one HTML file that needs no network, complete without JavaScript (`page/` holds its parts)."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from importlib import resources
from pathlib import Path
from typing import Any

from bench.base.files import write_atomic
from bench.base.redaction import redacted
from bench.leaderboards.render.extras import even_points
from bench.leaderboards.sections import NOT_FOR_SCRIPTS, around_tables, escaped, table_anchor
from bench.leaderboards.statistics.constants import ALPHA

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
        "notes": "".join(f"<li>{escaped(note)}</li>" for note in board["notes"]),
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
    heads = "".join(f"<th scope=col>{escaped(name)}" for name in ("Method", "Backbone", "Seeds", *ways))
    mark, cue, remarks = "", "", ""
    if table["watermark"]:
        mark = f"<p class=mark>Not comparable with published numbers: {escaped(table['watermark'])}</p>"
    if len(names) > 1:
        cue = f"<p class=sideways>{len(names)} columns: scroll the table sideways →</p>"
    if table["remarks"]:
        remarks = f"<ul class=remarks>{''.join(f'<li>{escaped(remark)}' for remark in table['remarks'])}</ul>"
    title = escaped(table["title"])
    return (
        f"<section class=board id={table_anchor(table['id'])}><h2>{escaped(table['name'])}"
        f"<small>{title}</small></h2>{mark}{cue}{_legend(table)}"
        f'<div class=scroll tabindex=0 role=group aria-label="Table that scrolls"><table aria-label="{title}">'
        f"<thead><tr>{heads}<tbody>{''.join(_static_lines(table, names))}</table></div>"
        f"{remarks}</section>\n"
    )


def _legend(table: Mapping[str, Any]) -> str:
    """Return what the marks of a table mean, above it."""
    if not table["legend"]:
        return ""
    return f"<p class=legend-line>{escaped(' · '.join(table['legend']))}</p>"


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
    backbone, seeds = escaped(row["backbone"]), escaped(row["seeds_text"])
    return f"{tag}<th scope=row>{escaped(row['label'])}<td>{backbone}<td>{seeds}{cells}"


def _static_paper(paper: Mapping[str, Any], names: Sequence[str]) -> str:
    cells = "".join(f"<td>{escaped(paper['texts'].get(name, ''))}" for name in names)
    label = escaped(paper["name"])
    return f"<tr class=paper><th scope=row>{label}<td>{escaped(paper['backbone'])}<td>{cells}"


def _static_value(value: Mapping[str, Any] | None) -> str:
    if value is None:
        return ""
    text = escaped(value["text"])
    if value["best"]:
        text = f"<b>{text}</b>"
    elif value["second"]:
        text = f"<u>{text}</u>"
    if value["differs"]:
        text += "<i>†</i>"
    if value["interval"]:
        text += f" ±{escaped(value['interval'])}"
    if value["fewer"]:
        text += f" ({escaped(value['fewer'])})"
    return text


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


# What the page has room for ------------------------------------------------------------------------------------------


CHARACTERS = 60_000
"""Of all samples of a page together. Deflated and in base64 they take about half as many bytes."""
POINTS = 7
"""Of a curve."""
SEEDS = 3
"""Of a row that have a curve; `charts.js` says so."""


def within_budget(board: Mapping[str, Any], characters: int = CHARACTERS) -> dict[str, Any]:
    """Return a board with as many samples as fit: the same first ones of every table, at least one of each.

    Args:
        board: as `board.schema.json` says.
        characters: of prompts, references and texts together.

    Returns:
        The board; of every table `samples` is cut, and `samples_left_out` says by how many.
    """
    most = max((len(table["samples"]) for table in board["tables"]), default=0)
    kept = 1
    while kept < most and _characters(board, kept + 1) <= characters:
        kept += 1
    tables = []
    for table in board["tables"]:
        samples = table["samples"][:kept]
        tables.append({**table, "samples": samples, "samples_left_out": len(table["samples"]) - len(samples)})
    return {**board, "tables": tables}


def without_hidden_seeds(board: Mapping[str, Any]) -> dict[str, Any]:
    """Return a board whose values by seed are those of the columns that are shown at first.

    Where many metrics are hidden, their values by seed are a fifth of the page; mean and interval stay.
    """
    tables = []
    for table in board["tables"]:
        hidden = {column["name"] for column in table["columns"] if not column["shown"]}
        rows = {name: [_without_seeds(row, hidden) for row in table[name]] for name in ("methods", "human")}
        tables.append({**table, **rows})
    return {**board, "tables": tables}


def with_few_curves(board: Mapping[str, Any]) -> dict[str, Any]:
    """Return a board with the curves of the first `SEEDS` seeds of a row, each of at most `POINTS` points.

    First and last points stay.
    """
    tables = []
    for table in board["tables"]:
        of_row: Counter[str] = Counter()
        curves = []
        for curve in sorted(table["curves"], key=lambda curve: curve["seed"]):
            of_row[curve["id"]] += 1
            if of_row[curve["id"]] <= SEEDS:
                lines = {name: even_points(curve[name], POINTS) for name in ("points", "validation") if name in curve}
                curves.append({**curve, **lines})
        rows = [curve["id"] for curve in table["curves"]]
        tables.append({**table, "curves": sorted(curves, key=lambda curve: rows.index(curve["id"]))})
    return {**board, "tables": tables}


def _without_seeds(row: Mapping[str, Any], columns: Set[str]) -> dict[str, Any]:
    """Return a row whose values in these columns have none by seed, but for a conflict, which is of one seed."""
    values = {}
    for name, value in row["values"].items():
        if name in columns and not value["conflict"] and len(row["seeds"]) > 1:
            value = {**value, "by_seed": {}}
        values[name] = value
    return {**row, "values": values}


def _characters(board: Mapping[str, Any], kept: int) -> int:
    """Return how many characters so many samples of every table have."""
    total = 0
    for table in board["tables"]:
        for sample in table["samples"][:kept]:
            total += len(sample["prompt"]) + len(sample["reference"]) + sum(map(len, sample["texts"].values()))
    return total


# The board as text in the page ---------------------------------------------------------------------------------------


DECIMALS = {"mean": 2, "half": 2}
"""Of numbers that the page shows with so many."""
DIGITS, OTHER_DIGITS = {"mean": 4, "half": 3, "difference": 5, "p": 3, "p_items": 3, "points": 3, "validation": 3}, 4
"""Significant ones of numbers in the page, more where `DECIMALS` gives more. The JSON report has all."""


def packed(board: Mapping[str, Any]) -> str:
    """Return a board as text for the page: its JSON, rounded, deflated.

    So a page with samples and curves stays one that can be sent.
    """
    for_scripts = {name: part for name, part in board.items() if name not in NOT_FOR_SCRIPTS}
    return deflated(json.dumps(_rounded(for_scripts), allow_nan=False, separators=(",", ":")))


def unpacked(text: str) -> dict[str, Any]:
    """Return the board of `packed`.

    >>> unpacked(packed({"tables": [], "mean": 1 / 3}))
    {'tables': [], 'mean': 0.3333}
    """
    return dict(json.loads(inflated(text)))


def deflated(text: str) -> str:
    """Return a text deflated (RFC 1950), in base64 on one line; `loader.js` has the inverse."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def inflated(text: str) -> str:
    """Return the text of `deflated`.

    >>> inflated(deflated("let a = 1;"))
    'let a = 1;'
    """
    return zlib.decompress(base64.b64decode(text)).decode()


def _rounded(content: Any, name: str = "") -> Any:
    """Return a copy with as many digits as `DIGITS` says; what papers print stays as printed."""
    if name == "published":
        return content
    if isinstance(content, float):
        return _short(content, name)
    if isinstance(content, Mapping):
        return {key: _rounded(value, key) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_rounded(value, name) for value in content]
    return content


def _short(value: float, name: str) -> float:
    short = float(f"{value:.{DIGITS.get(name, OTHER_DIGITS)}g}")
    if name in DECIMALS:
        finer = round(value, DECIMALS[name])
        short = min(short, finer, key=lambda rounded: abs(rounded - value))
    if name == "p" and (short <= ALPHA) != (value <= ALPHA):  # a dagger is of the number as it is
        return value
    if short.is_integer():
        return int(short)
    return short
