"""`bench repair`: moves damaged files of a store out of the way, and says what makes them again."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.cli_options import json_option, results_option

if TYPE_CHECKING:
    from bench.store.repair import Repaired


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench repair`."""
    results_option(parser)
    parser.add_argument("--dry-run", action="store_true", help="say what is damaged and move nothing")
    json_option(parser)


def run(given: argparse.Namespace) -> int:
    """Move them; return 0, or 1 where a damaged file is left in its place."""
    from bench.store.repair import repaired

    found = list(repaired(Path(given.results), move=not given.dry_run))
    if given.json:
        print(json.dumps([content(file, given.dry_run) for file in found], indent=1))
    else:
        print(text(found, given.dry_run, given.results))
    left = [file for file in found if given.dry_run or file.aside is None]
    return int(bool(left))


def content(file: Repaired, is_dry: bool) -> dict[str, Any]:
    """Return one file as plain content."""
    moved_to = None
    if file.aside is not None and not is_dry:
        moved_to = str(file.aside)
    return {
        "path": str(file.error.path),
        "why": file.error.why,
        "moved_to": moved_to,
        "todo": file.command or file.error.todo,
    }


def text(found: Sequence[Repaired], is_dry: bool, results: str) -> str:
    """Return what was done for people, and the commands that make everything again, each once."""
    from bench.base.outward import plain

    if not found:
        return f"no damaged files in '{results}'"
    verb = "moved"
    if is_dry:
        verb = "would move"
    lines = []
    for file in found:
        if file.aside is None:
            lines.append(f"left {file.error.path}: {file.error.why}; {file.error.todo}")
        else:
            lines.append(f"{verb} {file.error.path} to {file.aside}: {file.error.why}")
    commands = dict.fromkeys(file.command for file in found if file.command)
    if commands:
        lines += ["to make again what is missing then:", *(f"  {command}" for command in commands)]
    return "\n".join(map(plain, lines))
