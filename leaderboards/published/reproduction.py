"""Reproduction: a paper's table beside ours, cell by cell, with a verdict; a pure function of tables that are there.

A published number is met when it lies within the interval of our seeds, or ours lies within the spread printed behind
it. Under three seeds there is no interval, and a tolerance declared for the metric decides. Half a unit of the last
printed digit is always granted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.leaderboards.published.needs import Key, key_of_cell, needs
from bench.leaderboards.published.order import Order, order_of
from bench.leaderboards.published.paper_files import UNSURE
from bench.leaderboards.published.papers import PublishedCell, PublishedTable
from bench.leaderboards.published.tolerance import half_digit, tolerance
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics.intervals import SeedMean, seed_mean
from bench.leaderboards.table import Table, metric_name

WITHIN, OFF, NOT_RUN, NOT_COMPARABLE = VERDICTS = ("within interval", "off", "not run", "not comparable")
STRICT_EXIT = 4
"""Exit code of a strict reproduction that falls short."""


@dataclass(frozen=True)
class Reproduced:
    """One cell of a paper's table beside ours.

    Args:
        verdict: one of `VERDICTS`.
        reason: why it is not comparable or not run, or what to know of our number.
        ours: over seeds, or None.
        by_seed: what it is the mean of.
        row: the row of ours that it is from.
        people: how many judged ours, where people did.
    """

    cell: PublishedCell
    verdict: str
    reason: str = ""
    ours: SeedMean | None = None
    by_seed: Mapping[int, float] = field(default_factory=dict)
    row: TableRow | None = None
    people: str = ""

    @property
    def delta(self) -> float | None:
        """Ours less theirs; None where there is no number, or the two are not comparable."""
        if self.ours is None or self.cell.value is None or self.verdict == NOT_COMPARABLE:
            return None
        return self.ours.mean - self.cell.value


@dataclass(frozen=True)
class Reproduction:
    """A paper's table with ours, in the paper's order of rows and columns."""

    table: PublishedTable
    preset: str
    rows: tuple[tuple[Reproduced, ...], ...]
    orders: tuple[Order, ...]
    notes: tuple[str, ...]

    def count(self) -> dict[str, int]:
        """How many cells have each verdict."""
        found = [one.verdict for row in self.rows for one in row]
        return {verdict: found.count(verdict) for verdict in VERDICTS}

    @property
    def short_of(self) -> int:
        """Cells that are off or that there is nothing for: what a strict reproduction does not allow."""
        return self.count()[OFF] + self.count()[NOT_RUN]


def reproduce(
    table: PublishedTable,
    ours: Sequence[Table],
    preset: str,
    planned: Mapping[Key, set[str]] | None = None,
    reasons: Mapping[Key, str] | None = None,
) -> Reproduction:
    """Put a paper's table beside ours.

    Args:
        table: the paper's.
        ours: every table of its tasks, with all columns.
        preset: `small` or `paper`.
        planned: keys of the cells that were meant; where there are none, rows are found by name.
        reasons: why there may be no number.
    """
    held = Held(ours, preset, planned or {}, reasons or {})
    rows = tuple(tuple(held.reproduced(cell) for cell in row) for row in table.rows)
    return Reproduction(table, preset, rows, tuple(orders(table, rows)), tuple(held.notes(table, rows)))


@dataclass(frozen=True)
class Held:
    """What the store has, and what was planned."""

    ours: Sequence[Table]
    preset: str
    planned: Mapping[Key, set[str]]
    reasons: Mapping[Key, str]

    def reproduced(self, cell: PublishedCell) -> Reproduced:
        """Judge one cell."""
        found = self.row_of(cell)
        table, row = found if isinstance(found, tuple) else (None, None)
        value, lack = value_of(row, cell) if row else (None, found if isinstance(found, str) else self.why_none(cell))
        if value is None or row is None or table is None:
            verdict = NOT_COMPARABLE if cell.why_not else NOT_RUN
            return Reproduced(cell, verdict, not_comparable(cell) or lack, row=row)
        mean = seed_mean(list(value.by_seed.values()))
        diverged = f"{row.diverged} of {len(row.seeds)} seeds diverged" if row.diverged else ""
        reason = not_comparable(cell) or unlike(cell, table, row)
        verdict = NOT_COMPARABLE if reason else WITHIN if met(cell, mean) else OFF
        return Reproduced(cell, verdict, reason or diverged, mean, value.by_seed, row)

    def row_of(self, cell: PublishedCell) -> tuple[Table, TableRow] | str | None:
        """Return the row of ours that a cell is compared with, of the largest table; else what is in the way."""
        keys = self.planned.get(key_of_cell(cell, self.preset))
        alike = [t for t in self.ours if (t.task, t.split, t.preset) == (cell.task, cell.split, self.preset)]
        for table in sorted(alike, key=lambda t: (not t.whole, -t.n)):
            if cell.row == "Human" and len(table.human) == 1:
                return table, table.human[0]
            rows = [row for row in table.rows if row.method == cell.method and (keys is None or row.keys & keys)]
            if self.preset == "paper":
                rows = [row for row in rows if keys or row.backbone == cell.backbone] or rows
            exact = [row for row in rows if row.decoding == cell.decoding]
            rows = exact or (rows[:1] if cell.metric.startswith("ppl/") else [])
            if len(rows) > 1:
                return f"{len(rows)} settings are stored, and which is meant cannot be told without its data"
            if rows:
                return table, rows[0]
        return None

    def why_none(self, cell: PublishedCell) -> str:
        """Say why there is no row."""
        return self.reasons.get(key_of_cell(cell, self.preset), "")

    def notes(self, table: PublishedTable, rows: Sequence[Sequence[Reproduced]]) -> list[str]:
        """Return what to know of a whole table."""
        found = [table.note] if table.note else []
        if not needs([table], self.preset):
            return found
        if self.preset == "small":
            found.append("preset small has another backbone and other sizes than the paper: only the order of methods "
                         "says something")  # fmt: skip
        used = {id(one.row) for row in rows for one in row if one.row is not None}
        marked = {f"{t.task}: {t.watermark}" for t in self.ours if t.watermark and used & {id(r) for r in t.rows}}
        return found + sorted(marked)


def value_of(row: TableRow, cell: PublishedCell) -> tuple[Value | None, str]:
    """Return a row's value of a metric; else None and why."""
    columns = [column for column in row.values if metric_name(column) == cell.metric]
    values = [row.values[column] for column in columns]
    if len(columns) > 1:
        return None, f"{len(columns)} signatures of {cell.metric} are stored"
    if not values:
        return None, "diverged" if row.diverged else f"{cell.metric} is not scored; bench score --metrics ... makes it"
    if values[0].conflict:
        return None, "two stored numbers of one seed contradict each other"
    return (None, values[0].why_none) if values[0].mean is None else (values[0], "")


def not_comparable(cell: PublishedCell) -> str:
    """Return why a printed number can be compared with none of ours, or nothing."""
    return cell.why_not if cell.why_not or cell.value is not None else "the paper prints no number here"


def unlike(cell: PublishedCell, table: Table, row: TableRow) -> str:
    """Return why our number is of something else than the paper's, or nothing."""
    if table.preset != cell.preset:
        return f"preset {table.preset}: {row.backbone or 'no'} backbone, other sizes"
    if row.backbone and row.backbone != cell.backbone:
        return f"backbone {row.backbone}, published {cell.backbone or 'none'}"
    return table.watermark


def met(cell: PublishedCell, ours: SeedMean) -> bool:
    """Return whether our number meets the published one."""
    assert cell.value is not None
    far = abs(ours.mean - cell.value) - half_digit(cell.printed) - 1e-9
    if cell.spread is not None and far <= cell.spread:
        return True
    return far <= (tolerance(cell.metric, cell.value) if ours.half is None else ours.half)


def orders(table: PublishedTable, rows: Sequence[Sequence[Reproduced]]) -> list[Order]:
    """Return, for each column and block of rows, whether methods stand in the paper's order."""
    found = []
    for at, column in enumerate(table.columns):
        blocks: dict[str, list[tuple[int | str, float, float]]] = {}
        for one in (row[at] for row in rows):
            cell = one.cell
            if one.ours is not None and cell.value is not None and cell.method and cell.why_not != UNSURE:
                block = ", ".join(filter(None, (cell.part, cell.backbone)))
                source = cell.method if one.row is None else id(one.row)
                blocks.setdefault(block, []).append((source, one.ours.mean, cell.value))
        found += [order for block, held in blocks.items() if (order := order_of(column, block, held))]
    return found
