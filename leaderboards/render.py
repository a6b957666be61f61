"""Renderers: a table as terminal output, Markdown, CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.table import Table, metric_name

FORMATS = ("terminal", "markdown", "csv", "json")


def number(value: float | None) -> str:
    """Return a number as shown: two decimals, large whole ones without."""
    if value is None:
        return ""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) > 100 else f"{value:.2f}"


def shown(value: Value | None, n: int) -> str:
    """Return a value as shown; a conflict is never a number, and a mean over fewer seeds than n says so."""
    if value is None:
        return ""
    if value.conflict:
        return "conflict"
    if value.mean is None:
        return "n/a"
    return number(value.mean) + (f" (n={value.n})" if value.n < n else "")


def most_seeds(row: TableRow) -> int:
    """Return how many seeds a row is the mean of."""
    return max((v.n for v in row.values.values()), default=0)


def seeds(row: TableRow) -> str:
    """Return how many seeds a row is the mean of, and how many diverged."""
    return f"{most_seeds(row)} (div {row.diverged}/{len(row.seeds)})" if row.diverged else str(most_seeds(row))


def lines(table: Table) -> list[tuple[str, list[str], list[bool]]]:
    """Return label, cells and boldness of every line: our rows, each followed by what papers publish for it."""
    found = []
    best = {column: table.best(column) for column in table.columns}
    said: set[str] = set()
    for i, row in enumerate(table.rows):
        cells = [shown(row.values.get(column), most_seeds(row)) for column in table.columns]
        found.append((row.label, [row.backbone, seeds(row), *cells],
                      [False, False, *(i in best[column] for column in table.columns)]))  # fmt: skip
        for paper in table.published:
            if paper.method == row.method and (mark := f"{paper.table}{paper.backbone}{paper.method}") not in said:
                said.add(mark)
                cells = [number(paper.values.get(metric_name(column))) for column in table.columns]
                found.append(
                    (f"  {paper.paper} {paper.table}", [paper.backbone, "", *cells], [False] * (len(cells) + 2))
                )
    for row in table.human:
        cells = [shown(row.values.get(column), 1) for column in table.columns]
        found.append(("human (the true continuations)", ["", "", *cells], [False] * (len(cells) + 2)))
    return found


def headings(table: Table) -> list[str]:
    """Return the column headings."""
    return ["method", "backbone", "seeds", *table.columns]


def remarks(table: Table) -> list[str]:
    """Return what stands under a table: watermark, direction, notes on published rows."""
    found = [f"NOT COMPARABLE WITH PUBLISHED NUMBERS: {table.watermark}"] if table.watermark else []
    found += sorted({f"{p.paper} {p.table}: {p.note}" for p in table.published if p.note})
    found += [f"{row.method}: {row.remark}" for row in table.rows if row.remark]
    found += without_value(table)
    tuned = {row.method: row.tried for row in table.rows if row.tried}
    found += [f"{name}: picked from {n} combinations by validation loss" for name, n in tuned.items()]
    untuned = sorted({row.untuned for row in table.rows if row.untuned})
    found += [f"untuned: at one shared value of {', '.join(untuned)} the order of these rows is partly that value's; "
              f"--grid tunes each on the validation split"] if untuned else []  # fmt: skip
    controls = {row.method: f"{row.method} for {', '.join(row.controls)}" for row in table.rows if row.controls}
    found += [f"Controls, which would explain a gain away: {'; '.join(controls.values())}"] if controls else []
    return found


def without_value(table: Table) -> list[str]:
    """Say why columns have no value in some rows."""
    why: dict[str, dict[str, None]] = {}
    for row in table.rows:
        for name in table.columns:
            if name in row.values and (reason := row.values[name].why_none):
                why.setdefault(reason, {})[name] = None
    found = [f"n/a: {', '.join(names)}: {reason}" for reason, names in why.items()]
    return found + [f"left out: {name}: {reason}; then bench score" for name, reason in table.lacking.items()]


def markdown(tables: Sequence[Table]) -> str:
    """Render tables as Markdown; the best value of a column is bold."""
    parts = []
    for table in tables:
        head = headings(table)
        rows = [
            [_md(label), *(f"**{_md(c)}**" if bold and c else _md(c) for c, bold in zip(cells, bolds, strict=True))]
            for label, cells, bolds in lines(table)
        ]
        body = [f"| {' | '.join(row)} |" for row in rows]
        rule = "|" + "|".join(["---", "---", *("---:" for _ in head[2:])]) + "|"
        notes = "".join(f"\n*{_md(remark)}*\n" for remark in remarks(table))
        first = f"| {' | '.join(map(_md, head))} |"
        parts.append("\n".join([f"### {_md(table.title)}", "", first, rule, *body]) + "\n" + notes)
    return "\n".join(parts)


def _md(text: str) -> str:
    return "".join("\\" + c if c in "\\|<>[]*_`" else c for c in plain(text))


def plain(text: str) -> str:
    """Return a text without line breaks and control characters: stored names may be anybody's.

    >>> plain("a\\nb\\x1b[31m")
    'a b[31m'
    """
    return "".join(c for c in " ".join(text.splitlines()) if c.isprintable())


def _csv(text: str) -> str:
    """Keep a spreadsheet from taking a text for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def comma_separated(tables: Sequence[Table]) -> str:
    """Render tables as one CSV: one line per row and column, unrounded, with seeds and signature."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["task", "split", "rows", "preset", "watermark", "method", "settings", "backbone", "decoding",
                     "column", "mean", "seeds", "by_seed", "signature", "why_none", "controls", "untuned",
                     "remark"])  # fmt: skip
    for table in tables:
        for row in table.rows:
            for column, value in row.values.items():
                writer.writerow([table.task, table.split, table.n, table.preset, table.watermark, _csv(row.method),
                                 _csv(row.settings), _csv(row.backbone), row.decoding, column,
                                 "" if value.mean is None else repr(value.mean), value.n,
                                 json.dumps(dict(sorted(value.by_seed.items()))), value.signature, value.why_none,
                                 " ".join(row.controls), row.untuned, _csv(row.remark)])  # fmt: skip
    return out.getvalue()


def as_json(tables: Sequence[Table], notes: Sequence[str]) -> str:
    """Render tables as JSON, unrounded."""
    return json.dumps({"tables": [_content(t) for t in tables], "notes": list(notes)}, indent=1, allow_nan=False)


def _content(table: Table) -> dict[str, Any]:
    return {
        "task": table.task, "split": table.split, "rows": table.n, "preset": table.preset,
        "status": dict(table.status), "watermark": table.watermark, "columns": table.columns,
        "published": [{"paper": p.paper, "table": p.table, "method": p.method, "backbone": p.backbone,
                       "values": dict(p.values), "note": p.note} for p in table.published],
        "methods": [_row_content(row) for row in table.rows],
    }  # fmt: skip


def _row_content(row: TableRow) -> dict[str, Any]:
    values = {
        name: {"mean": v.mean, "by_seed": {str(s): x for s, x in sorted(v.by_seed.items())},
               "signature": v.signature, "higher_is_better": v.higher_is_better, "conflict": v.conflict,
               "why": v.why_none}
        for name, v in row.values.items()
    }  # fmt: skip
    return {"method": row.method, "settings": row.settings, "controls": list(row.controls), "untuned": row.untuned,
            "tried": row.tried, "remark": row.remark, "backbone": row.backbone, "decoding": row.decoding,
            "diverged": row.diverged, "cells": sorted(row.keys), "values": values}  # fmt: skip


def terminal(tables: Sequence[Table], width: int | None = None) -> str:
    """Render tables for a terminal; the best value of a column is bold where the terminal can."""
    import sys

    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    console = Console(file=io.StringIO(), force_terminal=sys.stdout.isatty(), width=width or _width(), highlight=False)
    for table in tables:
        grid = Grid(title=Text(plain(table.title)), title_justify="left", pad_edge=False)
        for i, heading in enumerate(headings(table)):
            grid.add_column(Text(short(heading) if i > 2 else heading), justify="left" if i < 2 else "right",
                            no_wrap=i > 0, min_width=0 if i else 24)  # fmt: skip
        for label, cells, bolds in lines(table):
            style = "dim" if label.startswith("  ") else ""
            grid.add_row(Text(plain(label), style=style), *(Text(plain(c), style="bold" if b else style)
                                                            for c, b in zip(cells, bolds, strict=True)))  # fmt: skip
        console.print(grid)
        for remark in remarks(table):
            console.print(Text(f"  {plain(remark)}"))
        console.print()
    stream = console.file
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


def short(heading: str) -> str:
    """Return a column's heading on two narrow lines where it is long.

    >>> short("sentence-bleu-1"), short("ms-jaccard-1"), short("ppl/word"), short("bleu-1")
    ('sent-\\nbleu-1', 'ms-\\njaccard-1', 'ppl\\nword', 'bleu-1')
    """
    name = heading.replace("sentence-", "sent-").replace("/", "\n")
    return name.replace("-", "-\n", 1) if len(name) > 9 and "\n" not in name else name


def _width() -> int:
    import shutil

    return max(120, shutil.get_terminal_size((150, 24)).columns)


def render(tables: Sequence[Table], notes: Sequence[str], form: str) -> str:
    """Render tables in one of `FORMATS`."""
    if form == "markdown":
        return markdown(tables)
    if form == "csv":
        return comma_separated(tables)
    if form == "json":
        return as_json(tables, notes) + "\n"
    return terminal(tables)
