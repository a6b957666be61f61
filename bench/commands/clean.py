"""`bench clean`: what lies in a store and is of no use any more, with its bytes; `--yes` removes it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bench.base.sizes import amount
from bench.cli_options import json_option, results_option, say_damaged
from bench.errors import BenchError
from bench.metrics import find_metric
from bench.store.files import DISK
from bench.store.kept_board import files_at
from bench.store.store import Store

if TYPE_CHECKING:
    from bench.store.cleaning import Unneeded


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench clean`."""
    results_option(parser)
    parser.add_argument(
        "--checkpoints",
        choices=["keep", "best", "none"],
        default="keep",
        help="of trained cells: keep all (default), of cells that differ in their seed the best one's, or none",
    )
    parser.add_argument("--unfinished", action="store_true", help="also what unfinished cells would go on from")
    parser.add_argument(
        "--old-scores",
        action="store_true",
        help="also scores of metrics of your own whose source, in this folder, has changed since",
    )
    parser.add_argument(
        "--superseded",
        action="store_true",
        help="also cells of a method's older code, where its newer code has cells of the same task and backbone",
    )
    parser.add_argument("--yes", action="store_true", help="remove it; without, nothing is touched")
    json_option(parser)


def run(given: argparse.Namespace) -> int:
    """Show or remove it; return 0, or 1 where damaged files keep it from being known which checkpoint is best."""
    from bench.board.checkpoints import best_cells
    from bench.board.superseded_cells import superseded_cells
    from bench.store.cleaning import remove, unneeded, unneeded_checkpoints
    from bench.store.old_scores import old_scores

    store = Store(Path(given.results))
    files_at(store.root).check_writable()
    found = list(unneeded(store.root, unfinished=given.unfinished))
    if given.checkpoints != "keep":
        kept: set[Path] = set()
        if given.checkpoints == "best":
            kept = best_cells(store)
        known = {file.path for file in found}
        found += [file for file in unneeded_checkpoints(store.root, kept) if file.path not in known]
    here = Sources()
    if given.old_scores:
        found += old_scores(store.root, here.current)
    if given.superseded:
        found = with_folders(found, superseded_cells(store))
    if given.yes:
        remove(found)
    if given.json:
        print(json.dumps([{"path": str(file.path), "why": file.why, "bytes": file.size} for file in found], indent=1))
    else:
        print(text(found, given.yes, busy_cells(store.root)))
        for name in sorted(here.missing):
            print(f"the metric {name} is not here; its scores stay. Run this in the folder where its module is")
    return say_damaged(store)


def with_folders(files: Sequence[Unneeded], folders: Iterable[Unneeded]) -> list[Unneeded]:
    """Return files and folders that go; a file in one of the folders goes with it and is not counted twice."""
    whole = list(folders)
    paths = {folder.path for folder in whole}
    return [*(file for file in files if paths.isdisjoint(file.path.parents)), *whole]


@dataclass
class Sources:
    """The source of each metric of the user's own as it is today.

    Args:
        known: hash by class, `module:name`; None for one that cannot be imported here.
    """

    known: dict[str, str | None] = field(default_factory=dict)

    def current(self, name: str) -> str | None:
        """Return the hash of a metric's source, read once."""
        if name not in self.known:
            self.known[name] = None
            with suppress(BenchError):
                self.known[name] = find_metric(name).code.get("source_sha256")
        return self.known[name]

    @property
    def missing(self) -> set[str]:
        """Those that cannot be imported here."""
        return {name for name, source in self.known.items() if source is None}


def busy_cells(root: Path) -> int:
    """Return how many cells changed within the last hour."""
    from bench.store.cleaning import is_busy

    return sum(is_busy(listed.path) for listed in DISK.scan(root))


def text(found: Sequence[Unneeded], is_done: bool, busy: int) -> str:
    """Return what goes or went, with bytes, for people."""
    lines = [f"{amount(file.size, 'B'):>9}  {file.path}  {file.why}" for file in found]
    total = f"{amount(sum(file.size for file in found), 'B')} in {len(found)} files and folders"
    if is_done:
        lines.append(f"removed {total}")
    elif found:
        lines.append(f"{total}; nothing is removed yet: run it again with --yes")
    else:
        lines.append("nothing to clean")
    if busy:
        lines.append(f"{busy} cells changed within the last hour and are left alone")
    return "\n".join(lines)
