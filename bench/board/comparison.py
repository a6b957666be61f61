"""Comparison: two methods of a board, value by value, over the same test items and seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bench.board.frames import frame
from bench.errors import UsageError, did_you_mean
from bench.leaderboards.audit import CellRecord, audit, only_the_objective
from bench.leaderboards.row import TableRow
from bench.leaderboards.statistics.significance import holm
from bench.leaderboards.statistics.significance_cache import KeptNumbers, SignificanceCache, cache_file
from bench.leaderboards.table import Table
from bench.store.reading import read_cell, readable
from bench.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["COLUMNS", "compared", "comparison_frame"]

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
    "n_seeds",
    "higher_is_better",
    "only_the_objective",
    "watermark",
)


def compared(store: Store, tables: Sequence[Table], first: str, second: str) -> list[dict[str, Any]]:
    """Return what two methods differ by in every table that has both, on the same backbone and decoding.

    `difference`, its 95 % interval over test items (`low`, `high`) and `p` (paired randomisation, Holm over all that is
    returned) are of the seeds that both have, where the metric is a sum over rows; None elsewhere. They say that these
    trained models differ; what other seeds would do, only more seeds say. `only_the_objective` is what `bench compare`
    says of the cells of these seeds.

    Args:
        store: where the tables are from.
        tables: of a board.
        first, second: names of methods.

    Raises:
        UsageError: no table has both.
    """
    cache = SignificanceCache(kept=KeptNumbers(cache_file()))
    records = list(_records(store, tables, first, second, cache))
    if not records:
        methods = {row.method for table in tables for row in table.rows}
        missing = [name for name in (first, second) if name not in methods]
        hint = "; they share no table, backbone and decoding"
        if missing:
            hint = did_you_mean(missing[0], methods)
        raise UsageError(f"the board cannot compare '{first}' with '{second}'{hint}")
    tested = [record for record in records if record["p"] is not None]
    for record, p in zip(tested, holm([record["p"] for record in tested]), strict=True):
        record["p"] = p
    return records


def _records(
    store: Store, tables: Sequence[Table], first: str, second: str, cache: SignificanceCache
) -> Iterator[dict[str, Any]]:
    """Yield the values of every pair of rows, with uncorrected p."""
    for table in tables:
        for ours in table.rows:
            for theirs in table.rows:
                if (ours.method, theirs.method) != (first, second) or not _are_alike(ours, theirs):
                    continue
                fair = _is_fair(store, table, ours, theirs)
                yield from _values(table, ours, theirs, fair, cache)


def _are_alike(ours: TableRow, theirs: TableRow) -> bool:
    return (ours.backbone, ours.decoding) == (theirs.backbone, theirs.decoding)


def _values(
    table: Table, ours: TableRow, theirs: TableRow, fair: bool | None, cache: SignificanceCache
) -> Iterator[dict[str, Any]]:
    for column, value in ours.values.items():
        other = theirs.values.get(column)
        if other is None or value.mean is None or other.mean is None:
            continue
        p, difference, low, high = None, None, None, None
        if test := cache.test(value, other):
            p, difference = test
            low, high = cache.interval(value, other)
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
            "difference": difference,
            "low": low,
            "high": high,
            "p": p,
            "n_seeds": len(value.by_seed.keys() & other.by_seed.keys()),
            "higher_is_better": value.higher_is_better,
            "only_the_objective": fair,
            "watermark": table.watermark,
        }


def _is_fair(store: Store, table: Table, ours: TableRow, theirs: TableRow) -> bool | None:
    """Return whether the cells of every shared seed differ in the objective alone; None where none is shared."""
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


def comparison_frame(records: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return the frame of `compared`."""
    return frame(records, COLUMNS)
