"""The command line: it finds the command, whose file imports what it needs, and turns errors into exit codes."""

import argparse
import gc
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from bench.base.lightning import postpone
from bench.base.printable import printable
from bench.base.registry import importable
from bench.base.version import __version__
from bench.commands import COMMANDS
from bench.errors import BenchError, MissingError, UsageError, did_you_mean
from bench.launch.signals import EXIT_CODES, Stopped, handled


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UsageError and suggests near names.

    Args:
        command: the name of the command whose options it reads. The command's file is imported when something is
            parsed, so that only the file of the command that is used is imported.
    """

    def __init__(self, *arguments: Any, command: str = "", **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.command = command

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see: {self.prog} --help)")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.command:
            module = importlib.import_module(f"bench.commands.{self.command}")
            module.options(self)
            self.set_defaults(target=module.run, dry_run=False)
            self.command = ""
        given, unknown = super().parse_known_args(args, namespace)
        if unknown:
            options = {text for action in self._actions for text in action.option_strings}
            near = did_you_mean(unknown[0].partition("=")[0], options)
            self.error(f"unknown argument '{unknown[0]}'{near}")
        return given, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            what = str(action.metavar).lower()
            if action.option_strings:
                what = action.option_strings[0]
            self.error(f"no {what} '{value}'{did_you_mean(str(value), action.choices)}")


def program() -> int:
    """Run the command line of this process; return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # it was closed
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a terminal may know fewer letters
    importable(Path.cwd())
    return main(own_process=True)


def main(argv: Sequence[str] | None = None, *, own_process: bool = False) -> int:
    """Run one command; return its exit code.

    0 all wanted cells ok, 1 some failed, 2 usage, 3 missing data or extra, 75 stopped to be tried again (SIGUSR1,
    SIGUSR2), 130 stopped by Ctrl-C (SIGINT), 143 by SIGTERM.

    Args:
        argv: the words after `bench`; those of the process for None.
        own_process: whether the process ends with the command. Then Lightning is imported only to make a model.
    """
    if argv is None:
        argv = sys.argv[1:]
    try:
        try:
            with handled():
                given = parser().parse_args(argv)
                if own_process:
                    postpone()
                if own_process and given.dry_run:  # rows of a task are a million objects without a cycle
                    gc.disable()
                return int(given.target(given))
        finally:
            sys.stdout.flush()
            if own_process:  # else the interpreter looks through all objects once more at its end
                gc.freeze()
    except BenchError as error:
        print(printable(f"bench: {error}"), file=sys.stderr)
        return error.exit_code
    except Stopped as stopped:
        print(f"bench: stopped by {stopped.signal.name}; run the same command again to go on", file=sys.stderr)
        return stopped.exit_code
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "bench":
            raise
        print(f"bench: the package '{error.name}' is needed and not installed; bench doctor says how", file=sys.stderr)
        return MissingError.exit_code
    except KeyboardInterrupt:
        print("bench: stopped; run the same command again to go on", file=sys.stderr)
        return EXIT_CODES[signal.SIGINT]
    except BrokenPipeError:  # the reader has closed the pipe; what Python still writes at exit goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        what = error.strerror or str(error) or type(error).__name__
        if error.filename is not None:
            places = "--results, --output, BENCH_CACHE, HOME"
            what = f"'{error.filename}': {what}; give a place that can be read and written ({places})"
        print(f"bench: the operating system reports: {what}; stored results are unchanged", file=sys.stderr)
        return BenchError.exit_code


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; each reads the options of its command when it is used."""
    top = Parser(prog="bench", description="Compare training objectives for text generation.", allow_abbrev=False)
    top.add_argument("--version", action="version", version=f"bench {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    for name, line in COMMANDS.items():
        commands.add_parser(name, help=line, allow_abbrev=False, command=name)
    return top
