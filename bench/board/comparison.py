"""Comparison: two methods of a board, value by value, over the same test items and seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bench.errors import UsageError, did_you_mean
from bench.leaderboards.audit import CellRecord, audit, only_the_objective
from bench.leaderboards.row import TableRow
from bench.leaderboards.statistics.analysis import Difference, differences, with_holm
from bench.leaderboards.table import Table
from bench.store.reading import read_cell, readable
from bench.store.store import Store

__all__ = ["COLUMNS", "compared"]

COLUMNS = (
    "task",
    "split",
    "rows",
    "preset",
    "backbone",
    "decoding",
    "metric",
    "first",
    "second",
    "difference",
    "low",
    "high",
    "p",
    "p_items",
    "n_seeds",
    "higher_is_better",
    "only_the_objective",
    "watermark",
)


def compared(store: Store, tables: Sequence[Table], first: str, second: str) -> list[dict[str, Any]]:
    """Return what two methods differ by in every table that has both, on the same backbone and decoding.

    `difference` is the mean over the seeds that both have of the first less the second, with its 95 % t interval
    (`low`, `high`) and the p-value of the t test (`p`), from three seeds on. `p_items` is the p-value of the paired
    randomisation test over test items, where the metric is a sum over items: it says that these trained models differ,
    not that another seed would. Both are corrected by Holm over all that is returned. `only_the_objective` is what
    `bench compare` says of the runs of these seeds.

    Args:
        store: where the tables are from.
        tables: of a board.
        first, second: names of methods.

    Raises:
        UsageError: no table has both.
    """
    records = list(_records(store, tables, first, second))
    if not records:
        methods = {row.method for table in tables for row in table.rows}
        missing = [name for name in (first, second) if name not in methods]
        hint = "; they share no table, backbone and decoding"
        if missing:
            hint = did_you_mean(missing[0], methods)
        raise UsageError(f"the board cannot compare '{first}' with '{second}'{hint}")
    found = with_holm([record.pop("known") for record in records])
    for record, known in zip(records, found, strict=True):
        record |= vars(known)
    return records


def _records(store: Store, tables: Sequence[Table], first: str, second: str) -> Iterator[dict[str, Any]]:
    """Yield the values of every pair of rows; the difference that is `known` has p-values that are not corrected."""
    for table in tables:
        for ours in table.rows:
            for theirs in table.rows:
                if (ours.method, theirs.method) != (first, second) or not _are_alike(ours, theirs):
                    continue
                fair = _is_fair(store, table, ours, theirs)
                yield from _values(table, ours, theirs, fair)


def _are_alike(ours: TableRow, theirs: TableRow) -> bool:
    return (ours.backbone, ours.decoding) == (theirs.backbone, theirs.decoding)


def _values(table: Table, ours: TableRow, theirs: TableRow, fair: bool | None) -> Iterator[dict[str, Any]]:
    pairs = {}
    for column, value in ours.values.items():
        other = theirs.values.get(column)
        if other is not None and value.mean is not None and other.mean is not None:
            pairs[column] = value, other
    for (column, (value, other)), known in zip(pairs.items(), differences(list(pairs.values())), strict=True):
        yield {
            "task": table.task,
            "split": table.split,
            "rows": table.n,
            "preset": table.preset,
            "backbone": ours.backbone,
            "decoding": ours.decoding,
            "metric": column,
            "first": value.mean,
            "second": other.mean,
            "known": known or Difference(),
            "n_seeds": len(value.by_seed.keys() & other.by_seed.keys()),
            "higher_is_better": value.higher_is_better,
            "only_the_objective": fair,
            "watermark": table.watermark,
        }


def _is_fair(store: Store, table: Table, ours: TableRow, theirs: TableRow) -> bool | None:
    """Return whether the runs of every shared seed differ in the objective alone; None where none is shared."""
    first, second = _by_seed(store, table, ours), _by_seed(store, table, theirs)
    shared = sorted(first.keys() & second.keys())
    if not shared:
        return None
    return all(only_the_objective(audit(first[seed], second[seed])) for seed in shared)


def _by_seed(store: Store, table: Table, row: TableRow) -> dict[int, CellRecord]:
    records = {}
    for key in sorted(row.keys):
        cell = store.cell(table.task, row.config["method"], key)
        trained = readable(store, cell.trained)
        if trained is not None:
            evaluations = [score["of"] for score in read_cell(store, cell).scores]
            records[trained["config"]["seed"]] = CellRecord(trained, cell.provenance(), evaluations)
    return records
