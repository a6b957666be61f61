"""Logging of leaderboards: the tables of a run are copied to its loggers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from bench.base.keys import key_of
from bench.board.read import leaderboards_of
from bench.cells.loggers import LoggedRun, logs_of
from bench.config.arguments import RunArguments
from bench.errors import BenchError
from bench.leaderboards.leaderboards import Leaderboards
from bench.leaderboards.render.board import board
from bench.store.store import Store

BOARD = "board"
"""The group and the label of the run that holds a board; its id is the hash of the numbers."""


def warned(text: str) -> None:
    """Print a warning."""
    print(f"warning: {text}", file=sys.stderr)


def log_stored(tasks: Collection[str], arguments: RunArguments, limited: bool, off: Collection[str]) -> None:
    """Log the stored leaderboards of some tasks; where there is none, or it cannot be read, print why.

    Args:
        tasks: of a run.
        arguments: of the run, which name its store and its loggers.
        limited: whether its runs have a limit of rows, as tables keep them apart.
        off: loggers that have failed before; they are left out.
    """
    if set(arguments.loggers) <= set(off):
        return
    try:
        leaderboards = leaderboards_of(Store(arguments.results_folder), sorted(tasks), limited=limited)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return
    log_board(leaderboards, arguments, off)


def log_board(
    leaderboards: Leaderboards,
    arguments: RunArguments,
    off: Collection[str] = (),
    warn: Callable[[str], None] = warned,
) -> None:
    """Log a table for each leaderboard: means, halves of intervals over seeds, footnote marks and watermark.

    Args:
        leaderboards: of a run.
        arguments: of the run, which name its loggers.
        off: loggers that have failed before; they are left out.
        warn: called when a logger fails; by default it prints.
    """
    asked = tuple(name for name in arguments.loggers if name not in off)
    if not asked:
        return
    tables: dict[str, tuple[list[str], list[list[Any]]]] = {}
    for table in board(leaderboards)["tables"]:
        tables[f"{BOARD}/{table['id']}"] = table_of_means(table)
    config = {"preset": arguments.preset, "tables": list(tables)}
    run = LoggedRun(id=f"{BOARD}-{key_of(tables)}", label=BOARD, group=BOARD, config=config)
    with logs_of(replace(arguments, loggers=asked), warn).run(lambda: run) as opened:
        for name, (columns, rows) in tables.items():
            opened.table(name, columns, rows)


def table_of_means(table: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """Return the columns and rows of one table: each mean, and half of its 95 % interval over seeds."""
    metrics = [column["name"] for column in table["columns"]]
    columns = ["method", "backbone", "decoding", "settings", "n_seeds", "marks", "watermark"]
    for metric in metrics:
        columns += [metric, f"{metric} half"]
    rows = []
    for row in table["methods"]:
        line = [row["method"], row["backbone"], row["decoding"], row["settings"], row["n_seeds"]]
        line += [", ".join(row["marks"]), table["watermark"]]
        for metric in metrics:
            value = row["values"].get(metric, {})
            line += [value.get("mean"), value.get("half")]
        rows.append(line)
    return columns, rows
