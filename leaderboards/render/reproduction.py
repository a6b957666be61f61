"""Renderers of a reproduction: terminal, Markdown and JSON content, in the paper's order of rows and columns.

Under every row of the paper stand ours, the published number, the difference and the verdict. What is not comparable
has no difference. What is not comparable or not run has a letter, and the reason stands under the table.
"""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from bench.leaderboards.published.order import Order
from bench.leaderboards.published.reproduction import NOT_COMPARABLE, NOT_RUN, OFF, WITHIN, Reproduced, Reproduction
from bench.leaderboards.render.formats import short
from bench.leaderboards.render.grid import number, plain

SHORT = {WITHIN: "within", OFF: "OFF", NOT_RUN: "not run", NOT_COMPARABLE: "n.c."}
LINES = ("ours", "published", "delta", "verdict")


def letters(found: Reproduction) -> dict[str, str]:
    """Return a letter for every reason, in the order they are met."""
    reasons = dict.fromkeys(one.reason for row in found.rows for one in row if one.reason)
    return {reason: _letter(at) for at, reason in enumerate(reasons)}


def _letter(at: int) -> str:
    return chr(ord("a") + at % 26) * (1 + at // 26)


def shown(one: Reproduced, line: str, named: dict[str, str]) -> str:
    """Return one line of one cell."""
    if line == "verdict":
        return f"{SHORT[one.verdict]} {named[one.reason]}" if one.reason else SHORT[one.verdict]
    if line == "published":
        return one.cell.printed + ("" if one.cell.spread is None else f" ±{one.cell.spread:g}")
    if one.ours is None or (line == "delta" and one.delta is None):
        return ""
    if line == "delta":
        return f"{one.delta:+.2f}"
    half = "" if one.ours.half is None else f" ±{one.ours.half:.2f}"
    return number(one.ours.mean) + half


def lines(found: Reproduction) -> list[tuple[str, list[str]]]:
    """Return label and cells of every line, the parts of the table under headings of their own."""
    named, made, part = letters(found), list[tuple[str, list[str]]](), ""
    for row in found.rows:
        if row[0].cell.part != part:
            part = row[0].cell.part
            made.append((part, [""] * (len(row) + 1)))
        seeds = sorted({one.ours.n for one in row if one.ours is not None})
        size = next((one.people for one in row if one.people), f"n={', '.join(map(str, seeds))}")
        for line in LINES:
            if line == "delta" and all(one.delta is None for one in row):
                continue
            label = f"{row[0].cell.row}{_size(found, row[0])}" if line == LINES[0] else ""
            said = f"ours ({size})" if line == "ours" and seeds else line
            made.append((label, [said, *(shown(one, line, named) for one in row)]))
    return made


def _size(found: Reproduction, one: Reproduced) -> str:
    """The backbone, where rows of one part have several."""
    several = {row[0].cell.backbone for row in found.rows if row[0].cell.part == one.cell.part and row[0].cell.method}
    return f" ({one.cell.backbone})" if len(several) > 1 and one.cell.backbone else ""


def title(found: Reproduction) -> str:
    """Say which table this is."""
    return f"{found.table.address} · {found.table.title} · preset {found.preset}"


def remarks(found: Reproduction) -> list[str]:
    """Return what stands under a table: counts, order of methods, reasons, notes."""
    count = found.count()
    said = [", ".join(f"{n} {verdict}" for verdict, n in count.items() if n)]
    blocks = dict.fromkeys(one.block for one in found.orders)
    for block in blocks:
        columns = ", ".join(f"{one.column} {_agreeing(one)}" for one in found.orders if one.block == block)
        said.append(f"pairs of rows in the paper's order{f', {block}' if block else ''} (tau-b): {columns}")
    said += [f"{letter}: {reason}" for reason, letter in letters(found).items()]
    return said + list(found.notes)


def _agreeing(one: Order) -> str:
    return f"{one.agreeing}/{one.pairs} ({'all equal' if one.tau is None else f'{one.tau:+.2f}'})"


def markdown(every: Sequence[Reproduction]) -> str:
    """Render reproductions as Markdown."""
    parts = []
    for found in every:
        head = f"| | | {' | '.join(map(_md, found.table.columns))} |"
        rule = "|---|---|" + "---:|" * len(found.table.columns)
        body = [f"| {' | '.join(_md(text) for text in (label, *cells))} |" for label, cells in lines(found)]
        notes = "".join(f"- {_md(remark)}\n" for remark in remarks(found))
        parts.append("\n".join([f"### {_md(title(found))}", "", head, rule, *body, "", notes]))
    return "\n".join(parts)


def _md(text: str) -> str:
    return "".join("\\" + c if c in "\\|<>[]*_`" else c for c in plain(text))


def terminal(every: Sequence[Reproduction], width: int | None = None) -> str:
    """Render reproductions for a terminal."""
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    width = width or max(120, shutil.get_terminal_size((150, 24)).columns)
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=sys.stdout.isatty(), width=width, highlight=False)
    for found in every:
        grid = Grid(title=Text(plain(title(found))), title_justify="left", pad_edge=False)
        grid.add_column("")
        grid.add_column("")
        for column in found.table.columns:
            grid.add_column(Text(short(column)), justify="right")
        made = lines(found)
        for at, (label, cells) in enumerate(made):
            style = {"verdict": "bold", "published": "dim", "delta": "dim"}.get(cells[0], "")
            ends = at + 1 == len(made) or bool(made[at + 1][0])
            grid.add_row(Text(plain(label)), *(Text(plain(cell), style=style) for cell in cells), end_section=ends)
        console.print(grid)
        for remark in remarks(found):
            console.print(Text(f"  {plain(remark)}"))
        console.print()
    return stream.getvalue()


def content(found: Reproduction) -> dict[str, Any]:
    """Return a reproduction as plain content, unrounded."""
    return {
        "address": found.table.address, "title": found.table.title, "preset": found.preset,
        "columns": list(found.table.columns), "verdicts": found.count(), "notes": list(found.notes),
        "rows": [{"part": row[0].cell.part, "label": row[0].cell.row, "method": row[0].cell.method,
                  "backbone": row[0].cell.backbone, "cells": [_cell(one) for one in row]} for row in found.rows],
        "orders": [vars(one) for one in found.orders],
    }  # fmt: skip


def _cell(one: Reproduced) -> dict[str, Any]:
    ours = one.ours
    return {
        "column": one.cell.column, "task": one.cell.task, "metric": one.cell.metric, "decoding": one.cell.decoding,
        "verdict": one.verdict, "reason": one.reason, "delta": one.delta,
        "published": {"printed": one.cell.printed, "value": one.cell.value, "spread": one.cell.spread},
        "ours": None if ours is None else {
            "people": one.people, "mean": ours.mean, "half": ours.half, "n": ours.n,
            "by_seed": {str(seed): value for seed, value in sorted(one.by_seed.items())},
            "backbone": one.row.backbone if one.row else "", "cells": sorted(one.row.keys) if one.row else []},
    }  # fmt: skip
