"""Command line of what reads results and data: list, status, report, score, verify, metric-check, data, claims."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.cli_options import Command, data_options, positive, rows_options, store_options, whole


def _list(command: argparse.ArgumentParser) -> None:
    command.add_argument("kind", nargs="?", default="all", metavar="KIND",
                         help="methods, tasks, backbones, metrics or all")  # fmt: skip
    command.add_argument("--json", action="store_true")
    command.add_argument("--signatures", action="store_true", help="of metrics: every column as computed on examples")


def _status(command: argparse.ArgumentParser) -> None:
    store_options(command)
    command.add_argument("--json", action="store_true")


def _report(command: argparse.ArgumentParser) -> None:
    store_options(command)
    command.add_argument(
        "--format", default="terminal", choices=["terminal", "markdown", "csv", "latex", "json", "html"]
    )
    command.add_argument("--output", type=Path, metavar="FILE", help="of html; default leaderboard.html in the store")
    command.add_argument("--json", action="store_const", const="json", dest="format", help="same as --format json")
    command.add_argument("--columns", default="default", choices=["default", "all"])


def _score(command: argparse.ArgumentParser) -> None:
    rows_options(command)
    command.add_argument("--metrics", action="append", metavar="NAMES", help="default: those of each task")


def _verify(command: argparse.ArgumentParser) -> None:
    rows_options(command)


def _data(command: argparse.ArgumentParser) -> None:
    command.add_argument("action", choices=["list", "prepare", "verify", "stats", "show"], metavar="ACTION",
                         help="list, prepare, verify, stats or show")  # fmt: skip
    command.add_argument("tasks", nargs="*", metavar="TASK", help="names, 'all' or globs; default all")
    command.add_argument("--split", choices=["train", "valid", "test"], default="train", help="of the row to show")
    command.add_argument("--archive", type=Path, metavar="FILE", help="prepare: unpack this into the cache first")
    command.add_argument("--row", metavar="ID", help="the row to show; default the first")
    command.add_argument("--set", action="append", default=[], nargs="+", metavar="KEY=VALUE", dest="sets",
                         help="e.g. task.path=my.txt")  # fmt: skip
    command.add_argument("--data-dir", metavar="DIR", help="holds a folder for each task")
    command.add_argument("--on-bad-row", choices=["fail", "skip", "quarantine"], default="fail")
    command.add_argument("--json", action="store_true")


def _claims(command: argparse.ArgumentParser) -> None:
    command.add_argument("papers", nargs="*", metavar="PAPER", help="histalign, f2softmax, adadec; default all")
    command.add_argument("--results", default="results", metavar="DIR", help="the store; default 'results'")
    command.add_argument("--run", action="store_true", help="make the cells they need first")
    command.add_argument("--jobs", type=positive, default=0, metavar="N",
                         help="with --run: tasks at a time; default one a core, or 1 with preset paper")  # fmt: skip
    command.add_argument("--preset", default="small", choices=["small", "paper"], help="default small")
    command.add_argument("--set", action="append", default=[], nargs="+", metavar="KEY=VALUE", dest="sets")
    command.add_argument("--data-dir", metavar="DIR", help="holds a folder for each task")
    command.add_argument("--markdown", action="store_true")
    command.add_argument("--json", action="store_true")


def _metric_check(command: argparse.ArgumentParser) -> None:
    command.add_argument("metric", metavar="NAME", help="a verifier, e.g. tapas; 'bench list metrics' has the names")
    command.add_argument("--limit", type=positive, metavar="N", help="about N claims, evenly spaced; default all")
    command.add_argument("--data-dir", metavar="DIR", help="holds logicnlg/, xsum/ or cnndm/ with the known answers")
    command.add_argument("--json", action="store_true")


def _reproduce(command: argparse.ArgumentParser) -> None:
    command.add_argument("tables", nargs="*", metavar="PAPER/TABLE", help="e.g. histalign/table1, a paper, or 'all'; "
                         "without one, the list")  # fmt: skip
    command.add_argument("--preset", choices=["auto", "small", "paper"], default="auto",
                         help="auto: small without a CUDA GPU")  # fmt: skip
    command.add_argument("--seeds", default="0", metavar="N,N", help="default 0; an interval takes three")
    command.add_argument("--run", action=argparse.BooleanOptionalAction, default=True, help="make what is missing")
    command.add_argument("--dry-run", action="store_true", help="show the plans and what is stored of them")
    command.add_argument("--strict", action="store_true", help="exit with 4 where a number is off or not there")
    command.add_argument("--study", action="append", default=[], type=Path, metavar="DIR",
                         help="of bench human make, with raters' files: for tables of people's answers")  # fmt: skip
    command.add_argument("--limit", type=positive, metavar="N", help="first N rows of each split; for debugging")
    command.add_argument("--set", action="append", default=[], nargs="+", metavar="KEY=VALUE", dest="sets")
    command.add_argument("--results", default="results", metavar="DIR", help="the store; default 'results'")
    command.add_argument("--data-dir", metavar="DIR", help="holds a folder for each task")
    command.add_argument("--quiet", action="store_true", help="warnings and the tables only")
    command.add_argument("--markdown", action="store_true")
    command.add_argument("--json", action="store_true")


def _compare(command: argparse.ArgumentParser) -> None:
    command.add_argument("one", metavar="A", help="folder of a cell, or its key below --results")
    command.add_argument("other", metavar="B", help="likewise")
    command.add_argument("--results", default="results", metavar="DIR", help="the store; default 'results'")
    command.add_argument("--json", action="store_true")


def _samples(command: argparse.ArgumentParser) -> None:
    command.add_argument("plan", nargs="?", metavar="PAPER/TABLE", help="a paper's table of samples")
    command.add_argument("--task", metavar="NAME")
    command.add_argument("--methods", action="append", metavar="NAMES", help="names with commas; default all there are")
    command.add_argument("--decoding", metavar="D", help="e.g. greedy; default the one that most methods have")
    command.add_argument("--n", type=positive, default=5, metavar="N", help="rows to show; default 5")
    command.add_argument("--row", metavar="ID", help="this row only")
    command.add_argument("--results", default="results", metavar="DIR", help="the store; default 'results'")
    data_options(command)


def _human(command: argparse.ArgumentParser) -> None:
    actions = command.add_subparsers(dest="action", metavar="ACTION", required=True)
    make = actions.add_parser("make", help="a blinded study of stored texts: page, HITs and key", allow_abbrev=False)
    make.add_argument("results", nargs="+", type=Path, metavar="RESULTS", help="the store, or one cell for each method")
    make.add_argument("--task", required=True, metavar="NAME")
    make.add_argument("--methods", required=True, action="append", metavar="A,B", help="ours first in pairs, "
                      "the baseline first in single studies")  # fmt: skip
    make.add_argument("--kind", choices=["pairwise", "single"], default="pairwise")
    make.add_argument("--items", type=positive, default=50, metavar="N")
    make.add_argument("--checks", type=whole, default=0, metavar="N", help="attention checks beside the items")
    make.add_argument("--gap", type=whole, metavar="N", help="texts of a pair differ by fewer characters; default 200, "
                      "0 for any")  # fmt: skip
    make.add_argument("--draw", type=whole, default=0, metavar="SEED", help="of what is drawn, ordered and put left")
    make.add_argument("--out", required=True, type=Path, metavar="DIR")
    for name in ("--preset", "--backbone", "--decode", "--split"):
        make.add_argument(name, metavar="NAME", help="needed where the store has several")
    make.add_argument("--seed", type=whole, metavar="N", help="of the runs; default the lowest that all methods have")
    data_options(make)
    make.add_argument("--json", action="store_true")
    read = actions.add_parser("read", help="what raters answered", allow_abbrev=False)
    read.add_argument("answers", nargs="+", type=Path, metavar="FILE", help="saved by the page, or MTurk's results")
    read.add_argument("--key", required=True, type=Path, metavar="FILE", help="the study's key.json")
    read.add_argument("--format", choices=["terminal", "markdown"], default="terminal")
    read.add_argument("--json", action="store_true")


COMMANDS = {
    "list": Command("methods, tasks, backbones and metrics there are", "bench.commands.list:run", _list),
    "status": Command("what the store holds", "bench.commands.status:run", _status),
    "report": Command("leaderboards from the store", "bench.commands.report:run", _report),
    "score": Command("metrics over stored rows, without a model", "bench.commands.score:score", _score),
    "verify": Command("compute every stored number again", "bench.commands.score:verify", _verify),
    "metric-check": Command(
        "a verifier on claims with known answers", "bench.commands.metric_check:check", _metric_check
    ),
    "data": Command("where each task's rows come from, and what they are", "bench.commands.data:data", _data),
    "claims": Command("what papers claim, and what stored cells say of it", "bench.commands.claims:claims", _claims),
    "reproduce": Command(
        "a paper's table from our cells, with verdicts", "bench.commands.reproduce:reproduce", _reproduce
    ),
    "compare": Command("what two cells differ in besides the objective", "bench.commands.compare:compare", _compare),
    "samples": Command("what methods wrote, side by side", "bench.commands.samples:samples", _samples),
    "human": Command("a study for people, and what they answered", "bench.commands.human:human", _human),
}
