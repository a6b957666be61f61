"""`bench claims`: the verdicts that stored cells give on what papers claim."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bench.cli_options import json_option, results_option, say_damaged
from bench.errors import UsageError, did_you_mean
from bench.leaderboards.claim.claim_files import ClaimFile, names, read
from bench.leaderboards.published.costs import MeasuredCost, cost_claims, cost_notes, measured_costs
from bench.leaderboards.published.papers import papers
from bench.leaderboards.table import tables
from bench.store.store import Store

if TYPE_CHECKING:
    from bench.leaderboards.claim.verdicts import Paper


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench claims`."""
    parser.add_argument("papers", nargs="*", metavar="PAPER", help="histalign, f2softmax, adadec; default all")
    results_option(parser)
    parser.add_argument("--preset", default="small", choices=["small", "paper"], help="default small")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    json_option(parser)


def run(given: argparse.Namespace) -> int:
    """Print the verdicts on the claims of papers; return 0, or 1 where a stored file is damaged."""
    from bench.leaderboards.claim.content import content
    from bench.leaderboards.claim.report import markdown, terminal

    for name in given.papers:
        if name not in names():
            raise UsageError(f"no claims of '{name}'{did_you_mean(name, names())}; there are: {', '.join(names())}")
    files = [read(name) for name in dict.fromkeys(given.papers or names())]
    store = Store(Path(given.results))
    found = judged(files, store, given.preset)
    if given.json:
        print(json.dumps(content(found), indent=1))
    elif given.markdown:
        print(markdown(found))
    else:
        print(terminal(found))
    return say_damaged(store)


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
