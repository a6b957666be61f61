"""`bench claims`: what stored cells say of what papers claim; `--run` makes the cells first. Nothing is decided."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.cli_options import data_dir_option, json_option, positive, results_option, say_damaged, set_option
from bench.errors import UsageError, did_you_mean
from bench.leaderboards.claim.claim_files import ClaimFile, Run, names, read
from bench.leaderboards.table import tables
from bench.processes.process import run_program
from bench.store.kept_board import files_at
from bench.store.store import Store


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench claims`."""
    parser.add_argument("papers", nargs="*", metavar="PAPER", help="histalign, f2softmax, adadec; default all")
    results_option(parser)
    parser.add_argument("--run", action="store_true", help="make the cells they need first")
    parser.add_argument(
        "--jobs",
        type=positive,
        default=0,
        metavar="N",
        help="with --run: tasks at a time; default one a core, or 1 with preset paper",
    )
    parser.add_argument("--preset", default="small", choices=["small", "paper"], help="default small")
    set_option(parser, "with --run: settings of every run, e.g. trainer.steps=100")
    data_dir_option(parser)
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    json_option(parser)


def run(given: argparse.Namespace) -> int:
    """Print the evidence on the claims of papers; return 0, or 1 where a cell could not be made or read."""
    from bench.leaderboards.claim import replication
    from bench.leaderboards.claim.evidence import evidence_of
    from bench.leaderboards.claim.replication import Replication

    for name in given.papers:
        if name not in names():
            raise UsageError(f"no claims of '{name}'{did_you_mean(name, names())}; there are: {', '.join(names())}")
    files = [read(name) for name in dict.fromkeys(given.papers or names())]
    code = make_rows(files, given) if given.run else 0
    tasks = {run.task for file in files for run in file.runs}
    store = Store(Path(given.results))
    built, _ = tables(store, tasks, "all")
    found = [Replication(file, evidence_of(file, built, given.preset)) for file in files]
    if given.json:
        print(json.dumps(replication.content(found), indent=1))
    else:
        print(replication.markdown(found) if given.markdown else replication.terminal(found))
    return max(code, say_damaged(store))


def make_rows(files: Sequence[ClaimFile], given: argparse.Namespace) -> int:
    """Make what the claims need, several tasks at a time, the longest first; what is stored already is not done again.

    Runs of one task follow each other, so that no two train the same cell.
    """
    files_at(Path(given.results)).check_writable()
    by_task: dict[str, list[Run]] = {}
    for run in (run for file in files for run in file.runs):
        by_task.setdefault(run.task, []).append(run)
    jobs = min(given.jobs or (cores() if given.preset == "small" else 1), len(by_task))
    longest = sorted(by_task.values(), key=lambda runs: -minutes_of(runs))
    minutes = sum(map(minutes_of, longest))
    say(f"about {minutes:.0f} minutes of one core, {len(by_task)} tasks, {jobs} at a time; what is stored is kept")
    with ThreadPoolExecutor(jobs) as pool:
        codes = list(pool.map(lambda runs: [one_run(run, given) for run in runs], longest))
    return 1 if any(code for task in codes for code in task) else 0


def minutes_of(runs: Sequence[Run]) -> float:
    """Return how long runs take, one after another."""
    return sum(run.minutes for run in runs)


def cores() -> int:
    """Return how many cores this process may use; a cell of the small preset takes one."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_run(run: Run, given: argparse.Namespace) -> int:
    """Run one `bench run` in a process of its own; its table goes where its progress goes."""
    command = arguments_of(run, given)
    say(f"bench {' '.join(command)}")
    return run_program("bench", *command, output=sys.stderr).returncode


def arguments_of(run: Run, given: argparse.Namespace) -> list[str]:
    """Return the command line of a run."""
    decode = ["--decode", run.decode] if run.decode else []
    data = ["--data-dir", given.data_dir] if given.data_dir else []
    mine = [text for texts in given.sets for text in texts]
    sets = ["--set", *run.sets, *mine] if run.sets or mine else []
    return ["run", "--task", run.task, "--method", ",".join(run.methods), "--seeds", ",".join(map(str, run.seeds)),
            "--preset", given.preset, "--results", given.results, *decode, *data, *sets]  # fmt: skip


def say(text: str) -> None:
    """Tell the person who waits."""
    print(f"bench: {text}", file=sys.stderr)
