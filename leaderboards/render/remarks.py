"""Remarks: what stands under a table besides its numbers."""

from __future__ import annotations

from typing import Any

from bench.leaderboards.names import short_decoding
from bench.leaderboards.one_gradient import one_gradient_lines
from bench.leaderboards.render.legend import DIFFERS, INTERVAL
from bench.leaderboards.render.tuning import tuning_remarks
from bench.leaderboards.table import Table

__all__ = ["remarks", "under_table"]

ALIKE = 3
"""Columns that two methods have alike before it is said."""


def under_table(table: Table) -> list[str]:
    """Return what text formats write under a table: watermark, what marks mean, remarks."""
    lines = []
    if table.watermark:
        lines.append(f"NOT COMPARABLE WITH PUBLISHED NUMBERS: {table.watermark}")
    values = [value for row in table.rows for value in row.values.values()]
    if any(value.half is not None for value in values):
        sampled = any(row.sampling_note for row in table.rows)
        lines.append(f"{INTERVAL}, or over sampling seeds where a note says so" if sampled else INTERVAL)
    if any(value.differs for value in values):
        lines.append(DIFFERS)
    return lines + remarks(table)


def remarks(table: Table) -> list[str]:
    """Return notes on decoding, published rows, missing values, hub copies, tuning and controls."""
    lines = _decoding(table)
    lines += sorted({f"{paper.paper} {paper.table}: {paper.note}" for paper in table.published if paper.note})
    lines += dict.fromkeys(f"{row.method}: {row.remark}" for row in table.rows if row.remark)
    lines += dict.fromkeys(f"{row.method}: {row.sampling_note}" for row in table.rows if row.sampling_note)
    lines += [f"{row.method}: {row.imported}" for row in table.rows if row.imported]
    lines += one_gradient_lines(table.rows)
    lines += _alike(table)
    lines += _without_value(table)
    return lines + _unpinned(table) + tuning_remarks(table) + _controls(table)


def _decoding(table: Table) -> list[str]:
    """Say how the texts of our rows were generated, where it is the same for all of them and papers stand beside them.

    Where it is not the same, the label of each row says it.
    """
    decodings = {row.decoding for row in table.rows if row.decoding}
    if not table.published or len(decodings) != 1:
        return []
    return [f"decoding of our rows: {short_decoding(decodings.pop())}"]


def _alike(table: Table) -> list[str]:
    """Say which methods have one and the same number in every column, to the last bit: they trained the same thing."""
    groups: dict[tuple[Any, ...], dict[str, None]] = {}
    for row in table.rows:
        numbers = tuple((name, tuple(value.by_seed.items())) for name, value in row.values.items() if value.by_seed)
        if len(numbers) >= ALIKE and not row.imported:
            groups.setdefault((row.backbone, row.decoding, numbers), {})[row.method] = None
    return [
        f"the same number in every column: {', '.join(methods)}; look whether they differ in what is trained at all"
        for methods in groups.values()
        if len(methods) > 1
    ]


def _without_value(table: Table) -> list[str]:
    """Say why columns have no value in some rows, and which are left out."""
    columns: dict[str, dict[str, None]] = {}
    for row in table.rows:
        for column in table.columns:
            if column in row.values and (reason := row.values[column].why_none):
                columns.setdefault(reason, {})[column] = None
    lines = [f"n/a: {', '.join(names)}: {reason}" for reason, names in columns.items()]
    return lines + [f"left out: {column}: {reason}; then bench score" for column, reason in table.lacking.items()]


def _unpinned(table: Table) -> list[str]:
    """Say which backbones and rows are copies of a hub repository that may be another one tomorrow."""
    copies = set[str]().union(*(row.unpinned for row in table.rows))
    return [f"unpinned: {copy}" for copy in sorted(copies)]


def _controls(table: Table) -> list[str]:
    """Say which rows are controls of which others; of methods, those that have a row here."""
    there = {row.method.partition(".")[0] for row in table.rows if not row.controls}
    controls: dict[str, str] = {}
    of_others: dict[str, None] = {}
    for row in table.rows:
        controlled = [method for method in row.controls if method in there]
        if controlled:
            controls[row.method] = f"{row.method} for {', '.join(controlled)}"
        elif row.controls:
            of_others[row.method] = None
    lines = []
    if controls:
        lines.append(f"Controls, which would explain a gain away: {'; '.join(controls.values())}")
    if of_others:
        lines.append(f"Controls of methods that are not in this table: {', '.join(of_others)}")
    return lines
