"""Analysis: intervals, tests and ties of a leaderboard, from what its values are made of.

Of each shown column: the 95 % interval over seeds (from three seeds on); the difference from the baseline of the same
backbone and decoding with its bootstrap interval over items, and paired randomisation, corrected by Holm over all rows
and columns of the table; groups of rows that do not differ from their best. Columns that are no sums over rows (KLD,
Self-BLEU, MAUVE) have the first alone. Differences and groups are marks only where seeds tell a column's rows apart
(`seed_spread.markable`): a test over items says that two trained models differ, not that two methods do.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.base.files import write_atomic
from bench.base.keys import key_of
from bench.leaderboards.render.board import row_id, table_ids
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics import views
from bench.leaderboards.statistics.intervals import bootstrap_difference, seed_mean
from bench.leaderboards.statistics.seed_spread import markable
from bench.leaderboards.statistics.significance import ROUNDS, compare, holm, over_seeds, tie_groups
from bench.leaderboards.statistics.value_statistics import Judged
from bench.leaderboards.table import Table
from bench.metrics.sums import Sums

__all__ = ["BASELINE", "Tests", "analysed", "as_statistics", "baseline_of", "judged"]

BASELINE = "mle"
VERSION = 2
"""In the key of what is kept; raise it when a test or an interval would come out otherwise."""

Found = tuple[float | None, ...]


@dataclass
class Tests:
    """The tests of one table, each pair of rows asked once; what they found is kept in the cache by what decides it."""

    rounds: int = ROUNDS
    folder: Path | None = None
    loaded: dict[tuple[str, str], Sums | None] = field(default_factory=dict)

    def items(self, value: Value) -> dict[int, Sums]:
        """Return what a value is made of, by seed; empty where a seed lacks it or the value is a conflict."""
        if value.conflict or set(value.items) != set(value.by_seed):
            return {}
        found = {}
        for seed, stored in value.items.items():
            key = (str(stored.cell.items_path(stored.digest)), stored.name)
            if key not in self.loaded:
                self.loaded[key] = stored.load()
            if (items := self.loaded[key]) is None:
                return {}
            found[seed] = items
        return found

    def pair(self, ours: Value, theirs: Value) -> tuple[float, float] | None:
        """Return p and difference of two rows; None where they cannot be tested."""
        one, other = self.items(ours), self.items(theirs)
        if not set(one) & set(other) or {len(i) for i in one.values()} != {len(i) for i in other.values()}:
            return None

        def ask() -> Found:
            found = compare(one, other, self.rounds)
            return found.p, found.difference

        p, difference = self._kept("test", ours, theirs, ask)
        assert p is not None
        assert difference is not None
        return p, difference

    def interval(self, ours: Value, theirs: Value) -> tuple[float | None, float | None]:
        """Return the ends of the bootstrap interval of the difference of two rows that `pair` can test."""
        one, other = self.items(ours), self.items(theirs)
        seeds = sorted(set(one) & set(other))

        def ask() -> Found:
            mine, their = (over_seeds([side[seed] for seed in seeds]) for side in (one, other))
            found = bootstrap_difference(mine, their)
            return found.low, found.high

        low, high = self._kept("interval", ours, theirs, ask)
        return low, high

    def _kept(self, what: str, ours: Value, theirs: Value, ask: Callable[[], Found]) -> Found:
        """Return what is kept of two rows, asked for where there is nothing yet."""
        if self.folder is None:
            return ask()
        sides = [{str(seed): [one.digest, one.name] for seed, one in value.items.items()} for value in (ours, theirs)]
        path = self.folder / f"{key_of([VERSION, what, self.rounds, sides])}.json"
        if path.is_file():
            return tuple(json.loads(path.read_text()))
        found = ask()
        write_atomic(path, json.dumps(found).encode())
        return found


def analysed(tables: Sequence[Table], rounds: int = ROUNDS, cached: bool = True) -> list[list[dict[str, Judged]]]:
    """Return for each table and row what is known of its values, by column.

    Args:
        tables: as they are shown.
        rounds: random swaps of a test.
        cached: keep p-values and intervals, which cost seconds a table, in the cache.
    """
    folder = Path(os.environ.get("BENCH_CACHE", Path.home() / ".cache" / "objective-bench")) / "tests"
    return [judged(table, Tests(rounds, folder if cached else None)) for table in tables]


def judged(table: Table, tests: Tests) -> list[dict[str, Judged]]:
    """Return what is known of the values of a table's shown columns, by row."""
    found: list[dict[str, Judged]] = [
        {name: Judged(seed_mean(list(value.by_seed.values())).half)
         for name, value in row.values.items() if value.by_seed and not value.conflict}
        for row in table.rows
    ]  # fmt: skip
    asked = list(_against_baselines(table, tests))
    for (i, name, one), p in zip(asked, holm([one.p or 0.0 for _, _, one in asked]), strict=True):
        found[i][name] = replace(one, half=found[i][name].half, p=p)
    for name in table.columns:
        places = markable(table, name)
        groups = _groups(table, name, tests) if places else [None] * len(table.rows)
        for i in sorted(places):
            if name in found[i]:
                found[i][name] = replace(found[i][name], group=groups[i], markable=True)
    return found


def baseline_of(table: Table, row: TableRow) -> int | None:
    """Return the place of the maximum-likelihood row with the same backbone and decoding; None for itself.

    Of several, the one that was trained alike; without one, none: which is meant would be a choice.
    """
    found = [i for i, other in enumerate(table.rows) if other is not row and other.method == BASELINE
             and (other.backbone, other.decoding) == (row.backbone, row.decoding)]  # fmt: skip
    alike = [i for i in found if table.rows[i].config.get("trainer") == row.config.get("trainer")]
    return alike[0] if len(alike) == 1 else found[0] if len(found) == 1 and row.method != BASELINE else None


def _against_baselines(table: Table, tests: Tests) -> Iterator[tuple[int, str, Judged]]:
    """Yield row, column and what is known of every value that can be tested against its baseline, p as it is."""
    for i, row in enumerate(table.rows):
        base = baseline_of(table, row)
        for name in table.columns if base is not None else ():
            ours, theirs = row.values.get(name), table.rows[base].values.get(name)  # type: ignore[index]
            if ours is None or theirs is None or ours.higher_is_better is None:
                continue
            if pair := tests.pair(ours, theirs):
                low, high = tests.interval(ours, theirs)
                yield i, name, Judged(None, None, *pair, low, high, base)


def _groups(table: Table, name: str, tests: Tests) -> list[int | None]:
    """Return each row's tie group in a column; none unless every row with a value can be tested."""
    values = [row.values.get(name) for row in table.rows]
    means = [None if value is None else value.mean for value in values]
    there = [value for value in values if value is not None and value.mean is not None]
    if len(there) < 2 or there[0].higher_is_better is None or not all(tests.items(value) for value in there):
        return [None] * len(values)
    higher = bool(there[0].higher_is_better)

    def p_of(one: int, other: int) -> float:
        ours, theirs = values[one], values[other]
        assert ours is not None
        assert theirs is not None
        pair = tests.pair(ours, theirs)
        return 1.0 if pair is None else pair[0]

    return tie_groups(means, p_of, higher)


def as_statistics(tables: Sequence[Table], found: Sequence[Sequence[Mapping[str, Judged]]]) -> dict[str, Any]:
    """Return the analysis as `board(..., statistics=)` takes it."""
    content: dict[str, Any] = {}
    for name, table, rows in zip(table_ids(tables), tables, found, strict=True):
        ids = [row_id(row) for row in table.rows]
        values = {
            ids[i]: {column: {"half": one.half, "tied": "" if one.group is None else _letter(one.group), "p": one.p,
                              "differs": one.differs, "difference": one.difference, "low": one.low, "high": one.high,
                              "against": "" if one.against is None else ids[one.against]}
                     for column, one in row.items()}
            for i, row in enumerate(rows)
        }  # fmt: skip
        content[name] = {"values": values, "wins": _wins(table, ids, rows)}
    return content


def _letter(group: int) -> str:
    """Return the letter of a group, a to z and then pairs."""
    return chr(97 + group) if group < 26 else _letter(group // 26 - 1) + _letter(group % 26)


def _wins(table: Table, ids: Sequence[str], rows: Sequence[Mapping[str, Judged]]) -> dict[str, Any] | None:
    """Return how many of the shown columns each row wins, ties and loses against each other; rows of a group tie.

    Columns whose rows seeds do not tell apart have no vote.
    """
    goals: dict[str, views.Goal] = {}
    voting = [name for name in table.columns if markable(table, name)]
    for row in table.rows:
        for name in voting:
            if name in row.values and (way := row.values[name].higher_is_better) is not None:
                goals[name] = "higher" if way else "lower"
    means = {ids[i]: {name: row.values[name].mean if name in row.values else None for name in goals}
             for i, row in enumerate(table.rows)}  # fmt: skip
    if len(means) < 2 or not goals:
        return None
    place = {name: i for i, name in enumerate(ids)}

    def tied(one: str, other: str, column: str) -> bool:
        groups = [rows[place[name]].get(column, Judged()).group for name in (one, other)]
        return groups[0] is not None and groups[0] == groups[1]

    matrix: dict[str, dict[str, list[int]]] = {name: {} for name in ids}
    for duel in views.pairwise(means, goals, tied=tied):
        matrix[duel.one][duel.other] = [duel.wins, duel.ties, duel.losses]
        matrix[duel.other][duel.one] = [duel.losses, duel.ties, duel.wins]
    return {"columns": list(goals), "matrix": matrix}
