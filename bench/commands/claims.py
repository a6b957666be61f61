"""`bench claims`: the verdicts that stored cells give on what papers claim; `--run` makes the cells first."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bench.cli_options import (
    data_dir_option,
    json_option,
    positive,
    results_option,
    say_damaged,
    set_option,
    trial_options,
    yes_option,
)
from bench.errors import UsageError, did_you_mean
from bench.leaderboards.claim.claim_files import ClaimFile, Run, names, read
from bench.leaderboards.published.costs import MeasuredCost, cost_claims, cost_notes, measured_costs
from bench.leaderboards.published.papers import papers
from bench.leaderboards.table import tables
from bench.processes.process import run_program
from bench.store.kept_board import files_at
from bench.store.store import Store

if TYPE_CHECKING:
    from bench.leaderboards.claim.verdicts import Paper


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench claims`."""
    parser.add_argument("papers", nargs="*", metavar="PAPER", help="histalign, f2softmax, adadec; default all")
    results_option(parser)
    parser.add_argument("--run", action="store_true", help="make the cells they need first")
    parser.add_argument(
        "--until-decided",
        action="store_true",
        help="with --run: add seeds to 2, 3, 5, 8, 12 and 20 for the cells that open claims need, cheapest task first",
    )
    parser.add_argument(
        "--hours", type=hours, metavar="H", help="with --until-decided: begin nothing that would end later"
    )
    parser.add_argument(
        "--jobs",
        type=positive,
        default=0,
        metavar="N",
        help="with --run: tasks at a time, with --until-decided cells; default one a core, or 1 with preset paper",
    )
    yes_option(parser)
    trial_options(parser)
    parser.add_argument("--preset", default="small", choices=["small", "paper"], help="default small")
    set_option(parser, "with --run: settings of every run, e.g. trainer.steps=100")
    data_dir_option(parser)
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    json_option(parser)


def hours(text: str) -> float:
    """Return a number of hours above 0.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of hours above 0, got '{text}'")
    return found


def run(given: argparse.Namespace) -> int:
    """Print the verdicts on the claims of papers; return 0, or 1 where a cell could not be made or read."""
    from bench.leaderboards.claim.content import content
    from bench.leaderboards.claim.report import markdown, terminal

    for name in given.papers:
        if name not in names():
            raise UsageError(f"no claims of '{name}'{did_you_mean(name, names())}; there are: {', '.join(names())}")
    if given.until_decided and not (given.run and given.hours):
        raise UsageError("--until-decided takes --run and --hours H: it makes cells until the hours are used up")
    if given.hours and not given.until_decided:
        raise UsageError("--hours is for --until-decided")
    tuning_of(given)
    files = [read(name) for name in dict.fromkeys(given.papers or names())]
    code = 0
    if given.until_decided:
        code = run_until_decided(files, given)
    elif given.run:
        code = make_rows(files, given)
    store = Store(Path(given.results))
    found = judged(files, store, given.preset)
    if given.json:
        print(json.dumps(content(found), indent=1))
    elif given.markdown:
        print(markdown(found))
    else:
        print(terminal(found))
    return max(code, say_damaged(store))


def judged(files: Sequence[ClaimFile], store: Store, preset: str) -> list[Paper]:
    """Return the verdicts that a store gives."""
    from bench.leaderboards.claim.judge import judge

    tasks = {run.task for file in files for run in file.runs}
    built, _ = tables(store, tasks, "all")
    found = [judge(file, built, preset) for file in files]
    measured = measured_costs(store, tasks)
    return [replace(paper, costs=costs_of(paper, measured)) for paper in found]


def costs_of(paper: Paper, measured: Sequence[MeasuredCost]) -> list[str]:
    """Return what a paper says of the hours of its methods, on the tasks of its claims, with ours beside."""
    tasks = {run.task for run in paper.file.runs}
    (printed,) = (one for one in papers() if one.name == paper.file.name)
    return cost_notes([claim for claim in cost_claims(printed.training) if claim.task in tasks], measured)


# Making cells -----------------------------------------------------------------------------------------------------


def make_rows(files: Sequence[ClaimFile], given: argparse.Namespace) -> int:
    """Make what the claims need, several tasks at a time, the longest first; what is stored already is not done again.

    Runs of one task follow each other, so that no two train the same cell.
    """
    files_at(Path(given.results)).check_writable()
    by_task: dict[str, list[Run]] = {}
    for run in (run for file in files for run in file.runs):
        by_task.setdefault(run.task, []).append(run)
    jobs = min(jobs_of(given), len(by_task))
    longest = sorted(by_task.values(), key=lambda runs: -minutes_of(runs))
    minutes = sum(map(minutes_of, longest))
    say(f"about {minutes:.0f} minutes of one core, {len(by_task)} tasks, {jobs} at a time; what is stored is kept")
    if not given.yes:
        confirm_runs([run for runs in longest for run in runs])
    with ThreadPoolExecutor(jobs) as pool:
        codes = list(pool.map(lambda runs: [one_run(run, given) for run in runs], longest))
    return 1 if any(code for task in codes for code in task) else 0


def confirm_runs(runs: Sequence[Run]) -> None:
    """Ask once whether runs of many cells are to be begun; each is told --yes then.

    Raises:
        UsageError: the answer was no, or there is no terminal to ask on.
    """
    from bench.cells.plan_checks import confirm_number
    from bench.cells.progress import Progress

    with Progress() as progress:
        confirm_number(sum(len(run.methods) * len(run.seeds) for run in runs), progress, at_most=True)


def run_until_decided(
    files: Sequence[ClaimFile], given: argparse.Namespace, clock: Callable[[], float] = time.monotonic
) -> int:
    """Add seeds to the cells that open claims need, look by look, until all are decided or the hours are used up.

    The task whose next look is cheapest goes first. A look that would end after the hours is not begun: cheaper ones
    came before it. A task whose runs failed is left alone.

    Returns:
        0, or 1 where a run failed.
    """
    from bench.leaderboards.claim.slices import slices

    files_at(Path(given.results)).check_writable()
    end = clock() + 3600 * given.hours
    failed, done = set[str](), set[tuple[str, int]]()
    while True:
        found = judged(files, Store(Path(given.results)), given.preset)
        ahead = [one for one in slices(found) if one.task not in failed and (one.task, one.seeds) not in done]
        if not ahead:
            say("no open claim can be brought to another look")
            break
        task, seeds, minutes, left = ahead[0].task, ahead[0].seeds, ahead[0].minutes, (end - clock()) / 60
        if minutes > left:
            say(f"{task} needs about {minutes:.0f} minutes to {seeds} seeds, and {max(0.0, left):.0f} are left")
            break
        say(f"{task} to {seeds} seeds for {len(ahead[0].claims)} open claims, about {minutes:.0f} minutes")
        done.add((task, seeds))
        codes = [one_run(run, given, jobs_of(given)) for run in ahead[0].runs]
        if any(codes):
            failed.add(task)
    return min(1, len(failed))


def minutes_of(runs: Sequence[Run]) -> float:
    """Return how long runs take, one after another."""
    return sum(run.minutes for run in runs)


def jobs_of(given: argparse.Namespace) -> int:
    """Return how much is done at once: what was asked for, else one a core, or one of preset `paper`."""
    if given.jobs:
        return int(given.jobs)
    if given.preset == "small":
        return cores()
    return 1


def cores() -> int:
    """Return how many cores this process may use; a cell of the small preset takes one."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_run(run: Run, given: argparse.Namespace, jobs: int = 1) -> int:
    """Run one `bench run` in a process of its own; its table goes where its progress goes."""
    command = arguments_of(run, given)
    if jobs > 1:
        command += ["--jobs", str(jobs)]
    command.append("--yes")
    say(f"bench {' '.join(command)}")
    return run_program("bench", *command, output=sys.stderr).returncode


def arguments_of(run: Run, given: argparse.Namespace) -> list[str]:
    """Return the command line of a run."""
    decode = ["--decode", run.decode] if run.decode else []
    data = ["--data-dir", given.data_dir] if given.data_dir else []
    mine = [text for texts in given.sets for text in texts]
    sets = ["--set", *run.sets, *mine] if run.sets or mine else []
    return ["run", "--task", run.task, "--method", ",".join(run.methods), "--seeds", ",".join(map(str, run.seeds)),
            "--preset", given.preset, "--results", given.results, *decode, *data, *sets, *tuning_of(given)]  # fmt: skip


def tuning_of(given: argparse.Namespace) -> list[str]:
    """Return the options of a run's trials, as they were given here.

    Raises:
        UsageError: trials without --run.
    """
    if not given.trials:
        return []
    if not given.run:
        raise UsageError("--trials goes with --run: trials are a part of making cells")
    return ["--trials", *given.trials]


def say(text: str) -> None:
    """Tell the person who waits."""
    print(f"bench: {text}", file=sys.stderr)
