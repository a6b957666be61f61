"""`bench plan`: what `bench run` would do, as a file for `bench work`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.config.arguments import collect
from bench.errors import UsageError
from bench.run_options import how_options, refuse_keep_checkpoints, what_options


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench plan`: the file, and those of `bench run`."""
    parser.add_argument("plan", type=Path, metavar="PLAN", help="the file to write, e.g. plan.json")
    what_options(parser.add_argument_group("what"))
    how_options(parser.add_argument_group("how (never changes a result)"))


def run(given: argparse.Namespace) -> int:
    """Write the plan of what is missing; nothing is trained."""
    if given.grid or given.trials or given.dry_run or given.json or given.jobs > 1:
        raise UsageError(
            "bench plan takes no --grid, --trials, --dry-run, --json or --jobs; start bench work several times"
        )
    arguments = collect(given)
    refuse_keep_checkpoints(arguments, "bench plan", "ends before a cell is trained")
    from bench.cells.plan import make_plan
    from bench.cells.progress import Progress
    from bench.queue.plan_file import write_plan
    from bench.queue.planned import lacks_something, plan_of
    from bench.queue.protocol.timing import SHARED
    from bench.store.snapshot import files_at

    files_at(arguments.results_folder).check_writable()
    with Progress(given.quiet) as progress:
        plan = make_plan(arguments, progress.say, progress.rows)
    cells = [cell for cell in plan.cells if lacks_something(cell, arguments.metrics)]
    file = plan_of(cells, arguments, SHARED)
    write_plan(file, given.plan)
    stored = len(plan.cells) - len(cells)
    sys.stdout.write(
        f"{len(cells)} cells to do, {stored} stored already; start this as often as there is room for a cell:\n"
        f"  bench work {given.plan}\n"
    )
    return 0
