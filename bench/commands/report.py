"""`bench report`: leaderboards from the stored files alone."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.cli_options import store_options, task_names
from bench.errors import MissingError, UsageError
from bench.store.kept_board import is_kept_board
from bench.store.store import Store

if TYPE_CHECKING:
    from bench.leaderboards.leaderboards import Leaderboards


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench report`."""
    store_options(parser)
    formats = ["terminal", "markdown", "csv", "latex", "json", "html"]
    parser.add_argument("--format", default="terminal", choices=formats, help="default terminal")
    parser.add_argument("--output", type=Path, metavar="FILE", help="of html; default leaderboard.html in the store")
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="same as --format json")
    parser.add_argument("--columns", default="default", choices=["default", "all"], help="all: every metric stored")


def run(given: argparse.Namespace) -> int:
    """Print them."""
    results, tasks = Path(given.results), task_names(given.task)
    if given.format == "html":
        from bench.commands.page import NAME, page_of

        if not given.output and is_kept_board(results):
            raise UsageError(f"'{given.results}' is a kept board, which is only read; say where with --output FILE")
        path = given.output or results / NAME
        print(f"wrote {page_of(stored_leaderboards(results, tasks), results, path)}")
        return 0
    if given.output:
        raise UsageError(f"--output is for --format html, got {given.format}; redirect the others with >")
    sys.stdout.write(report(results, tasks, given.format, given.columns))
    return 0


def report(results: Path, tasks: Sequence[str] | None, form: str, columns: str = "default") -> str:
    """Return the leaderboards of a store in one format.

    Raises:
        MissingError: when the store holds nothing to show.
    """
    from bench.leaderboards.render.formats import render

    return render(stored_leaderboards(results, tasks, columns), form)


def stored_leaderboards(
    results: Path, tasks: Sequence[str] | None = None, columns: str = "default", limited: bool = False
) -> Leaderboards:
    """Return the leaderboards of a store.

    Raises:
        MissingError: when the store holds nothing to show.
    """
    from bench.leaderboards.leaderboards import leaderboards_of

    return refuse_empty(leaderboards_of(Store(results), tasks, columns, limited), results)


def refuse_empty(leaderboards: Leaderboards, results: Path) -> Leaderboards:
    """Return leaderboards that have a table.

    Raises:
        MissingError: there is none.
    """
    if leaderboards.tables:
        return leaderboards
    why = ""
    if leaderboards.notes:
        why = f" ({'; '.join(leaderboards.notes)})"
    raise MissingError(f"no scores in '{results}'{why}; bench run --task logicnlg --method all makes some")
