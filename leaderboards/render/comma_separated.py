"""CSV: one line per row and column of all leaderboards, unrounded, with seeds, tests and signature."""

from __future__ import annotations

import csv
import io
import json

from bench.base.redaction import printable
from bench.leaderboards.leaderboards import Leaderboards
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.table import Table

__all__ = ["comma_separated"]

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""
HEADINGS = (
    "task",
    "split",
    "rows",
    "preset",
    "watermark",
    "method",
    "settings",
    "backbone",
    "decoding",
    "column",
    "mean",
    "half",
    "p",
    "p_items",
    "difference",
    "low",
    "high",
    "seeds",
    "by_seed",
    "signature",
    "why_none",
    "controls",
    "untuned",
    "remark",
)


def comma_separated(leaderboards: Leaderboards) -> str:
    """Render tables as one CSV."""
    out = io.StringIO()
    writer = csv.DictWriter(out, HEADINGS, lineterminator="\n")
    writer.writeheader()
    for table in leaderboards.tables:
        for row in (*table.rows, *table.human):
            _write(writer, table, row)
    return out.getvalue()


def _write(writer: csv.DictWriter[str], table: Table, row: TableRow) -> None:
    """Write a line for every value of a row."""
    for column, value in row.values.items():
        writer.writerow(
            {
                "task": _harmless(table.task),
                "split": table.split,
                "rows": table.n,
                "preset": table.preset,
                "watermark": _harmless(table.watermark),
                "method": _harmless(row.method),
                "settings": _harmless(row.settings),
                "backbone": _harmless(row.backbone),
                "decoding": _harmless(row.decoding),
                "column": _harmless(column),
                **_numbers(value),
                "controls": " ".join(row.controls),
                "untuned": _harmless(row.untuned),
                "remark": _harmless(row.remark),
            }
        )


def _numbers(value: Value) -> dict[str, str | int]:
    return {
        "mean": _exact(value.mean),
        "half": _exact(value.half),
        "p": _exact(value.p),
        "p_items": _exact(value.p_items),
        "difference": _exact(value.difference),
        "low": _exact(value.low),
        "high": _exact(value.high),
        "seeds": value.n,
        "by_seed": json.dumps(dict(sorted(value.by_seed.items()))),
        "signature": _harmless(value.signature),
        "why_none": _harmless(value.why_none),
    }


def _harmless(text: str) -> str:
    """Return a text without control characters that no spreadsheet takes for a formula."""
    text = printable(text)
    if text.startswith(FORMULA):
        return f"'{text}"
    return text


def _exact(value: float | None) -> str:
    if value is None:
        return ""
    return repr(value)
