"""`bench report`: leaderboards from the stored files alone."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.base.outward import write_styled
from bench.cli_options import store_options, task_names
from bench.errors import MissingError, UsageError
from bench.leaderboards.table import Table, notes_of, tables_and_left_out
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
        from bench.page import NAME, page_of

        if not given.output and is_kept_board(results):
            raise UsageError(f"'{given.results}' is a kept board, which is only read; say where with --output FILE")
        path = given.output or results / NAME
        print(f"wrote {page_of(stored_leaderboards(results, tasks), results, path)}")
        return 0
    if given.output:
        raise UsageError(f"--output is for --format html, got {given.format}; redirect the others with >")
    write_styled(report(results, tasks, given.format, given.columns))
    return 0


def report(results: Path, tasks: Sequence[str] | None, form: str, columns: str = "default") -> str:
    """Return the leaderboards of a store in one format.

    Raises:
        MissingError: when the store holds nothing to show.
    """
    leaderboards = stored_leaderboards(results, tasks, columns)
    from bench.leaderboards.render.formats import render

    return render(leaderboards, form)


def stored_leaderboards(
    results: Path, tasks: Sequence[str] | None = None, columns: str = "default", limited: bool = False
) -> Leaderboards:
    """Return the leaderboards of a store; numpy is loaded only where there is something to show.

    Raises:
        MissingError: when the store holds nothing to show.
    """
    tables, left_out = tables_and_left_out(Store(results), tasks, columns, limited)
    refuse_empty(tables, notes_of(left_out), results)
    from bench.leaderboards.leaderboards import with_statistics

    return with_statistics(tables, left_out)


def refuse_empty(tables: Sequence[Table], notes: Sequence[str], results: Path) -> None:
    """Refuse to show nothing.

    Raises:
        MissingError: there is no table.
    """
    if tables:
        return
    why = ""
    if notes:
        why = f" ({'; '.join(notes)})"
    raise MissingError(f"no scores in '{results}'{why}; bench run --task logicnlg --method all makes some")
