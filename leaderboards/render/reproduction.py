"""Renderers of a reproduction: terminal, Markdown and JSON content, in the paper's order of rows and columns.

Each row of the paper has four lines: our number, the published one, the difference and the verdict. A number that is
not comparable, or not of the planned run, has no difference. Below the table stands one list of notes: a letter names
each reason for a number that is missing or not comparable, and a number names each setting in which our runs deviate
from the paper.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.text import Text

from bench.base.departure import Departure
from bench.base.redaction import one_line
from bench.leaderboards.published.reproduction import (
    ANOTHER,
    NOT_COMPARABLE,
    NOT_RUN,
    OFF,
    WITHIN,
    Checked,
    Reproduced,
    Reproduction,
)
from bench.leaderboards.render.markdown_table import escaped, markdown_table
from bench.leaderboards.render.shown import number
from bench.leaderboards.render.text_table import TextTable, console_of

LINES = ("ours", "published", "delta", "verdict")
STYLES = {"verdict": "bold", "published": "dim", "delta": "dim"}
SHORT = {WITHIN: "within", OFF: "OFF", ANOTHER: "other run", NOT_RUN: "not run", NOT_COMPARABLE: "not comparable"}
DETAILED_AT_SMALL = ("method", "decode")
"""Sections of the settings whose deviations are stated in full at the preset `small`, whose sizes all differ."""


def shown(cell: Reproduced, line: str, letter_of: Mapping[str, str]) -> str:
    """Return the text of one cell on one of `LINES`; empty where there is nothing to show."""
    if line == "verdict":
        letter = letter_of.get(cell.reason, "")
        return f"{SHORT[cell.verdict]} ({letter})" if letter else SHORT[cell.verdict]
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
    """Return the label and the cells of every line of the table; each part of the table begins with its heading."""
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
    """Return the label of a line; the label of our numbers has the number of seeds."""
    seeds = sorted({cell.ours.n for cell in row if cell.ours is not None})
    if line != "ours" or not seeds:
        return line
    what = ""
    if any(cell.ours is not None and cell.ours.n > len(cell.by_seed) for cell in row):
        what = " sampling seeds"
    return f"ours (n={', '.join(map(str, seeds))}{what})"


def _backbone(reproduction: Reproduction, cell: Reproduced) -> str:
    """Return the backbone of a row in brackets, if the rows of its part have more than one."""
    part = [row[0].cell for row in reproduction.rows if row[0].cell.part == cell.cell.part and row[0].cell.method]
    if len({published.backbone for published in part}) > 1 and cell.cell.backbone:
        return f" ({cell.cell.backbone})"
    return ""


def title(reproduction: Reproduction) -> str:
    """Return the title above a table: its address, what it is about and the preset of our numbers."""
    return f"{reproduction.table.address} · {reproduction.table.title} · preset {reproduction.preset}"


def lines_under(reproduction: Reproduction, place: int) -> list[tuple[str, list[str]]]:
    """Return the lines under a row: its numbered deviations, and the variant of its method with the variant's own."""
    made: list[tuple[str, list[str]]] = []
    if not reproduction.departures:
        return made
    number_of, columns = numbers(reproduction), len(reproduction.rows[place])
    made += _deviations_line(number_of, reproduction.departures[place], columns)
    variant = reproduction.beside[place]
    if variant is not None:
        ours = [shown(cell, "ours", {}) for cell in variant.cells]
        made.append((variant.method, [_heading("ours", variant.cells), *ours]))
        made += _deviations_line(number_of, variant.departures, columns)
    return made


def _deviations_line(
    number_of: Mapping[Departure, int], departures: Sequence[Departure], columns: int
) -> list[tuple[str, list[str]]]:
    """Return the line with the numbers of a row's deviations; no line if none of them has a number."""
    found = [number_of[departure] for departure in departures if departure in number_of]
    if not found:
        return []
    return [("", ["deviations", spans(found), *[""] * (columns - 1)])]


# Notes ------------------------------------------------------------------------------------------------------------


def notes(reproduction: Reproduction) -> list[str]:
    """Return the notes under a table: counts, reasons, checks, deviations, and general notes."""
    counted = {ANOTHER: f"of an{ANOTHER}"}
    texts = [", ".join(f"{n} {counted.get(verdict, verdict)}" for verdict, n in reproduction.count().items() if n)]
    texts += [f"{letter}: {reason}" for reason, letter in letters(reproduction).items()]
    texts += [check_text(each) for each in reproduction.checks]
    number_of = numbers(reproduction)
    texts += [f"deviation {place}: {departure.text}" for departure, place in number_of.items()]
    others = [each for each in every_departure(reproduction) if each not in number_of]
    if of_paper := in_brief([each for each in others if each.is_of_paper]):
        texts.append(f"other sizes and settings (in the paper): {of_paper}")
    if of_code := dict.fromkeys(each.setting for each in others if not each.is_of_paper):
        texts.append(f"the released code alone differs in: {', '.join(of_code)}")
    return texts + list(reproduction.notes)


def in_brief(departures: Iterable[Departure]) -> str:
    """Return settings with our values and, in parentheses, those of the paper.

    >>> in_brief([Departure("trainer.lr", "0.004", "0.001"), Departure("trainer.lr", "0.007", "0.001")])
    'trainer.lr 0.004, 0.007 (0.001)'
    """
    ours: dict[tuple[str, str], list[str]] = {}
    for each in departures:
        ours.setdefault((each.setting, each.paper), []).append(each.ours)
    return "; ".join(f"{setting} {', '.join(values)} ({paper})" for (setting, paper), values in ours.items())


def letters(reproduction: Reproduction) -> dict[str, str]:
    """Return the letter of each reason, in the order in which the table has them: a to z, then aa, bb, ..."""
    found = dict.fromkeys(cell.reason for row in reproduction.rows for cell in row if cell.reason)
    return {reason: chr(ord("a") + place % 26) * (1 + place // 26) for place, reason in enumerate(found)}


def check_text(checked: Checked) -> str:
    """Return a sentence of the paper with the printed number, ours and the verdict."""
    check, compared = checked.check, [checked.check.name]
    if checked.printed is not None:
        compared.append(f"printed {checked.printed:g}")
    if checked.ours is not None:
        compared.append(f"ours {number(checked.ours.mean)}{spread_text(checked.ours.half, '.2f')}")
    verdict = ": ".join(filter(None, [checked.verdict, checked.reason]))
    return f'check, {check.where}, "{check.quote}": {", ".join(compared)}: {verdict}'


def spread_text(half: float | None, form: str) -> str:
    """Return a spread, or half an interval, to follow its number; empty if there is none."""
    return "" if half is None else f" ±{half:{form}}"


def numbers(reproduction: Reproduction) -> dict[Departure, int]:
    """Return the number of each deviation that is stated in full; at `small` those of methods and decodings alone."""
    stated = [
        each
        for each in every_departure(reproduction)
        if reproduction.preset != "small" or (each.is_of_paper and each.section.rpartition(":")[2] in DETAILED_AT_SMALL)
    ]
    return {departure: place for place, departure in enumerate(stated, 1)}


def every_departure(reproduction: Reproduction) -> list[Departure]:
    """Return the deviations of all rows and of their variants, each once."""
    found: dict[Departure, None] = {}
    for departures, variant in zip(reproduction.departures, reproduction.beside, strict=True):
        found |= dict.fromkeys(departures)
        if variant is not None:
            found |= dict.fromkeys(variant.departures)
    return list(found)


def spans(found: Sequence[int]) -> str:
    """Return whole numbers as text, consecutive ones as a span.

    >>> spans([1, 2, 3, 5, 8, 9])
    '1-3, 5, 8-9'
    """
    runs: list[tuple[int, int]] = []
    for each in sorted(set(found)):
        if runs and each == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], each)
        else:
            runs.append((each, each))
    return ", ".join("-".join(map(str, dict.fromkeys(run))) for run in runs)


# Forms ------------------------------------------------------------------------------------------------------------


def markdown(reproductions: Sequence[Reproduction]) -> str:
    """Render reproductions as Markdown."""
    parts = []
    for reproduction in reproductions:
        columns = reproduction.table.columns
        rows = [[escaped(label), *map(escaped, cells)] for label, cells in lines(reproduction)]
        table = markdown_table(["", "", *map(escaped, columns)], rows, texts=2)
        listed = "".join(f"- {escaped(note)}\n" for note in notes(reproduction))
        parts.append("\n".join([f"### {escaped(title(reproduction))}", "", *table, "", listed]))
    return "\n".join(parts)


def terminal(reproductions: Sequence[Reproduction], width: int | None = None) -> str:
    """Render reproductions for a terminal.

    Args:
        reproductions: tables, one below the other.
        width: characters of a line; None for the width of the terminal.
    """
    stream = io.StringIO()
    console = console_of(stream, width)
    for reproduction in reproductions:
        text_table(reproduction).print(console)
        for note in notes(reproduction):
            console.print(Text(f"  {one_line(note)}"))
        console.print()
    return stream.getvalue()


def text_table(reproduction: Reproduction) -> TextTable:
    """Return a reproduction as a table of texts; a wide table repeats the labels of rows and lines in every part."""
    made = lines(reproduction)
    rows = []
    for label, cells in made:
        rows.append([Text(one_line(label)), *(Text(one_line(cell), style=STYLES.get(cells[0], "")) for cell in cells)])
    last = {place for place in range(len(made)) if place + 1 == len(made) or made[place + 1][0]}
    headings = ["", "", *reproduction.table.columns]
    return TextTable(one_line(title(reproduction)), headings, rows, labels=2, repeated=2, underlined=last)


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
    """Return the deviations of a row, and the variant of its method, as plain content."""
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
