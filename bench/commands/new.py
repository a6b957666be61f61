"""`bench new`: begins a method, task, metric or backbone: code and test, which pass at once and are then changed."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.templates.kinds import KINDS
from bench.templates.writing import new_entry


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench new`."""
    parser.add_argument("kind", choices=list(KINDS), metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("name", metavar="NAME", help="lower-case letters, digits and '_'")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="where; in a checkout of this project it becomes a built-in",
    )


def run(given: argparse.Namespace) -> int:
    """Write what was asked for and say what."""
    print(new_entry(given.kind, given.name, given.folder))
    return 0
