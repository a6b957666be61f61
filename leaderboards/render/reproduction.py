"""Renderers of a reproduction: terminal and JSON content, in the paper's order of rows and columns.

Each row of the paper has four lines: our number, the published one, the difference and the verdict. A number that is
not comparable, or not of the planned run, has no difference. Below the table is one list of notes: a letter names
each reason for a number that is missing or not comparable; then follow the settings in which our runs deviate from the
paper.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from bench.base.printable import one_line
from bench.leaderboards.published.reproduction import ANOTHER, OFF, WITHIN, Reproduced, ReproducedRow, Reproduction
from bench.leaderboards.render.text_table import TextTable
from bench.leaderboards.render.text_table import terminal as in_terminal
from bench.leaderboards.row import number
from bench.tasks.core.published_settings import Deviation

LINES = ("ours", "published", "delta", "verdict")
STYLES = {"verdict": "bold", "published": "dim", "delta": "dim"}
SHORT = {WITHIN: "within", OFF: "OFF"}
DETAILED_AT_SMALL = ("method", "decode")
"""Sections of the settings whose deviations are stated in full at the preset `small`, whose sizes all differ."""
Line = tuple[str, list[str]]
"""A line of the table: its label, what it shows, and a text for each column."""


def lines(reproduction: Reproduction) -> list[Line]:
    """Return the lines of the table; each part of the table begins with its heading."""
    letter_of, part = letters(reproduction), ""
    backbones: dict[str, set[str]] = {}
    for row in reproduction.rows:
        if (first := row.cells[0].cell).method:
            backbones.setdefault(first.part, set()).add(first.backbone)
    made: list[Line] = []
    for row in reproduction.rows:
        first = row.cells[0].cell
        if first.part != part:
            part = first.part
            made.append((part, [""] * (len(row.cells) + 1)))
        label = first.row
        if first.backbone and len(backbones.get(first.part, ())) > 1:
            label += f" ({first.backbone})"
        for line in LINES:
            if line != "delta" or any(cell.delta is not None for cell in row.cells):
                made.append((label, [_heading(line, row), *(shown(cell, line, letter_of) for cell in row.cells)]))
                label = ""
        if row.other is not None:
            ours = [shown(cell, "ours", {}) for cell in row.other.cells]
            made.append((row.other.method, [_heading("ours", row.other), *ours]))
    return made


def shown(cell: Reproduced, line: str, letter_of: Mapping[str, str]) -> str:
    """Return the text of one number on one of `LINES`; empty where there is nothing to show."""
    if line == "verdict":
        letter, verdict = letter_of.get(cell.reason, ""), SHORT.get(cell.verdict, cell.verdict)
        return f"{verdict} ({letter})" if letter else verdict
    if line == "published":
        return cell.cell.printed + ("" if cell.cell.spread is None else f" ±{cell.cell.spread:g}")
    if line == "delta":
        return "" if cell.delta is None else f"{cell.delta:+.2f}"
    if cell.ours is None:
        return ""
    return number(cell.ours.mean) + ("" if cell.ours.half is None else f" ±{cell.ours.half:.2f}")


def _heading(line: str, row: ReproducedRow) -> str:
    """Return the label of a line; the label of our numbers has the number of seeds."""
    found = [(cell.ours.n, len(cell.by_seed)) for cell in row.cells if cell.ours is not None]
    if line != "ours" or not found:
        return line
    what = " sampling seeds" if any(n > trainings for n, trainings in found) else ""
    return f"ours (n={', '.join(map(str, sorted({n for n, _ in found})))}{what})"


def notes(reproduction: Reproduction) -> list[str]:
    """Return the notes under a table: counts, reasons, deviations, and general notes."""
    counted = {ANOTHER: "of another run", WITHIN: "within"}
    texts = [", ".join(f"{n} {counted.get(verdict, verdict)}" for verdict, n in reproduction.count().items() if n)]
    texts += [f"{letter}: {reason}" for reason, letter in letters(reproduction).items()]
    return [*texts, *deviation_notes(reproduction), *reproduction.notes]


def deviation_notes(reproduction: Reproduction) -> list[str]:
    """Return the deviations of all rows and of their variants, each once with the methods that have it.

    At the preset `small`, whose sizes all differ, only those of methods and decodings are stated in full.
    """
    methods_of: dict[Deviation, dict[str, None]] = {}
    for row in reproduction.rows:
        for each in filter(None, (row, row.other)):
            for deviation in each.deviations:
                methods_of.setdefault(deviation, {})[each.method] = None
    texts, of_code, of_paper = [], dict[str, None](), dict[tuple[str, str], list[str]]()
    for deviation, methods in methods_of.items():
        is_detailed = deviation.is_of_paper and deviation.section.rpartition(":")[2] in DETAILED_AT_SMALL
        if is_detailed or reproduction.preset != "small":
            texts.append(f"deviation of {', '.join(methods)}: {deviation.text}")
        elif deviation.is_of_paper:
            of_paper.setdefault((deviation.setting, deviation.paper), []).append(deviation.ours)
        else:
            of_code[deviation.setting] = None
    if of_paper:
        settings = [f"{setting} {', '.join(ours)} ({paper})" for (setting, paper), ours in of_paper.items()]
        texts.append(f"other sizes and settings (in the paper): {'; '.join(settings)}")
    if of_code:
        texts.append(f"the released code alone differs in: {', '.join(of_code)}")
    return texts


def letters(reproduction: Reproduction) -> dict[str, str]:
    """Return the letter of each reason, in the order in which the table has them: a to z, then aa, bb, ..."""
    found = dict.fromkeys(cell.reason for row in reproduction.rows for cell in row.cells if cell.reason)
    return {reason: chr(ord("a") + place % 26) * (1 + place // 26) for place, reason in enumerate(found)}


def terminal(reproductions: Sequence[Reproduction]) -> str:
    """Render reproductions for a terminal, one below the other."""
    return in_terminal((text_table(reproduction), notes(reproduction)) for reproduction in reproductions)


def text_table(reproduction: Reproduction) -> TextTable:
    """Return a reproduction as a table of texts; a wide table repeats the labels of rows and lines in every part."""
    made = lines(reproduction)
    rows = []
    for label, cells in made:
        rows.append([Text(one_line(label)), *(Text(one_line(cell), style=STYLES.get(cells[0], "")) for cell in cells)])
    last = {place for place in range(len(made)) if place + 1 == len(made) or made[place + 1][0]}
    table = reproduction.table
    title, headings = f"{table.address} · {table.title} · preset {reproduction.preset}", ["", "", *table.columns]
    return TextTable(one_line(title), headings, rows, labels=2, repeated=2, underlined=last)


def content(reproduction: Reproduction) -> dict[str, Any]:
    """Return a reproduction as plain content, unrounded."""
    return {
        "address": reproduction.table.address,
        "title": reproduction.table.title,
        "preset": reproduction.preset,
        "columns": list(reproduction.table.columns),
        "verdicts": reproduction.count(),
        "notes": list(reproduction.notes),
        "rows": list(map(_row, reproduction.rows)),
    }


def _row(row: ReproducedRow) -> dict[str, Any]:
    published = row.cells[0].cell
    content = {
        "part": published.part,
        "label": published.row,
        "method": row.method,
        "backbone": published.backbone,
        "cells": list(map(_cell, row.cells)),
        "deviations": [deviation.as_dict() for deviation in row.deviations],
    }
    return content if row.other is None else {**content, "other": _row(row.other)}


def _cell(cell: Reproduced) -> dict[str, Any]:
    published, ours = cell.cell, None
    if cell.ours is not None:
        ours = {
            "mean": cell.ours.mean,
            "half": cell.ours.half,
            "n": cell.ours.n,
            "by_seed": {str(seed): value for seed, value in sorted(cell.by_seed.items())},
            "backbone": cell.row.backbone if cell.row else "",
            "cells": sorted(cell.row.keys) if cell.row else [],
        }
    return {
        **{name: getattr(published, name) for name in ("column", "task", "metric", "decoding")},
        **{name: getattr(cell, name) for name in ("verdict", "reason", "delta")},
        "published": {name: getattr(published, name) for name in ("printed", "value", "spread")},
        "ours": ours,
    }
