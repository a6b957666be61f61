"""`bench report`: leaderboards from the stored files alone."""

import argparse
import gc
import os
import sys
from pathlib import Path

from bench.base.files import write_atomic
from bench.base.registry import split_names
from bench.cli_options import add_options, say_damaged, task_names
from bench.errors import UsageError
from bench.leaderboards.render import FORMATS, PAGE
from bench.store.store import Store


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench report`."""
    add_options(parser, "--results", "--task")
    parser.add_argument(
        "--method", action="append", metavar="NAMES", help="show rows of these alone: names with commas, or globs"
    )
    parser.add_argument(
        "--metric",
        "--metrics",
        action="append",
        metavar="NAMES",
        help="show columns of these alone, such as '*' for every metric: names with commas, or globs",
    )
    parser.add_argument(
        "--format",
        default="terminal",
        choices=[*FORMATS, PAGE],
        metavar="NAME",
        help=f"{', '.join(FORMATS)} or {PAGE}; default terminal",
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="file to write; html is by default in the store")
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="same as --format json")


def run(given: argparse.Namespace) -> int:
    """Print or write them; return 0, or 1 where files are damaged.

    Raises:
        UsageError: no file is named for the page of a snapshot, or a folder in place of a file.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more threads of numpy take a fifth more work and no less time
    path, store = given.output, Store(Path(given.results))
    if path is not None and path.is_dir():
        raise UsageError(f"expected a file after --output, found the folder '{path}'")
    if path is None and given.format == PAGE:
        if store.files.is_snapshot:
            raise UsageError(f"'{store.root}' is a snapshot, which is only read; name a file by --output FILE")
        path = store.root / "leaderboard.html"
    collects = gc.isenabled()
    gc.disable()  # tables have no circles of objects, and the search for them takes a sixth of the time
    try:
        from bench.leaderboards.leaderboards import leaderboards_of

        full = given.metric is not None or given.format in ("csv", "json")
        found = leaderboards_of(store, task_names(given.task, store), full=full)
        methods, metrics = (split_names(names) if names else None for names in (given.method, given.metric))
        found = found.filtered(None, methods, metrics)
        from bench.leaderboards.render.formats import render

        if path is None:
            sys.stdout.write(render(found, given.format))
        elif given.format == PAGE:
            from bench.board.page import page_of
            from bench.commands.claims import evaluated

            page_of(found, store, path, claims=evaluated(store))
        else:
            write_atomic(path, render(found, given.format).encode("utf-8", "replace"), replace=True)
        if path is not None:
            print(f"wrote {path}")
    finally:
        if collects:
            gc.enable()
        code = say_damaged(store)
    return code
