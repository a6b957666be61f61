"""`bench ladder`: the same methods on one family of models at growing size, rung by rung."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bench.base.entries import split_names
from bench.base.outward import write_styled
from bench.base.signals import stopped_after
from bench.cli_options import data_dir_option, positive, results_option, seconds, set_option, set_texts, yes_option
from bench.errors import UsageError

if TYPE_CHECKING:
    from bench.ladder.asked import Asked


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench ladder`."""
    what_options(parser.add_argument_group("what"))
    how_options(parser.add_argument_group("how (never changes a result)"))


def what_options(group: argparse._ArgumentGroup) -> None:
    """Add what a ladder is."""
    group.add_argument("--task", required=True, metavar="NAME", help="one task")
    group.add_argument(
        "--methods", action="append", metavar="NAMES", help="names with commas, groups; default 'papers'"
    )
    group.add_argument("--sizes", default="cpu", metavar="LIST", help="cpu, gpu, or such as 0.1M,1M,10M; default cpu")
    group.add_argument("--rungs", type=positive, metavar="N", help="only the first N sizes; default all")
    group.add_argument("--seeds", type=positive, default=3, metavar="N", help="how many; default 3, which are 0, 1, 2")
    group.add_argument("--epochs", metavar="E,E", help="passes over the text on each rung, at most 4; default 3,2,0.5")
    group.add_argument("--budget", metavar="TIME", help="such as 8h: methods are dropped from the end to keep to it")
    set_option(group, "section.name=value for all rungs, e.g. task.path=my.txt")


def how_options(group: argparse._ArgumentGroup) -> None:
    """Add what changes speed and place alone."""
    group.add_argument("--estimate", action="store_true", help="say what would be run and how long it takes, then end")
    group.add_argument(
        "--report", action="store_true", help="print the scores of the whole rungs of --results, then end"
    )
    group.add_argument(
        "--output", type=Path, metavar="FILE", help="of --report, such as ladder.md; a picture beside it"
    )
    group.add_argument("--minutes", type=seconds, default=0.0, metavar="M", help="stop with 75 after so many; 0: never")
    group.add_argument("--jobs", type=positive, default=1, metavar="N", help="cells worked on at once; default 1")
    group.add_argument(
        "--state-every", type=seconds, default=300.0, metavar="SECONDS", help="keep a state; default 300"
    )
    group.add_argument(
        "--keep", type=Path, metavar="FILE", help="keep the store as this board (NAME.jsonl), too; go on from it"
    )
    yes_option(group)
    group.add_argument("--quiet", action="store_true", help="say nothing but warnings and failures")
    data_dir_option(group)
    results_option(group)


def run(given: argparse.Namespace) -> int:
    """Run a ladder, or say what it would take, or what it has found; return the exit code."""
    if given.report and given.estimate:
        raise UsageError("--report reads what was run, --estimate says what would be; give one of them")
    if given.report:
        return report(given)
    if given.output:
        raise UsageError("--output goes with --report")
    from bench.cells.plan_checks import confirm_number
    from bench.cells.progress import Progress
    from bench.ladder.climb import climb, n_to_do
    from bench.ladder.decision import decided
    from bench.ladder.kept import restore
    from bench.ladder.text import decision_text

    asked = asked_of(given)
    with stopped_after(60 * given.minutes), Progress(given.quiet) as progress:
        if given.keep and not given.estimate:
            restore(asked, given.keep, progress)
        decision = decided(asked, progress, estimate=given.estimate)
        write_styled(decision_text(asked, decision) + "\n")
        if given.estimate:
            return 0
        if not given.yes:
            confirm_number(n_to_do(asked, decision, progress), progress)
        code = climb(asked, decision, progress, given.keep)
    return code or report(given)


def asked_of(given: argparse.Namespace) -> Asked:
    """Return the ladder that was typed.

    Raises:
        UsageError: it cannot be.
    """
    from bench.ladder.asked import Asked, default_epochs, parse_epochs, parse_hours
    from bench.ladder.sizes import parse_sizes

    sizes = parse_sizes(given.sizes)
    if given.rungs is not None:
        if given.rungs > len(sizes):
            raise UsageError(f"--rungs {given.rungs} is more than the {len(sizes)} sizes of --sizes {given.sizes}")
        sizes = sizes[: given.rungs]
    epochs = default_epochs(len(sizes))
    if given.epochs:
        epochs = parse_epochs(given.epochs)
    budget = None
    if given.budget:
        budget = parse_hours(given.budget)
    return Asked(
        task=given.task,
        methods=tuple(split_names(given.methods) or ["papers"]),
        sizes=sizes,
        epochs=epochs,
        seeds=given.seeds,
        sets=tuple(set_texts(given)),
        budget=budget,
        jobs=given.jobs,
        state_every=given.state_every,
        data_dir=given.data_dir,
        results=given.results,
    )


def report(given: argparse.Namespace) -> int:
    """Print or write what a store or kept board says of a ladder; return 0, or 1 where files cannot be read."""
    from bench.cli_options import say_damaged
    from bench.ladder.reading import stored_forecasts, stored_ladder
    from bench.ladder.report import report_text, write_report
    from bench.leaderboards.render.text.terminal_markdown import for_stdout
    from bench.store.store import Store

    results = Path(given.results)
    store = Store(results)
    stored = stored_ladder(store, given.task)
    forecasts = stored_forecasts(results, given.task)
    if given.output:
        picture = write_report(stored, forecasts, given.output)
        print(f"wrote {given.output} and {picture}")
    else:
        write_styled(for_stdout(report_text(stored, forecasts)))
    for why in forecasts.unreadable.values():
        print(f"bench: {why}", file=sys.stderr)
    return max(say_damaged(store), int(bool(forecasts.unreadable)))
