"""Options that several commands share, and what a command is to the parser."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.base.entries import expand, split_names
from bench.tasks import TASKS

__all__ = ["Command", "data_options", "positive", "rows_options", "store_options", "task_names", "whole"]


@dataclass(frozen=True)
class Command:
    """One command of the program.

    Args:
        help: one line.
        target: `package.module:function`, imported only when the command runs; takes what was typed, returns an exit
            code.
        options: adds its options to a parser.
    """

    help: str
    target: str
    options: Callable[[argparse.ArgumentParser], None]


def rows_options(command: argparse.ArgumentParser) -> None:
    """Add which cells, and where their data is."""
    command.add_argument("cells", nargs="*", metavar="FOLDER", help="cells, or folders above them; default 'results'")
    data_options(command)
    command.add_argument("--json", action="store_true")


def data_options(command: argparse.ArgumentParser) -> None:
    """Add where data is."""
    command.add_argument("--set", action="append", default=[], nargs="+", metavar="KEY=VALUE", dest="sets",
                         help="where data is, e.g. task.path=my.txt")  # fmt: skip
    command.add_argument("--data-dir", metavar="DIR", help="holds a folder for each task")


def store_options(command: argparse.ArgumentParser) -> None:
    """Add which store, and which tasks of it."""
    command.add_argument("--results", default="results", metavar="DIR", help="the store; default 'results'")
    command.add_argument("--task", action="append", metavar="NAMES")


def task_names(given: Sequence[str] | None) -> list[str] | None:
    """Split names with commas; None where nothing or everything was asked for."""
    names = split_names(given)
    return None if not names or "all" in names else expand(names, TASKS, "task")


def positive(text: str) -> int:
    """Read a whole number above zero."""
    return whole(text, 1)


def whole(text: str, least: int = 0) -> int:
    """Read a whole number."""
    if not text.isdigit() or int(text) < least:
        raise argparse.ArgumentTypeError(f"a whole number of at least {least}, not '{text}'")
    return int(text)
