"""`bench report`: leaderboards from the stored files alone."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.base.files import write_atomic
from bench.base.registry import split_names
from bench.board.read import leaderboards_of
from bench.cli_options import say_damaged, store_options, task_names
from bench.errors import UsageError
from bench.leaderboards.render import FORMATS, PAGE, find_format
from bench.store.snapshot import is_snapshot
from bench.store.store import Store

if TYPE_CHECKING:
    from bench.leaderboards.leaderboards import Leaderboards


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench report`."""
    store_options(parser)
    parser.add_argument(
        "--method", action="append", metavar="NAMES", help="show rows of these alone: names with commas, or globs"
    )
    parser.add_argument(
        "--metric", action="append", metavar="NAMES", help="show columns of these alone: names with commas, or globs"
    )
    parser.add_argument(
        "--format",
        default="terminal",
        metavar="NAME",
        help=f"{', '.join(FORMATS)}, {PAGE}, module:Name or file.py:Name; default terminal",
    )
    parser.add_argument(
        "--output", type=Path, metavar="PLACE", help="file or folder to write; default for html the store"
    )
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="same as --format json")
    parser.add_argument("--columns", default="default", choices=["default", "all"], help="all: every metric stored")


def run(given: argparse.Namespace) -> int:
    """Print or write them; return 0, or 1 where files are damaged."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more threads of numpy take a fifth more work and no less time
    path = place_of(given.output, given.format, Path(given.results))
    store = Store(Path(given.results))
    tasks = task_names(given.task, store)
    try:
        with uncollected():
            found = leaderboards_of(store, tasks, given.columns)
            methods, metrics = (split_names(names) if names else None for names in (given.method, given.metric))
            found = found.filtered(None, methods, metrics)
            write(found, given.format, path, store)
    finally:
        code = say_damaged(store)
    return code


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Do without the search for circles of objects: tables have none, and in a large store it takes a sixth of time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def write(leaderboards: Leaderboards, form: str, path: Path | None, store: Store) -> None:
    """Print leaderboards, or write them to a file.

    Args:
        leaderboards: of the store.
        form: of the output.
        path: the file; None to print.
        store: notes the damaged files that the page meets.

    Raises:
        StoreError: the file cannot be written.
    """
    if path is None:
        sys.stdout.write(rendered(leaderboards, form))
        return
    if form == PAGE:
        from bench.commands.claims import judged
        from bench.leaderboards.claim.claim_files import names, read
        from bench.page import page_of

        claims = judged([read(name) for name in names()], store, "small")
        page_of(leaderboards, store, path, claims=claims)
    else:
        write_atomic(path, rendered(leaderboards, form).encode("utf-8", "replace"), replace=True)
    print(f"wrote {path}")


def place_of(output: Path | None, form: str, results: Path) -> Path | None:
    """Return the file to write, or None to print.

    Args:
        output: a file, or a folder: one that is there, or a name without an ending.
        form: of the leaderboards; html is always a file, by default in the store.
        results: the store.

    Raises:
        UsageError: no output is given for the page of a snapshot.
    """
    name = f"leaderboard{ending_of(form)}"
    if output is not None:
        if output.is_dir() or not output.suffix:
            return output / name
        return output
    if form != PAGE:
        return None
    if is_snapshot(results):
        raise UsageError(f"'{results}' is a snapshot, which is only read; say where with --output FILE")
    return results / name


def ending_of(form: str) -> str:
    """Return how the name of a format's file ends.

    Raises:
        UsageError: there is no such format.
    """
    if form == PAGE:
        return ".html"
    return find_format(form).ending


def report(results: Path, tasks: Sequence[str] | None, form: str, columns: str = "default") -> str:
    """Return the leaderboards of a results folder or snapshot in one format.

    Raises:
        MissingError: when the store holds nothing to show.
    """
    return rendered(leaderboards_of(Store(results), tasks, columns), form)


def rendered(leaderboards: Leaderboards, form: str) -> str:
    """Return leaderboards in one format."""
    from bench.leaderboards.render.formats import render

    return render(leaderboards, form)
