"""`bench report`: leaderboards from the stored files alone."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.cli_options import store_options, task_names
from bench.errors import MissingError, UsageError
from bench.leaderboards.render.formats import render
from bench.leaderboards.table import tables
from bench.store.kept_board import is_kept_board
from bench.store.store import Store


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
    if given.format == "html":
        from bench.commands.page import NAME, page_of

        if not given.output and is_kept_board(Path(given.results)):
            raise UsageError(f"'{given.results}' is a kept board, which is only read; say where with --output FILE")
        path = given.output or Path(given.results) / NAME
        print(f"wrote {page_of(Path(given.results), task_names(given.task), path)}")
        return 0
    if given.output:
        raise UsageError(f"--output is for --format html, got {given.format}; redirect the others with >")
    sys.stdout.write(report(Path(given.results), task_names(given.task), given.format, given.columns))
    return 0


def report(
    results: Path, tasks: Sequence[str] | None, form: str, columns: str = "default", limited: bool = False
) -> str:
    """Return the leaderboards of a store in one format.

    Raises:
        MissingError: when the store holds nothing to show.
    """
    found, notes = tables(Store(results), tasks, columns, limited)
    if not found:
        why = f" ({'; '.join(notes)})" if notes else ""
        raise MissingError(f"no scores in '{results}'{why}; bench run --task logicnlg --method all makes some")
    from bench.leaderboards.statistics.analysis import analysed  # needs numpy
    from bench.leaderboards.statistics.overall import overall_lines

    notes = [*notes, *overall_lines(found)]
    text = render(found, notes, form, analysed(found))
    if form in ("terminal", "markdown"):
        text += "".join(f"{note}\n" for note in notes)
    return text
