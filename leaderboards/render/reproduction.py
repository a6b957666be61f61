"""Renderers of a reproduction: terminal, Markdown and JSON content, in the paper's order of rows and columns.

Under every row of the paper stand ours, the published number, the difference and the verdict. What is not comparable
has no difference. What is not comparable or not run has a letter, and the reason stands under the table. What our cells
have otherwise than the paper has a number, and is said under the table too. `reproduction_notes.py` writes what stands
there; a terminal has it folded unless asked otherwise, and JSON content has all of it.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from bench.base.departure import Departure
from bench.base.redaction import one_line
from bench.leaderboards.published.reproduction import Checked, Reproduced, Reproduction
from bench.leaderboards.render.grid import number
from bench.leaderboards.render.markdown_table import escaped, markdown_table
from bench.leaderboards.render.reproduction_notes import (
    SHORT,
    folded,
    in_full,
    letters,
    numbers,
    spans,
    spread_text,
)
from bench.leaderboards.render.text.text_table import TextRow, TextTable, console_of

LINES = ("ours", "published", "delta", "verdict")
STYLES = {"verdict": "bold", "published": "dim", "delta": "dim"}


def shown(cell: Reproduced, line: str, letter_of: Mapping[str, str]) -> str:
    """Return one of `LINES` of one cell; empty where there is nothing to show."""
    if line == "verdict":
        return " ".join(filter(None, [SHORT[cell.verdict], letter_of.get(cell.reason, "")]))
    if line == "published":
        return cell.cell.printed + spread_text(cell.cell.spread, "g")
    if cell.ours is None:
        return ""
    if line == "ours":
        return number(cell.ours.mean) + spread_text(cell.ours.half, ".2f")
    if cell.delta is None:
        return ""
    return f"{cell.delta:+.2f}"


def lines(reproduction: Reproduction) -> list[tuple[str, list[str]]]:
    """Return label and cells of every line, the parts of the table under headings of their own."""
    letter_of, made, part = letters(reproduction), list[tuple[str, list[str]]](), ""
    for place, row in enumerate(reproduction.rows):
        if row[0].cell.part != part:
            part = row[0].cell.part
            made.append((part, [""] * (len(row) + 1)))
        label = f"{row[0].cell.row}{_backbone(reproduction, row[0])}"
        for line in LINES:
            if line == "delta" and all(cell.delta is None for cell in row):
                continue
            made.append((label, [_heading(line, row), *(shown(cell, line, letter_of) for cell in row)]))
            label = ""
        made += lines_under(reproduction, place)
    return made


def _heading(line: str, row: Sequence[Reproduced]) -> str:
    """Return what a line is called: that of our numbers says of how many seeds they are."""
    seeds = sorted({cell.ours.n for cell in row if cell.ours is not None})
    if line != "ours" or not seeds:
        return line
    return f"ours (n={', '.join(map(str, seeds))})"


def _backbone(reproduction: Reproduction, cell: Reproduced) -> str:
    """Return the backbone of a row, where rows of its part have several."""
    part = [row[0].cell for row in reproduction.rows if row[0].cell.part == cell.cell.part and row[0].cell.method]
    if len({published.backbone for published in part}) > 1 and cell.cell.backbone:
        return f" ({cell.cell.backbone})"
    return ""


def title(reproduction: Reproduction) -> str:
    """Say which table this is."""
    return f"{reproduction.table.address} · {reproduction.table.title} · preset {reproduction.preset}"


def lines_under(reproduction: Reproduction, place: int) -> list[tuple[str, list[str]]]:
    """Return the lines under a row: the numbers of its departures, and the variant beside it with those of its own."""
    made: list[tuple[str, list[str]]] = []
    if not reproduction.departures:
        return made
    number_of, columns = numbers(reproduction), len(reproduction.rows[place])
    made += _numbers_line(number_of, reproduction.departures[place], columns)
    variant = reproduction.beside[place]
    if variant is not None:
        ours = [shown(cell, "ours", {}) for cell in variant.cells]
        made.append((variant.method, [_heading("ours", variant.cells), *ours]))
        made += _numbers_line(number_of, variant.departures, columns)
    return made


def _numbers_line(
    number_of: Mapping[Departure, int], departures: Sequence[Departure], columns: int
) -> list[tuple[str, list[str]]]:
    """Return the line of the numbers of departures; none where there is nothing to number."""
    found = [number_of[departure] for departure in departures if departure in number_of]
    if not found:
        return []
    return [("", ["departs", spans(found), *[""] * (columns - 1)])]


def markdown(reproductions: Sequence[Reproduction]) -> str:
    """Render reproductions as Markdown."""
    parts = []
    for reproduction in reproductions:
        columns = reproduction.table.columns
        rows = [[escaped(label), *map(escaped, cells)] for label, cells in lines(reproduction)]
        table = markdown_table(["", "", *map(escaped, columns)], rows, texts=2)
        notes = "".join(f"- {escaped(remark)}\n" for remark in in_full(reproduction))
        parts.append("\n".join([f"### {escaped(title(reproduction))}", "", *table, "", notes]))
    return "\n".join(parts)


def terminal(reproductions: Sequence[Reproduction], width: int | None = None, *, notes: bool = False) -> str:
    """Render reproductions for a terminal.

    Args:
        reproductions: tables, one below the other.
        width: characters of a line; default those of the terminal.
        notes: whether every note is said in full, or they are folded.
    """
    remarks = in_full if notes else folded
    stream = io.StringIO()
    console = console_of(stream, width)
    for reproduction in reproductions:
        text_table(reproduction).print(console)
        for remark in remarks(reproduction):
            console.print(Text(f"  {one_line(remark)}"))
        console.print()
    return stream.getvalue()


def text_table(reproduction: Reproduction) -> TextTable:
    """Return a reproduction as a table of texts; the paper's row, and which line of it this is, stand in every part."""
    rows = []
    made = lines(reproduction)
    for place, (label, cells) in enumerate(made):
        texts = [Text(one_line(cell), style=STYLES.get(cells[0], "")) for cell in cells]
        is_last_of_row = place + 1 == len(made) or bool(made[place + 1][0])
        rows.append(TextRow([Text(one_line(label)), *texts], ends_section=is_last_of_row))
    headings = ["", "", *reproduction.table.columns]
    return TextTable(one_line(title(reproduction)), headings, rows, labels=2, repeated=2)


def content(reproduction: Reproduction) -> dict[str, Any]:
    """Return a reproduction as plain content, unrounded."""
    rows = []
    for place, row in enumerate(reproduction.rows):
        published = row[0].cell
        rows.append(
            {
                "part": published.part,
                "label": published.row,
                "method": published.method,
                "backbone": published.backbone,
                "cells": [_cell(cell) for cell in row],
                **_under(reproduction, place),
            }
        )
    return {
        "address": reproduction.table.address,
        "title": reproduction.table.title,
        "preset": reproduction.preset,
        "columns": list(reproduction.table.columns),
        "verdicts": reproduction.count(),
        "notes": list(reproduction.notes),
        "rows": rows,
        "orders": [vars(order) for order in reproduction.orders],
        "checks": [_check(each) for each in reproduction.checks],
    }


def _check(checked: Checked) -> dict[str, Any]:
    """Return a check as plain content."""
    ours = None
    if checked.ours is not None:
        ours = {"mean": checked.ours.mean, "half": checked.ours.half, "n": checked.ours.n}
    return {
        **vars(checked.check),
        "verdict": checked.verdict,
        "reason": checked.reason,
        "printed": checked.printed,
        "ours": ours,
    }


def _under(reproduction: Reproduction, place: int) -> dict[str, Any]:
    """Return what stands under a row: its departures, and the variant beside it."""
    if not reproduction.departures:
        return {}
    under: dict[str, Any] = {"departures": [departure.as_dict() for departure in reproduction.departures[place]]}
    variant = reproduction.beside[place]
    if variant is not None:
        under["beside"] = {
            "method": variant.method,
            "cells": [_cell(cell) for cell in variant.cells],
            "departures": [departure.as_dict() for departure in variant.departures],
        }
    return under


def _cell(cell: Reproduced) -> dict[str, Any]:
    published = cell.cell
    return {
        "column": published.column,
        "task": published.task,
        "metric": published.metric,
        "decoding": published.decoding,
        "verdict": cell.verdict,
        "reason": cell.reason,
        "delta": cell.delta,
        "published": {"printed": published.printed, "value": published.value, "spread": published.spread},
        "ours": _ours(cell),
    }


def _ours(cell: Reproduced) -> dict[str, Any] | None:
    if cell.ours is None:
        return None
    backbone, keys = "", list[str]()
    if cell.row is not None:
        backbone, keys = cell.row.backbone, sorted(cell.row.keys)
    return {
        "mean": cell.ours.mean,
        "half": cell.ours.half,
        "n": cell.ours.n,
        "by_seed": {str(seed): value for seed, value in sorted(cell.by_seed.items())},
        "backbone": backbone,
        "cells": keys,
    }
