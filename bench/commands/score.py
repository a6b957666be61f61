"""`bench score`: metrics from stored predictions, without a model."""

import argparse
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from bench.base.printable import number_of
from bench.base.registry import expand, split_names
from bench.cli_options import add_options, stored_runs, tasks_of
from bench.errors import BenchError, each_once
from bench.metrics import METRICS, find_metric, metrics_of


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench score`."""
    add_options(parser, "cells", "--set", "--data-dir")
    parser.add_argument(
        "--metrics",
        action="append",
        metavar="NAMES",
        help="names with commas, globs, module:Name or file.py:Name; default: those of each task",
    )


def run(given: argparse.Namespace) -> int:
    """Compute missing scores; return the exit code: 3 where only data or a model is missing."""
    from bench.cells.progress import Progress
    from bench.cells.score import score_families

    wanted = [find_metric(name) for name in expand(split_names(given.metrics), METRICS, "metric")]
    tasks = tasks_of(given)
    new = known = 0
    failures: list[tuple[str, BenchError]] = []
    files = []
    for cell in stored_runs(given):
        cell.files.check_writable()
        files += [(cell, key) for key in cell.row_keys()]
    with Progress() as progress:
        for done, (cell, key) in enumerate(files):
            progress.rows("predictions files scored", done, len(files))
            try:
                record, stored = cell.trained() or {}, cell.rows(key)
                if stored is None:  # removed meanwhile
                    continue
                task = tasks.of(record, stored, cell)
                of_task = metrics_of(task.info.metrics, record.get("config", {}).get("preset", ""))
                for _, made in score_families(cell, task, wanted or map(find_metric, of_task), stored):
                    new += made
                    known += not made
            except BenchError as error:
                failures.append((str(cell.rows_path(key)), error))
            except Exception as error:  # the code of a plug-in may raise anything
                place = traceback.extract_tb(error.__traceback__)[-1]
                why = f"{type(error).__name__}: {error} (in {Path(place.filename).name}, line {place.lineno})"
                failures.append((str(cell.rows_path(key)), BenchError(why)))
    for line in each_once(failures):
        print(f"bench: {line}", file=sys.stderr)
    unscored = f", {number_of(len(failures), 'files')} of predictions could not be scored" if failures else ""
    print(f"{number_of(new, 'scores')} made, {known} stored already{unscored}")
    return exit_code([error for _, error in failures])


def exit_code(failures: Sequence[BenchError]) -> int:
    """Return 0 where nothing failed, the code that all failures have in common, else 1."""
    codes = {error.exit_code for error in failures}
    if len(codes) > 1:
        return BenchError.exit_code
    return max(codes, default=0)
