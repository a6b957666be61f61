"""Files of a store on disk: how runs are found, read and written. `Snapshot` does the same for a snapshot."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from bench.base.files import write_atomic

if TYPE_CHECKING:
    from bench.store.sums_file import SumsFile

RECORDS = ("trained.json", "failed.json")
"""A folder with one of them is a run."""
MADE_AGAIN = {
    "trained.json": "bench run trains the run again; its predictions and scores stay",
    "scores-": "bench score makes it again",
    "items-": "bench score makes it again",
    "model-": "remove trained.json in the same folder, too; bench run trains the run again",
    "": "bench run makes it again",
}
"""How a file is made again once it is removed, by the beginning of its name."""


class Files:
    """Names and bytes of the files of runs on disk. A path is `<root>/<task>/<method>/<key>/<name>`."""

    is_snapshot = False
    """Whether there are records and statistics only, which are never written."""
    submitted_by = ""
    """The people who have submitted a snapshot; empty for results of this machine and this repository."""

    def cells(self, root: Path, tasks: Collection[str] | None = None) -> Iterator[Path]:
        """Yield the folders of the runs of a store that are trained or failed, of some tasks or all, in name order."""
        for path in run_folders(root, tasks):
            if any((path / name).exists() for name in RECORDS):
                yield path

    def below(self, place: Path) -> list[Path]:
        """Return the folders of the trained runs at or below a folder, in name order, but hidden ones."""
        folders = [path.parent for path in sorted(place.rglob("trained.json"))]
        return [folder for folder in folders if not any(p.startswith(".") for p in folder.relative_to(place).parts)]

    def names(self, folder: Path, pattern: str) -> list[str]:
        """Return the names in a run's folder that fit a pattern like `scores-*.json`, sorted."""
        return sorted(path.name for path in folder.glob(pattern))

    def exists(self, path: Path) -> bool:
        """Return whether a file is there; a folder in place of a file is found when it is read."""
        return path.exists()

    def read(self, path: Path) -> bytes:
        """Return the bytes of a file.

        Raises:
            OSError: it is not there or cannot be read.
        """
        return path.read_bytes()

    def remedy(self, path: Path) -> str:
        """Return the end of an error message: how a damaged file is replaced."""
        made = next(made for start, made in MADE_AGAIN.items() if path.name.startswith(start))
        return f"remove it, then {made}"

    def content(self, path: Path) -> dict[str, Any] | None:
        """Return the content of a record of a snapshot, whose tables were checked; None where a file has to be read."""
        return None

    def sums_file(self, path: Path) -> SumsFile | None:
        """Return sufficient statistics of a snapshot; None where their file has to be read."""
        return None

    def sum_columns(self, path: Path) -> list[str] | None:
        """Return the metrics that have statistics in a snapshot; None where their file has to be read."""
        return None

    def check_writable(self) -> None:
        """Do nothing: the disk refuses by itself.

        Raises:
            UsageError: files can only be read, as in a snapshot.
        """

    def write(self, path: Path, content: bytes | Callable[[BinaryIO], object], *, replace: bool = False) -> None:
        """Write a file whole or not at all, as `write_atomic` does.

        Raises:
            UsageError: files can only be read here.
            StoreError: the disk is full or refuses.
        """
        self.check_writable()
        write_atomic(path, content, replace=replace)

    def remove(self, path: Path) -> None:
        """Remove a file if it is there.

        Raises:
            UsageError: files can only be read here.
        """
        self.check_writable()
        path.unlink(missing_ok=True)


DISK = Files()


def run_folders(root: Path, tasks: Collection[str] | None = None) -> Iterator[Path]:
    """Yield every folder at the depth of runs, finished or not, in name order; names of tasks begin with a-z or 0-9."""
    for task in _names(root):
        if ("a" <= task[0] <= "z" or "0" <= task[0] <= "9") and (tasks is None or task in tasks):
            for method in _names(root / task):
                folders = (root / task / method / key for key in _names(root / task / method))
                yield from filter(Path.is_dir, folders)


def _names(folder: Path) -> list[str]:
    """Return the names in a folder, sorted; none where it is no folder or cannot be listed."""
    with contextlib.suppress(OSError):
        return sorted(os.listdir(folder))
    return []
