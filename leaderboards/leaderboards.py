"""Leaderboards: the tables of a store with their statistics and notes, made once and given to every renderer."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.base.printable import number_of
from bench.errors import MissingError, StoreError, UsageError, did_you_mean
from bench.leaderboards.statistics.constants import ROUNDS
from bench.leaderboards.table import LeftOut, Table, metric_name, tables
from bench.store.store import Store

NAMED = 5
"""Damaged files that a note names."""
HIDDEN = "rows of other methods are not shown; the correction for several tests counts them"


@dataclass(frozen=True)
class Leaderboards:
    """The tables of a store, with what is shown around them.

    Args:
        tables: in the order they are shown, with statistics.
        left_out: how many runs of each task are in no table, by reason.
        damaged: files that were passed over, below the store.
    """

    tables: Sequence[Table]
    left_out: LeftOut
    damaged: Sequence[str] = ()

    @property
    def notes(self) -> list[str]:
        """What was left out of the tables, and why."""
        counts = Counter[str]()
        for of_task in self.left_out.values():
            counts.update(of_task)
        notes = [number_of(n, reason) for reason, n in sorted(counts.items())]
        if not self.damaged:
            return notes
        named = ", ".join(self.damaged[:NAMED])
        if len(self.damaged) > NAMED:
            named += f" and {len(self.damaged) - NAMED} more"
        remedy = "bench store status says what is wrong with each and what to do"
        return [f"damaged files are left out: {named}; {remedy}", *notes]

    def refuse_empty(self, results: Path, tasks: Sequence[str] | None = None, stored: Iterable[str] = ()) -> None:
        """Raise an error if there is no table of some tasks; it names them and those that are stored.

        Raises:
            MissingError: there is no table.
        """
        if self.tables:
            return
        why = f" ({'; '.join(self.notes)})" if self.notes else ""
        makes = "bench run --task logicnlg --method mle makes some"
        if "--limit" in why:
            makes = "the run alone prints the table of a limited run; the same command without --limit makes scores"
        elif tasks and (others := set(stored).difference(tasks)):
            makes = f"there are runs of {', '.join(sorted(others))}"
        of = f" of {', '.join(tasks)}" if tasks else ""
        raise MissingError(f"no scores{of} in '{results}'{why}; {makes}")

    def of_tasks(self, tasks: Collection[str]) -> Leaderboards:
        """Return the leaderboards of some tasks."""
        kept = [table for table in self.tables if table.task in tasks]
        left_out = {task: counts for task, counts in self.left_out.items() if task in tasks}
        return Leaderboards(kept, left_out, self.damaged)

    def filtered(
        self,
        tasks: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        metrics: Sequence[str] | None = None,
    ) -> Leaderboards:
        """Return the leaderboards of some tasks, methods and metrics, each given by names or globs; None for all.

        Numbers and tests stay those of whole tables; the best values are those of the rows that are shown.

        Raises:
            UsageError: a pattern fits nothing; the message has the names that there are.
        """
        if tasks is methods is metrics is None:
            return self
        found = [table for table in self.tables if fits(table.task, tasks)]
        refuse_unknown("task", tasks, {table.task for table in self.tables})
        refuse_unknown("method", methods, {row.method for table in found for row in table.rows})
        refuse_unknown("metric", metrics, {metric_name(name) for table in found for name in table.all_columns})
        left_out = {task: dict(counts) for task, counts in self.left_out.items() if fits(task, tasks)}
        kept = []
        for table in found:
            rows = [row for row in table.rows if fits(row.method, methods)]
            if hidden := len(table.rows) - len(rows):
                left_out.setdefault(table.task, {})[HIDDEN] = hidden + left_out.get(table.task, {}).get(HIDDEN, 0)
            columns, human = table.columns, table.human
            if methods is not None:
                columns, human = [name for name in columns if any(name in row.values for row in rows)], ()
            if metrics is not None:
                columns = [name for name in table.all_columns if fits(metric_name(name), metrics)]
                some = [[row.with_columns(columns) for row in part] for part in (rows, human)]
                rows, human = ([row for row in part if row.values] for part in some)
            if rows:
                published, of = [row for row in table.published if fits(row.method, methods)], table.of or table
                kept.append(replace(table, rows=rows, columns=columns, published=published, human=human, of=of))
        if not kept:
            raise UsageError("no row of these methods has any of these metrics")
        return Leaderboards(kept, left_out, self.damaged)


def leaderboards_of(
    store: Store, tasks: Sequence[str] | None = None, limited: bool = False, full: bool = True
) -> Leaderboards:
    """Return the leaderboards of a store; the arguments are those of `tables` and `with_statistics`.

    Raises:
        MissingError: the store has nothing to show.
        StoreError: it has nothing to show but damaged files.
    """
    found, left_out = tables(store, tasks, limited=limited)
    if store.damaged and not found:
        raise StoreError(f"'{store.root}' has nothing to show but {number_of(len(store.damaged), 'damaged files')}")
    below = [
        path.relative_to(store.root).as_posix() if path.is_relative_to(store.root) else path.name
        for path in store.damaged
    ]  # a page should show no folder of this machine
    stored = (cell.path.parts[-3] for cell in store.cells())
    Leaderboards(found, left_out, below).refuse_empty(store.root, tasks, stored)
    return replace(with_statistics(found, left_out, full=full), damaged=below)


def with_statistics(
    tables: Sequence[Table], left_out: LeftOut | None = None, rounds: int = ROUNDS, full: bool = True
) -> Leaderboards:
    """Give tables their statistics, and return them with what is shown around them.

    Args:
        tables: as they are shown.
        left_out: how many runs of each task are in no table, by reason.
        rounds: random swaps of a test over items.
        full: whether columns that are not shown are tested, too; without them it takes a fifth less time.
    """
    from bench.leaderboards.statistics.analysis import add_statistics  # numpy, only where there is something to show

    for table in tables:
        add_statistics(table, rounds, full)
    return Leaderboards(tables, left_out or {})


def fits(name: str, patterns: Sequence[str] | None) -> bool:
    """Return whether a name fits one of the patterns; every name fits None."""
    return patterns is None or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def refuse_unknown(what: str, patterns: Sequence[str] | None, names: Collection[str]) -> None:
    """Refuse a pattern that fits nothing, and no pattern at all: an empty board would look like a finding.

    Raises:
        UsageError: a pattern fits no name, or there is no pattern.
    """
    if patterns is not None and not patterns:
        raise UsageError(f"no {what} is named; there are: {', '.join(sorted(names))}")
    for pattern in patterns or ():
        if not fnmatch.filter(names, pattern):
            raise UsageError(f"the board has no {what} '{pattern}'{did_you_mean(pattern, sorted(names))}")
