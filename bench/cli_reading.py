"""Command line of what reads results and data: list, status, report, score, verify, metric-check, data, claims."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.cli_options import Command, positive, rows_options, store_options


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
    command.add_argument("--format", default="terminal", choices=["terminal", "markdown", "csv", "json"])
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
    command.add_argument("name", nargs="?", metavar="NAME", help="a file of claims; default all")
    command.add_argument("--results", default="results", metavar="DIR", help="the store; default 'results'")
    command.add_argument("--run", action="store_true", help="make the cells they need first")
    command.add_argument("--set", action="append", default=[], nargs="+", metavar="KEY=VALUE", dest="sets")
    command.add_argument("--data-dir", metavar="DIR", help="holds a folder for each task")
    command.add_argument("--json", action="store_true")


def _metric_check(command: argparse.ArgumentParser) -> None:
    command.add_argument("metric", metavar="NAME", help="a verifier, e.g. tapas; 'bench list metrics' has the names")
    command.add_argument("--limit", type=positive, metavar="N", help="about N claims, evenly spaced; default all")
    command.add_argument("--data-dir", metavar="DIR", help="holds logicnlg/, xsum/ or cnndm/ with the known answers")
    command.add_argument("--json", action="store_true")


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
    "claims": Command("what papers claim, checked on stored cells", "bench.commands.claims:claims", _claims),
}
