"""Cells: a leaderboard as lines of marked texts, which every renderer writes in its own way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics.seed_spread import markable, unmarked
from bench.leaderboards.statistics.value_statistics import Judged
from bench.leaderboards.table import Table, metric_name

HUMAN = "human (the true continuations)"
UNJUDGED = Judged()


@dataclass(frozen=True)
class Cell:
    """One text of a table and its marks.

    Args:
        text: as shown, without marks.
        best: of its column.
        second: the second best.
        differs: from the baseline, significantly.
    """

    text: str
    best: bool = False
    second: bool = False
    differs: bool = False


@dataclass(frozen=True)
class Line:
    """One line of a table: ours, a paper's, or what people wrote."""

    label: str
    cells: Sequence[Cell]
    ours: bool = True


def number(value: float | None) -> str:
    """Return a number as shown: two decimals, large whole ones without."""
    if value is None:
        return ""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) > 100 else f"{value:.2f}"


def shown(value: Value | None, n: int, half: float | None = None) -> str:
    """Return a value as shown; a conflict is never a number, and a mean over fewer seeds than n says so.

    Args:
        value: the mean over seeds and where it comes from.
        n: seeds of its row.
        half: half the width of its interval over seeds, where there is one.
    """
    if value is None:
        return ""
    if value.conflict:
        return "conflict"
    if value.mean is None:
        return "n/a"
    spread = "" if half is None else f" ±{number(half)}"
    return number(value.mean) + spread + (f" (n={value.n})" if value.n < n else "")


def most_seeds(row: TableRow) -> int:
    """Return how many seeds a row is the mean of."""
    return max((v.n for v in row.values.values()), default=0)


def seeds(row: TableRow) -> str:
    """Return how many seeds a row is the mean of, and how many diverged."""
    return f"{most_seeds(row)} (div {row.diverged}/{len(row.seeds)})" if row.diverged else str(most_seeds(row))


def headings(table: Table) -> list[str]:
    """Return the column headings."""
    return ["method", "backbone", "seeds", *table.columns]


def lines(table: Table, judged: Sequence[Mapping[str, Judged]] = ()) -> list[Line]:
    """Return our rows, each followed by what papers publish for it, and what people's texts score."""
    found = []
    best = {column: table.best(column) & markable(table, column) for column in table.columns}
    second = {column: table.second(column) & markable(table, column) for column in table.columns}
    said: set[str] = set()
    for i, row in enumerate(table.rows):
        known = judged[i] if judged else {}
        cells = [Cell(row.backbone), Cell(seeds(row))]
        for column in table.columns:
            one = known.get(column, UNJUDGED)
            text = shown(row.values.get(column), most_seeds(row), one.half)
            cells.append(Cell(text, i in best[column], i in second[column], one.differs))
        found.append(Line(row.label, cells))
        for paper in table.published:
            if paper.method == row.method and (mark := f"{paper.table}{paper.backbone}{paper.method}") not in said:
                said.add(mark)
                values = [Cell(number(paper.values.get(metric_name(column)))) for column in table.columns]
                found.append(Line(f"  {paper.paper} {paper.table}", [Cell(paper.backbone), Cell(""), *values], False))
    for row in table.human:
        values = [Cell(shown(row.values.get(column), 1)) for column in table.columns]
        found.append(Line(HUMAN, [Cell(""), Cell(""), *values], False))
    return found


def remarks(table: Table, judged: Sequence[Mapping[str, Judged]] = ()) -> list[str]:
    """Return what stands under a table: watermark, notes on published rows, what marks and missing values mean."""
    found = [f"NOT COMPARABLE WITH PUBLISHED NUMBERS: {table.watermark}"] if table.watermark else []
    every = [one for row in judged for one in row.values()]
    if any(one.half is not None for one in every):
        found.append("±: 95 % Student-t interval over seeds")
    if any(one.differs for one in every):
        found.append("†: differs from mle with the same backbone and decoding (paired randomisation over test items, "
                     "Holm over this table, p <= 0.05)")  # fmt: skip
    if names := unmarked(table):
        found.append(f"no mark of best or different, since seeds do not tell the rows apart (F test over rows with two "
                     f"seeds or more, p > 0.05, or too few such rows): {', '.join(names)}")  # fmt: skip
    found += sorted({f"{p.paper} {p.table}: {p.note}" for p in table.published if p.note})
    found += [f"{row.method}: {row.remark}" for row in table.rows if row.remark]
    found += without_value(table)
    if any("self-bleu-2" in row.values for row in table.rows):
        from bench.leaderboards.statistics.tradeoff import at_equal  # needs numpy

        found += at_equal(table.rows)
    if table.human:
        from bench.leaderboards.statistics.overall import closest  # needs numpy

        found += closest(table)
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


def plain(text: str) -> str:
    """Return a text without line breaks and control characters: stored names may be anybody's.

    >>> plain("a\\nb\\x1b[31m")
    'a b[31m'
    """
    return "".join(c for c in " ".join(text.splitlines()) if c.isprintable())
