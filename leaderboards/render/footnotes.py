"""Footnotes: the notes under a table, and the meaning of the marks of its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.base.ties import TIE
from bench.leaderboards.names import short_decoding
from bench.leaderboards.render.shown import deltas
from bench.leaderboards.row import TableRow
from bench.leaderboards.statistics.baseline import BASELINE, baseline_of
from bench.leaderboards.statistics.constants import ALPHA, MIN_SEEDS
from bench.leaderboards.table import Table

__all__ = ["footnotes", "of_marks", "tuning", "under_table"]

INTERVAL = "± half the 95 % t interval over seeds"
DIFFERS = (
    f"† differs from {BASELINE} of its backbone and decoding (t test paired by seed, p <= {ALPHA:g} after Holm over "
    "the rows of the column)"
)


def under_table(table: Table) -> list[str]:
    """Return the lines of text formats under a table: watermark, meaning of marks, footnotes."""
    lines = []
    if table.watermark:
        lines.append(f"NOT COMPARABLE WITH PUBLISHED NUMBERS: {table.watermark}")
    values = [value for row in table.rows for value in row.values.values()]
    if any(value.half is not None for value in values):
        sampled = any(row.sampling_note for row in table.rows)
        lines.append(f"{INTERVAL}, or over sampling seeds where a note says so" if sampled else INTERVAL)
    if any(value.differs for value in values):
        lines.append(DIFFERS)
    return lines + footnotes(table)


def of_marks(table: Table, ours: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the meaning of each mark that occurs in the shown columns of our rows, as a board has them."""
    cells = [value for row in ours for column, value in row["values"].items() if column in table.columns]
    meanings = {
        INTERVAL: any(cell["interval"] for cell in cells),
        f"bold: best mean of {MIN_SEEDS} seeds or more, underlined: second": any(cell["best"] for cell in cells),
        DIFFERS: any(cell["differs"] for cell in cells),
        "Δ ours minus published": any(deltas(table, paper) for paper in table.published),
    }
    return [text for text, is_there in meanings.items() if is_there]


def footnotes(table: Table) -> list[str]:
    """Return the footnotes on decoding, published rows, missing values, hub copies, tuning and controls."""
    rows = table.rows
    decodings = {row.decoding for row in rows if row.decoding}
    lines = []
    if table.published and len(decodings) == 1:  # of several, the label of each row has its own
        lines.append(f"decoding of our rows: {short_decoding(decodings.pop())}")
    lines += sorted({f"{paper.paper} {paper.table}: {paper.note}" for paper in table.published if paper.note})
    lines += dict.fromkeys(f"{row.method}: {row.remark}" for row in rows if row.remark)
    lines += dict.fromkeys(f"{row.method}: {row.sampling_note}" for row in rows if row.sampling_note)
    lines += [f"{row.method}: {row.imported}" for row in rows if row.imported]
    lines += _without_value(table)
    lines += sorted({f"unpinned: {copy}" for row in rows for copy in row.unpinned})
    return [*lines, *tuning(table), *_controls(rows)]


def _without_value(table: Table) -> Iterator[str]:
    """Yield the reasons of missing values, and the columns that are left out."""
    columns: dict[str, dict[str, None]] = {}
    for row in table.rows:
        for column in table.columns:
            if column in row.values and (reason := row.values[column].missing_reason):
                columns.setdefault(reason, {})[column] = None
    for reason, names in columns.items():
        yield f"n/a: {', '.join(names)}: {reason}"
    for column, reason in table.missing.items():
        yield f"left out: {column}: {reason}; then bench score"


def _controls(rows: Sequence[TableRow]) -> Iterator[str]:
    """Yield which rows are controls of which others; of methods, those that have a row here."""
    there = {row.method.partition(".")[0] for row in rows if not row.controls}
    controls: dict[str, str] = {}
    of_others: dict[str, None] = {}
    for row in rows:
        if controlled := [method for method in row.controls if method in there]:
            controls[row.method] = f"{row.method} for {', '.join(controlled)}"
        elif row.controls:
            of_others[row.method] = None
    if controls:
        yield f"Controls: {'; '.join(controls.values())}"
    if of_others:
        yield f"Controls of methods that are not in this table: {', '.join(of_others)}"


# Tuning --------------------------------------------------------------------------------------------------------------


def tuning(table: Table) -> list[str]:
    """Return how the settings of methods were picked, and what was not tuned."""
    tuned = sorted((row for row in table.rows if row.tried), key=lambda row: -row.tried)
    lines = []
    for text in dict.fromkeys(row.picked for row in tuned):
        lines.append(f"{text}: {', '.join(dict.fromkeys(row.method for row in tuned if row.picked == text))}")
    repeated = {row.method: row.tied for row in table.rows if row.tied}
    lines += [
        f"picked among {n} of these at full length, since they were within {TIE} nats of the best: {methods}"
        for n, methods in by_number(repeated)
    ]
    lines += _more_tuned(table)
    if untuned := sorted({row.untuned for row in table.rows if row.untuned}):
        lines.append(
            f"untuned: at one shared value of {', '.join(untuned)} the order of these rows is partly that value's; "
            f"--grid tunes each on the validation split"
        )
    return lines


def by_number(number_of: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """Yield each number with the methods that have it, the largest first.

    >>> list(by_number({"mle": 3, "face": 18, "trime": 3}))
    [(18, 'face'), (3, 'mle, trime')]
    """
    for number in sorted(set(number_of.values()), reverse=True):
        yield number, ", ".join(method for method, n in number_of.items() if n == number)


def _more_tuned(table: Table) -> list[str]:
    """Return which methods were picked from more combinations than their baseline."""
    lines: dict[str, str] = {}
    for row in table.rows:
        place = baseline_of(table, row)
        if place is not None and row.tried > max(1, table.rows[place].tried):
            lines[row.method] = (
                f"{row.method} was picked from {row.tried} combinations and its baseline from "
                f"{max(1, table.rows[place].tried)}: the best of more is higher by chance alone"
            )
    return list(lines.values())
