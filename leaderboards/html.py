"""The page: a board as one HTML file that needs no network, complete without JavaScript (`page/` holds its parts)."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from bench.files import write_atomic
from bench.leaderboards.cells import number, plain
from bench.leaderboards.significance import ALPHA

SCRIPTS = ("state.js", "table.js", "details.js", "charts.js", "tradeoff.js", "samples.js", "copy.js", "page.js")
"""In the order they are joined: one function scope, `page.js` starts it."""

DIGITS, MEAN_DIGITS = 5, 9
"""Significant ones of numbers in the page, and of means, which are rounded once more; the JSON report has all."""

WAYS = {True: " ↑", False: " ↓", None: ""}
PARTED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def write_page(path: Path, board: Mapping[str, Any]) -> None:
    """Write the page of a board, in place of an older one."""
    write_atomic(path, page(board).encode("utf-8", "replace"), replace=True)


def page(board: Mapping[str, Any]) -> str:
    """Return the page of a board.

    Nothing in a board is trusted: its JSON cannot end its element, the static tables are escaped, the scripts make
    text nodes of it only, and the page's policy lets nothing but its own script and style run and nothing be loaded.
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
        "board": embedded(packed(board)),
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: given[found[1]], _part("page.html"))


def embedded(content: Any) -> str:
    """Return JSON that can stand in a script element: no character in it can end one or start a comment.

    >>> embedded("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return re.sub("[<>&\u2028\u2029]", lambda found: PARTED[found[0]], text)


def packed(board: Mapping[str, Any]) -> dict[str, Any]:
    """Return a board as small as it goes: `state.js` has the inverse, but for digits that are not shown.

    What is empty is left out, and a label that is the method's name. A row's values go by the places of their columns;
    each is `[mean, half, values by the row's seeds, signature, rest]`, where signatures and reasons are places in the
    table's `texts`.
    """
    tables = []
    for table in board["tables"]:
        places: dict[str, int] = {}
        small = {name: part for name, part in table.items() if part or name == "rows"}
        for group in ("methods", "human"):
            small[group] = [_packed_row(row, table["columns"], places) for row in table[group]]
        small["texts"] = list(places)
        tables.append(small)
    return {**board, "tables": tables}


def _packed_row(row: Mapping[str, Any], columns: list[Mapping[str, Any]], places: dict[str, int]) -> dict[str, Any]:
    small = {name: part for name, part in row.items() if part and (name != "label" or part != row["method"])}
    found: list[Any] = []
    for column in columns:
        value = row["values"].get(column["name"])
        if value is None:
            found.append(0)
            continue
        by_seed, names = value["by_seed"], [str(seed) for seed in row["seeds"]]
        seeds = [_short(by_seed.get(seed)) for seed in (names if by_seed and set(by_seed) <= set(names) else by_seed)]
        rest = {name: value[name] for name in ("conflict", "best", "second", "tied", "p", "against") if value[name]}
        if value["p"] is not None:
            rest["p"] = _short(value["p"])
        if value["why"]:
            rest["why"] = places.setdefault(value["why"], len(places))
        signature = places.setdefault(value["signature"], len(places))
        mean = _short(value["mean"], MEAN_DIGITS)
        found.append([mean, _short(value["half"]), seeds, signature, *([rest] if rest else [])])
    while found and not found[-1]:
        found.pop()
    return {**small, "values": found}


def _short(value: float | None, digits: int = DIGITS) -> float | int | None:
    if value is None:
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() else short


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
    marks = ("†" if value["p"] is not None and value["p"] <= ALPHA else "") + value["tied"]
    half = f" ±{number(value['half'])}" if value["half"] is not None else ""
    return f"{shown}{f'<sup>{_text(marks)}</sup>' if marks else ''}{half}"


def _text(text: str) -> str:
    return html.escape(plain(text))


def _part(name: str) -> str:
    return resources.files("bench.leaderboards").joinpath("page", name).read_text(encoding="utf-8")


def _script() -> str:
    return '(() => {\n"use strict";\n' + "".join(_bare(_part(name)) for name in SCRIPTS) + "})();\n"


def _bare(text: str) -> str:
    """Return a script or style without indents and lines of comment; no string in them goes over a line."""
    lines = (line.strip() for line in text.splitlines())
    return "".join(line + "\n" for line in lines if line and not line.startswith("//"))


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
