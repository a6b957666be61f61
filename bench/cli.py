"""The command line: thin and lazy. Heavy imports happen inside the commands that need them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from bench import __version__
from bench.base.entries import load
from bench.base.signals import Terminated, terminable
from bench.cli_making import COMMANDS as MAKING
from bench.cli_reading import COMMANDS as READING
from bench.errors import BenchError, UsageError, did_you_mean

INTERRUPTED, TERMINATED = 130, 143


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

    0 all wanted cells ok, 1 some failed, 2 usage, 3 missing data or extra, 130 interrupted (Ctrl-C, SIGINT),
    143 terminated (SIGTERM).
    """
    try:
        try:
            with terminable():
                arguments = parser().parse_args(argv)
                return int(load(arguments.target)(arguments))
        finally:
            sys.stdout.flush()
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.exit_code
    except Terminated:
        print("bench: interrupted by SIGTERM; run the same command again to go on", file=sys.stderr)
        return TERMINATED
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
    for name, command in {**MAKING, **READING}.items():
        one = commands.add_parser(name, help=command.help, allow_abbrev=False)
        command.options(one)
        one.set_defaults(target=command.target)
    return top
