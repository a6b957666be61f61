"""The command line: thin and lazy. Heavy imports happen inside the commands that need them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from bench import __version__
from bench.entries import split_names
from bench.errors import BenchError, UsageError, did_you_mean

INTERRUPTED = 130


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UsageError and suggests near names."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see: {self.prog} --help)")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            options = {text for action in self._actions for text in action.option_strings}
            near = did_you_mean(unknown[0].partition("=")[0], options)
            self.error(f"unknown argument '{unknown[0]}'{near}")
        return found, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            what = action.option_strings[0] if action.option_strings else str(action.metavar).lower()
            self.error(f"no {what} '{value}'{did_you_mean(str(value), action.choices)}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code.

    0 all wanted cells ok, 1 some failed, 2 usage, 3 missing data or extra, 130 interrupted.
    """
    try:
        try:
            arguments = parser().parse_args(argv)
            return int(arguments.command(arguments))
        finally:
            sys.stdout.flush()
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("bench: interrupted; run the same command again to go on", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader has had enough; what Python flushes at exit goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = Parser(prog="bench", description="Compare training objectives for text generation.", allow_abbrev=False)
    top.add_argument("--version", action="version", version=f"bench {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    _add_run(commands.add_parser("run", help="train, evaluate and score what is missing", allow_abbrev=False))
    _add_list(commands.add_parser("list", help="methods, tasks, backbones and metrics there are", allow_abbrev=False))
    _add_status(commands.add_parser("status", help="what the store holds", allow_abbrev=False))
    _add_report(commands.add_parser("report", help="leaderboards from the store", allow_abbrev=False))
    _add_score(commands.add_parser("score", help="metrics over stored rows, without a model", allow_abbrev=False))
    _add_verify(commands.add_parser("verify", help="compute every stored number again", allow_abbrev=False))
    _add_data(commands.add_parser("data", help="where each task's rows come from, and what they are",
                                  allow_abbrev=False))  # fmt: skip
    _add_write(commands.add_parser("write", help="let a trained cell write for one source", allow_abbrev=False))
    _add_claims(commands.add_parser("claims", help="what papers claim, checked on stored cells", allow_abbrev=False))
    _add_perf(commands.add_parser("perf", help="time and memory of every method's head and step", allow_abbrev=False))
    _add_check(commands.add_parser("check", help="what every objective must keep to, your own too", allow_abbrev=False))
    _add_new(commands.add_parser("new", help="begin a method: class, list line and test", allow_abbrev=False))
    _add_doctor(commands.add_parser("doctor", help="what this machine has and lacks", allow_abbrev=False))
    return top


def _add_run(run: argparse.ArgumentParser) -> None:
    which = run.add_argument_group("what")
    which.add_argument("--task", action="append", metavar="NAMES", help="names with commas, 'all' or globs")
    which.add_argument("--method", action="append", metavar="NAMES",
                       help="names with commas, 'all', globs, or package.module:Class")  # fmt: skip
    which.add_argument("--seeds", metavar="N,N", help="default 0")
    which.add_argument("--backbone", metavar="NAME", help="name, hub id or folder; default: the task's own")
    which.add_argument("--preset", choices=["auto", "small", "paper"], help="auto: small without a CUDA GPU")
    which.add_argument(
        "--set",
        action="append",
        default=[],
        nargs="+",
        metavar="KEY=VALUE",
        dest="sets",
        help="section.name=value, e.g. method.alpha=0.5, trainer.steps=100, logicnlg:task.eval_rows=50",
    )
    which.add_argument("--grid", action="append", default=[], nargs="+", metavar="KEY=V,V",
                       help="train every combination and keep the best by validation loss, e.g. optim.lr=1e-4,1e-3"
                       )  # fmt: skip
    which.add_argument("--decode", metavar="LIST", help="e.g. greedy,topk=3,nucleus=0.95,beam=4")
    which.add_argument("--precision", metavar="P", help="e.g. bf16-mixed; same as --set trainer.precision=P")
    which.add_argument("--config", type=Path, metavar="FILE", help="a YAML file; the command line wins over it")
    which.add_argument("--no-controls", action="store_false", dest="controls",
                       help="leave out the rows that 'all' adds to explain gains away")  # fmt: skip
    which.add_argument("--limit", type=_positive, metavar="N", help="first N rows of each split; for debugging")
    how = run.add_argument_group("how (never changes a result)")
    how.add_argument("--devices", type=_positive, default=1, metavar="N", help="processes that share a cell")
    how.add_argument("--accumulate", type=_positive, default=1, metavar="N", help="micro-batches of a step")
    how.add_argument(
        "--threads", type=_positive, default=0, metavar="N", help="CPU threads of a process; 1 in preset small"
    )
    how.add_argument("--workers", type=_whole, default=0, metavar="N", help="processes that prepare batches; default 0")
    how.add_argument("--data-dir", metavar="DIR", help="holds a folder for each task")
    how.add_argument("--on-bad-row", choices=["fail", "skip", "quarantine"], default="fail",
                     help="what becomes of training rows that cannot be used; evaluated splits never skip")  # fmt: skip
    how.add_argument("--results", default="results", metavar="DIR", help="the store; default 'results'")
    how.add_argument("--wandb", action="store_true", help="mirror to Weights & Biases")
    how.add_argument("--wandb-project", default="objective-bench", metavar="NAME")
    how.add_argument("--dry-run", action="store_true", help="show the plan with what is skipped and why")
    how.add_argument("--quiet", action="store_true", help="warnings and the table only")
    how.add_argument("--json", action="store_true", help="machine-readable outcome on stdout")
    run.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    from bench.commands.run import run

    return run(arguments)


def _add_list(command: argparse.ArgumentParser) -> None:
    command.add_argument("kind", nargs="?", default="all", metavar="KIND",
                         help="methods, tasks, backbones, metrics or all")  # fmt: skip
    command.add_argument("--json", action="store_true")
    command.set_defaults(command=_list)


def _list(arguments: argparse.Namespace) -> int:
    from bench.commands.list import KINDS, listing

    if arguments.kind not in (*KINDS, "all"):
        raise UsageError(f"no kind '{arguments.kind}'{did_you_mean(arguments.kind, (*KINDS, 'all'))}")
    print(listing(arguments.kind, arguments.json))
    return 0


def _add_status(command: argparse.ArgumentParser) -> None:
    _store_options(command)
    command.add_argument("--json", action="store_true")
    command.set_defaults(command=_status)


def _status(arguments: argparse.Namespace) -> int:
    from bench.commands.status import status

    print(status(Path(arguments.results), _names(arguments.task), arguments.json))
    return 0


def _add_report(command: argparse.ArgumentParser) -> None:
    _store_options(command)
    command.add_argument("--format", default="terminal", choices=["terminal", "markdown", "csv", "json"])
    command.add_argument("--json", action="store_const", const="json", dest="format", help="same as --format json")
    command.add_argument("--columns", default="default", choices=["default", "all"])
    command.set_defaults(command=_report)


def _report(arguments: argparse.Namespace) -> int:
    from bench.commands.report import report

    sys.stdout.write(report(Path(arguments.results), _names(arguments.task), arguments.format, arguments.columns))
    return 0


def _add_score(command: argparse.ArgumentParser) -> None:
    _rows_options(command)
    command.add_argument("--metrics", action="append", metavar="NAMES", help="default: those of each task")
    command.set_defaults(command=_score)


def _score(arguments: argparse.Namespace) -> int:
    from bench.commands.score import score

    return score(arguments)


def _add_verify(command: argparse.ArgumentParser) -> None:
    _rows_options(command)
    command.set_defaults(command=_verify)


def _verify(arguments: argparse.Namespace) -> int:
    from bench.commands.score import verify

    return verify(arguments)


def _rows_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("cells", nargs="*", metavar="FOLDER", help="cells, or folders above them; default 'results'")
    command.add_argument("--set", action="append", default=[], nargs="+", metavar="KEY=VALUE", dest="sets",
                         help="where data is, e.g. task.path=my.txt")  # fmt: skip
    command.add_argument("--data-dir", metavar="DIR", help="holds a folder for each task")
    command.add_argument("--json", action="store_true")


def _add_data(command: argparse.ArgumentParser) -> None:
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
    command.set_defaults(command=_data)


def _data(arguments: argparse.Namespace) -> int:
    from bench.commands.data import data

    return data(arguments)


def _add_write(command: argparse.ArgumentParser) -> None:
    command.add_argument("cell", metavar="CELL", help="folder of a trained cell, results/<task>/<method>/<key>")
    command.add_argument("--row", metavar="ID", help="a row of the evaluation split")
    command.add_argument("--source", metavar="TEXT", help="a source of your own")
    command.add_argument("--exemplar", action="append", default=[], metavar="TEXT", help="again for each exemplar")
    command.add_argument("--decode", metavar="D", help="e.g. beam=5+length_penalty=1.0; default: the cell's")
    command.add_argument("--data-dir", metavar="DIR", help="holds a folder for each task")
    command.add_argument("--json", action="store_true")
    command.set_defaults(command=_write)


def _write(arguments: argparse.Namespace) -> int:
    from bench.commands.write import write

    return write(arguments)


def _add_claims(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", nargs="?", metavar="NAME", help="a file of claims; default all")
    command.add_argument("--results", default="results", metavar="DIR", help="the store; default 'results'")
    command.add_argument("--run", action="store_true", help="make the cells they need first")
    command.add_argument("--set", action="append", default=[], nargs="+", metavar="KEY=VALUE", dest="sets")
    command.add_argument("--data-dir", metavar="DIR", help="holds a folder for each task")
    command.add_argument("--json", action="store_true")
    command.set_defaults(command=_claims)


def _claims(arguments: argparse.Namespace) -> int:
    from bench.commands.claims import claims

    return claims(arguments)


def _add_perf(command: argparse.ArgumentParser) -> None:
    command.add_argument("--method", action="append", metavar="NAMES", help="default: all")
    sizes = (("batch", 4), ("positions", 256), ("width", 512), ("vocabulary", 30000), ("repeats", 5), ("threads", 1))
    for name, default in sizes:
        command.add_argument(f"--{name}", type=_positive, default=default, metavar="N", help=f"default {default}")
    command.add_argument("--layers", type=_positive, default=0, metavar="N", help="whole steps of this depth too")
    command.add_argument("--memory", action="store_true", help="peak memory of each form too, in fresh processes")
    command.add_argument("--json", action="store_true")
    command.set_defaults(command=_perf)


def _perf(arguments: argparse.Namespace) -> int:
    from bench.commands.perf import perf

    return perf(arguments)


def _add_check(command: argparse.ArgumentParser) -> None:
    command.add_argument("methods", nargs="+", metavar="METHOD", help="names, 'all', globs, or package.module:Class")
    command.add_argument("--backbone", action="append", metavar="NAMES", help="default small-causal,small-encdec")
    command.add_argument("--seed", type=_whole, default=0, metavar="N", help="of weights; default 0")
    command.add_argument("--set", action="append", default=[], nargs="+", metavar="KEY=VALUE", dest="sets",
                         help="e.g. method.alpha=0.5")  # fmt: skip
    command.add_argument("--quick", action="store_true", help="leave out what starts other processes")
    command.add_argument("--json", action="store_true")
    command.set_defaults(command=_check)


def _check(arguments: argparse.Namespace) -> int:
    from bench.commands.check import check

    return check(arguments)


def _add_new(command: argparse.ArgumentParser) -> None:
    command.add_argument("kind", choices=["method"], metavar="KIND", help="method")
    command.add_argument("name", metavar="NAME", help="lower-case letters, digits and '_'")
    command.add_argument("--folder", type=Path, default=Path(), metavar="DIR",
                         help="where; in a checkout of this project it becomes a built-in")  # fmt: skip
    command.set_defaults(command=_new)


def _new(arguments: argparse.Namespace) -> int:
    from bench.commands.new import new_method

    print(new_method(arguments.name, arguments.folder))
    return 0


def _add_doctor(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true")
    command.set_defaults(command=_doctor)


def _doctor(arguments: argparse.Namespace) -> int:
    from bench.commands.doctor import doctor

    text, code = doctor(arguments.json)
    print(text)
    return code


def _store_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--results", default="results", metavar="DIR", help="the store; default 'results'")
    command.add_argument("--task", action="append", metavar="NAMES")


def _names(given: Sequence[str] | None) -> list[str] | None:
    """Split names with commas; None where nothing or everything was asked for."""
    from bench.entries import expand
    from bench.tasks import TASKS

    names = split_names(given)
    return None if not names or "all" in names else expand(names, TASKS, "task")


def _positive(text: str) -> int:
    return _whole(text, 1)


def _whole(text: str, least: int = 0) -> int:
    if not text.isdigit() or int(text) < least:
        raise argparse.ArgumentTypeError(f"a whole number of at least {least}, not '{text}'")
    return int(text)
