"""`bench claims`: the verdicts that stored cells give on what papers claim."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.cli_options import json_option, say_damaged
from bench.errors import UsageError, did_you_mean
from bench.leaderboards.claim.claim_files import ClaimFile, names, read
from bench.leaderboards.table import tables
from bench.store.store import Store, Stores

if TYPE_CHECKING:
    from bench.leaderboards.claim.evaluation import Paper


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench claims`."""
    parser.add_argument("papers", nargs="*", metavar="PAPER", help="histalign, f2softmax, adadec; default all")
    parser.add_argument(
        "--results", action="append", metavar="DIR", help="a store or snapshot, repeatable; default 'results'"
    )
    parser.add_argument(
        "--preset",
        default="small",
        choices=["small", "paper"],
        help="small for the runs that the claim files name, paper for rows at the papers' settings; default small",
    )
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    json_option(parser)


def run(given: argparse.Namespace) -> int:
    """Print the verdicts on the claims of papers; return 0, or 1 where a stored file is damaged."""
    from bench.leaderboards.claim.report import content, markdown, terminal

    for name in given.papers:
        if name not in names():
            raise UsageError(f"no claims of '{name}'{did_you_mean(name, names())}; there are: {', '.join(names())}")
    files = [read(name) for name in dict.fromkeys(given.papers or names())]
    store = Stores([Path(folder) for folder in given.results or ["results"]])
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
    from bench.leaderboards.claim.evaluation import evaluate

    tasks = {run.task for file in files for run in file.runs.values()}
    built, _ = tables(store, tasks if preset == "small" else None, "all")
    return [evaluate(file, built, preset) for file in files]
