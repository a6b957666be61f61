"""Leaderboards: the tables of a store with their statistics and notes, made once and given to every renderer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from bench.leaderboards.overview import Overview, overview
from bench.leaderboards.patterns import fits, refuse_unknown
from bench.leaderboards.statistics.analysis import add_statistics
from bench.leaderboards.statistics.significance import ROUNDS
from bench.leaderboards.table import LeftOut, Table, notes_of, order_for_readers

__all__ = ["Leaderboards", "with_statistics"]

NAMED = 5
"""Damaged files that a note names."""
HIDDEN = "rows of other methods are not shown; tests are those of whole tables"


@dataclass(frozen=True)
class Leaderboards:
    """The tables of a store, with what is shown around them.

    Args:
        tables: in the order they are shown, with statistics.
        left_out: how many cells of each task are in no table, by reason.
        damaged: files that were passed over, below the store.
        overview: every method against the baseline on every task.
    """

    tables: Sequence[Table]
    left_out: LeftOut
    damaged: Sequence[str] = ()
    overview: Overview = Overview()

    @property
    def notes(self) -> list[str]:
        """What text formats write under all tables: what was left out and why, and what follows over the tasks."""
        return [*self.left_out_notes, *self.overview.text_lines]

    @property
    def left_out_notes(self) -> list[str]:
        """What was left out of the tables, and why."""
        return [*self._damage(), *notes_of(self.left_out)]

    def _damage(self) -> list[str]:
        """Return a note on the damaged files that were passed over."""
        if not self.damaged:
            return []
        named = ", ".join(self.damaged[:NAMED])
        if len(self.damaged) > NAMED:
            named += f" and {len(self.damaged) - NAMED} more"
        return [f"damaged files are left out: {named}; bench store status says what is wrong with each and what to do"]

    def of_tasks(self, tasks: Collection[str]) -> Leaderboards:
        """Return the leaderboards of some tasks; the overview over tasks is computed again."""
        if all(table.task in tasks for table in self.tables) and all(task in tasks for task in self.left_out):
            return self
        kept = [table for table in self.tables if table.task in tasks]
        left_out = {task: counts for task, counts in self.left_out.items() if task in tasks}
        return Leaderboards(kept, left_out, self.damaged, overview(kept))

    def of_methods(self, patterns: Sequence[str]) -> Leaderboards:
        """Return what is shown of some methods; tests stay those of whole tables, and marks are among what is shown.

        Args:
            patterns: names or globs of methods.

        Raises:
            UsageError: a pattern fits no method of any table.
        """
        refuse_unknown("method", patterns, {row.method for table in self.tables for row in table.rows})
        left_out = {task: dict(counts) for task, counts in self.left_out.items()}
        tables = []
        for table in self.tables:
            rows = [row for row in table.rows if fits(row.method, patterns)]
            if hidden := len(table.rows) - len(rows):
                left_out.setdefault(table.task, {})[HIDDEN] = hidden + left_out.get(table.task, {}).get(HIDDEN, 0)
            if rows:
                published = [row for row in table.published if fits(row.method, patterns)]
                columns = [column for column in table.columns if any(column in row.values for row in rows)]
                tables.append(replace(table, rows=rows, columns=columns, published=published, human=()))
        return Leaderboards(tables, left_out, self.damaged)

    def for_readers(self) -> Leaderboards:
        """Return the same with its tables in the order of a page: real rows of three seeds first, samples last."""
        tables = [self.tables[place] for place in order_for_readers(self.tables)]
        return replace(self, tables=tables, overview=overview(tables))


def with_statistics(
    tables: Sequence[Table], left_out: LeftOut | None = None, rounds: int = ROUNDS, damaged: Sequence[str] = ()
) -> Leaderboards:
    """Give tables their statistics, and return them with what is shown around them.

    Args:
        tables: as they are shown.
        left_out: how many cells of each task are in no table, by reason.
        rounds: random swaps of a test over items.
        damaged: files that were passed over, below the store.
    """
    for table in tables:
        add_statistics(table, rounds)
    return Leaderboards(tables, left_out or {}, damaged, overview(tables))
