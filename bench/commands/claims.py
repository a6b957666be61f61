"""`bench claims`: the verdicts that stored runs give on what papers claim."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.cli_options import add_options, say_damaged
from bench.errors import MissingError, UsageError, did_you_mean
from bench.store.store import Store

if TYPE_CHECKING:
    from bench.leaderboards.claim.evaluation import Paper


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench claims`."""
    parser.add_argument("papers", nargs="*", metavar="PAPER", help="histalign, f2softmax, adadec; default all")
    parser.add_argument(
        "--results", action="append", metavar="DIR", help="a store or snapshot, repeatable; default 'results'"
    )
    add_options(parser, "--json")


def run(given: argparse.Namespace) -> int:
    """Print the verdicts on the claims of papers; return 0, or 1 where a stored file is damaged.

    Raises:
        MissingError: a named folder has no runs.
    """
    from bench.leaderboards.claim.report import content, markdown

    for name in given.results or ():
        if not any(Store(Path(name)).cells()):
            raise MissingError(f"no runs in '{name}'; bench run --task logicnlg --method mle makes some")
    store = Store(*map(Path, given.results or ["results"]))
    found = evaluated(store, given.papers)
    print(json.dumps(content(found), indent=1) if given.json else markdown(found))
    return say_damaged(store)


def evaluated(store: Store, papers: Sequence[str] = ()) -> list[Paper]:
    """Return the verdicts that a store gives on the claims of some papers, of all by default.

    Raises:
        UsageError: there is no file of the claims of a paper.
    """
    from bench.leaderboards.claim.claim_files import names, read
    from bench.leaderboards.claim.evaluation import evaluate
    from bench.leaderboards.table import tables

    known = names()
    for name in papers:
        if name not in known:
            raise UsageError(f"no claims of '{name}'{did_you_mean(name, known)}")
    files = [read(name) for name in dict.fromkeys(papers or known)]
    built, _ = tables(store, {run.task for file in files for run in file.runs.values()}, "all")
    return [evaluate(file, built) for file in files]
