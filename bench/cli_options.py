"""Options that several commands share: how they are added to a parser, and how they are read."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.base.registry import expand, split_names
from bench.config.config import parse_sets
from bench.errors import MissingError, did_you_mean
from bench.tasks import TASKS, find_task

if TYPE_CHECKING:
    from bench.cells.score import Tasks
    from bench.store.store import CellFolder, Store

TASK, METHOD = -3, -2
"""Positions of task and method in the path of a run."""


def positive(text: str) -> int:
    """Read a whole number above zero."""
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"a whole number of at least 1, not '{text}'")
    return int(text)


OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "cells": {"nargs": "*", "metavar": "FOLDER", "help": "runs, folders above them or snapshots; default 'results'"},
    "--results": {
        "default": "results",
        "metavar": "DIR",
        "help": "the store; default 'results'; a snapshot is only read",
    },
    "--task": {"action": "append", "metavar": "NAMES", "help": "names with commas, 'all' or globs"},
    "--set": {
        "action": "extend",
        "default": [],
        "nargs": "+",
        "metavar": "KEY=VALUE",
        "dest": "sets",
        "help": "where data is, e.g. task.path=my.txt",
    },
    "--data-dir": {"metavar": "DIR", "help": "holds a folder for each task; 'sample' is the built-in sample"},
    "--limit": {
        "type": positive,
        "metavar": "N",
        "help": "first N rows of each split, for debugging: tables show such runs only if there are no others",
    },
    "--json": {"action": "store_true", "help": "machine-readable output"},
}
"""Options of several commands, as `argparse` takes them."""


def add_options(parser: argparse._ActionsContainer, *names: str, **changes: Any) -> None:
    """Add some of `OPTIONS` to a parser, with changes such as another `help`."""
    for name in names:
        parser.add_argument(name, **{**OPTIONS[name], **changes})


# Reading them ------------------------------------------------------------------------------------------------------


def stored_runs(given: argparse.Namespace) -> list[CellFolder]:
    """Return the trained runs at or below the folders or snapshots that the argument `cells` names."""
    from bench.store.store import cells_below

    found = []
    for place in given.cells or ["results"]:
        cells = cells_below(Path(place))
        if not cells:
            raise MissingError(f"no trained run at or below '{place}'; expected results/<task>/<method>/<key>")
        found += cells
    return found


def tasks_of(given: argparse.Namespace) -> Tasks:
    """Return the tasks of stored runs, with the data that `--set` and `--data-dir` name."""
    from bench.cells.score import Tasks

    named = split_names([getattr(given, "task", None) or ""])
    return Tasks(given.data_dir, parse_sets(given.sets), named)


def task_names(given: Sequence[str] | None, store: Store) -> list[str] | None:
    """Return the names of tasks in options with commas and globs; None for all.

    A stored task of a plug-in is found by its name, also if its code is gone.
    """
    names = split_names(given)
    if not names or "all" in names:
        return None
    chosen: dict[str, None] = {}
    stored: set[str] = set()
    if any(name not in TASKS for name in names):
        stored = stored_names(store, TASK)
    for name in names:
        if name in stored:
            chosen[name] = None
        else:
            chosen |= dict.fromkeys(map(task_name, expand([name], TASKS, "task", stored=stored)))
    return list(chosen)


def task_name(name: str) -> str:
    """Return the name that the runs of a task are stored under; the code of `file.py:Name` has it."""
    return find_task(name).name if ":" in name else name


def stored_names(store: Store, place: int) -> set[str]:
    """Return the names of the tasks or methods of the runs of a store."""
    return {cell.path.parts[place] for cell in store.cells()}


def trained_run(name: str, store: Store) -> CellFolder:
    """Return the trained run in a folder, or the only one of a store with this key or name.

    Args:
        name: of a folder; or TASK/METHOD/KEY or TASK/METHOD; or the first characters of a key.
        store: in which runs are looked for by key and name.

    Raises:
        MissingError: no run or several have this name.
    """
    from bench.store.store import cell_at

    if cell_at(Path(name)).has("trained.json"):
        return cell_at(Path(name))
    runs = {"/".join(cell.path.parts[TASK:]): cell for cell in store.cells() if cell.has("trained.json")}
    named = [
        place
        for place, cell in runs.items()
        if cell.path.name.startswith(name) or place == name or place.startswith(f"{name}/")
    ]
    if len(named) != 1:
        found = ", ".join(named[:3]) or "none"
        near = "" if named else did_you_mean(name, {place.rpartition("/")[0] for place in runs})
        raise MissingError(
            f"expected the name of one run in '{store.root}', or a run's folder; '{name}' is the name of {len(named)} "
            f"trained runs: {found}{near}"
        )
    return runs[named[0]]


# What commands that read a store say at the end --------------------------------------------------------------------


def say_damaged(store: Store) -> int:
    """Print the damaged files of a store that were read so far; return the exit code, 1 where there are any."""
    from bench.base.printable import one_line

    for error in store.damaged.values():
        print(one_line(f"bench: {error}"), file=sys.stderr)
    return int(bool(store.damaged))
