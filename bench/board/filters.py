"""Filters: which tables, rows and columns of a board are looked at; numbers and tests stay those of the whole board."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.leaderboards.patterns import fits, refuse_unknown
from bench.leaderboards.table import metric_name

__all__ = ["Filter", "Names", "filtered", "names_of"]

Names = str | Iterable[str] | None
"""A name or pattern (`rouge-*`), several, or None for all."""


@dataclass(frozen=True)
class Filter:
    """What is kept, as patterns; None keeps all.

    Args:
        tasks: of tables.
        methods: of rows.
        metrics: of columns.
    """

    tasks: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    metrics: tuple[str, ...] | None = None


def names_of(names: Names) -> tuple[str, ...] | None:
    """Return what was asked for as patterns.

    >>> names_of("mle"), names_of(["a", "b*"]), names_of(None)
    (('mle',), ('a', 'b*'), None)
    """
    if names is None:
        return None
    if isinstance(names, str):
        return (names,)
    return tuple(names)


def filtered(content: Mapping[str, Any], keep: Filter) -> dict[str, Any]:
    """Return the content of a board with what a filter keeps.

    Raises:
        UsageError: a pattern fits nothing in the board; it says what there is.
    """
    tables = [table for table in content["tables"] if fits(table["task"], keep.tasks)]
    refuse_unknown("task", keep.tasks, {table["task"] for table in content["tables"]})
    refuse_unknown("method", keep.methods, {row["method"] for table in tables for row in table["methods"]})
    refuse_unknown("metric", keep.metrics, {_metric(column) for table in tables for column in table["columns"]})
    kept = [_filtered_table(table, keep) for table in tables]
    overview = content.get("overview")
    if keep != Filter():
        overview = None  # it is over all tasks and methods
    return {**content, "overview": overview, "tables": [table for table in kept if table["methods"]]}


def _filtered_table(table: Mapping[str, Any], keep: Filter) -> dict[str, Any]:
    """Return one table with the rows and columns that are kept; a column that was asked for is shown."""
    if keep.methods is None and keep.metrics is None:
        return dict(table)
    columns = [dict(column) for column in table["columns"] if fits(_metric(column), keep.metrics)]
    if keep.metrics is not None:
        columns = [{**column, "shown": True} for column in columns]
    names = {column["name"] for column in columns}
    rows = [row for row in table["methods"] if fits(row["method"], keep.methods)]
    ids = {row["id"] for row in rows}
    human = [] if keep.methods is not None else table["human"]
    published = [row for row in table["published"] if fits(row["method"], keep.methods)]
    samples = []
    for sample in table["samples"]:
        samples.append({**sample, "texts": {name: text for name, text in sample["texts"].items() if name in ids}})
    return {
        **table,
        "columns": columns,
        "methods": [_with_columns(row, names) for row in rows],
        "human": [_with_columns(row, names) for row in human],
        "published": published,
        "samples": samples,
    }


def _with_columns(row: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    return {**row, "values": {column: value for column, value in row["values"].items() if column in names}}


def _metric(column: Mapping[str, Any]) -> str:
    return metric_name(column["name"])
