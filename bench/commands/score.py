"""`bench score`: numbers from stored rows, without a model."""

from __future__ import annotations

import argparse
import json
import sys

from bench.base.entries import expand, split_names
from bench.cli_options import cell_folders, rows_options, tasks_of
from bench.errors import BenchError, MissingError
from bench.metrics import METRICS, find_metric
from bench.store.records import read_rows


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench score`."""
    rows_options(parser)
    parser.add_argument(
        "--metrics",
        action="append",
        metavar="NAMES",
        help="names with commas, globs, module:Name or file.py:Name; default: those of each task",
    )


def run(given: argparse.Namespace) -> int:
    """Fill in what is not scored yet; return the exit code."""
    from bench.cells.score import cells_of, score_rows

    wanted = expand(split_names(given.metrics), METRICS, "metric", own=True)
    tasks = tasks_of(given)
    new = known = failed = 0
    for cell in cells_of(cell_folders(given)):
        cell.files.check_writable()
        for name in cell.names("rows-*.jsonl.gz"):
            try:
                record = cell.trained() or {}
                stored = read_rows(cell.path / name, cell.files)
                task = tasks.of(record, stored)
                for family in wanted or task.info.metrics:
                    if find_metric(family).value.kind != stored.content["kind"]:
                        continue
                    _, made = score_rows(cell, task, family, stored)
                    new += made
                    known += not made
            except BenchError as error:
                print(f"bench: {cell.path}: {error}", file=sys.stderr)
                failed += 1
    if given.json:
        print(json.dumps({"new": new, "known": known, "failed": failed}))
    elif failed:
        print(f"{new} scores made, {known} were there, {failed} rows files could not be scored")
    else:
        print(f"{new} scores made, {known} were there")
    if failed:
        return MissingError.exit_code
    return 0
