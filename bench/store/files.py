"""Files of a store: how cells are found, read and written, on disk or in a snapshot. The store knows no other way."""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from bench.base.files import write_atomic

if TYPE_CHECKING:
    from bench.store.sums_file import SumsFile

__all__ = ["DISK", "Disk", "Files", "ListedCell"]

RECORDS = ("trained.json", "failed.json")
"""A folder with one of them is a cell."""
READ = (*RECORDS, "scores-", "grid-", "items-", "rows-")
"""How the names of files begin that decide what is shown of a cell."""


class Files(ABC):
    """Names and bytes of the files of cells. A path is `<root>/<task>/<method>/<key>/<name>`."""

    again: str
    """What to do about a damaged file: the end of an error message."""

    @abstractmethod
    def cells(self, root: Path) -> list[Path]:
        """Return the folders of all cells of a store that are trained or failed, in name order."""

    @abstractmethod
    def below(self, place: Path) -> list[Path]:
        """Return the folders of the trained cells at or below a folder, in name order."""

    @abstractmethod
    def names(self, folder: Path, pattern: str) -> list[str]:
        """Return the names in a cell's folder that fit a pattern like `scores-*.json`, sorted."""

    @abstractmethod
    def exists(self, path: Path) -> bool:
        """Return whether a file is there."""

    @abstractmethod
    def read(self, path: Path) -> bytes:
        """Return the bytes of a file.

        Raises:
            OSError: it is not there or cannot be read.
        """

    def content(self, path: Path) -> dict[str, Any] | None:
        """Return the content of a record that was checked as a whole; None where its file is to be read."""
        return None

    def sums_file(self, path: Path) -> SumsFile | None:
        """Return sums that were checked as a whole; None where their file is to be read."""
        return None

    def sum_columns(self, path: Path) -> list[str] | None:
        """Return the names of the columns of such sums; None where their file is to be read."""
        return None

    @abstractmethod
    def check_writable(self) -> None:
        """Do nothing where files can be written.

        Raises:
            UsageError: they are only read.
        """

    def write(self, path: Path, content: bytes | Callable[[BinaryIO], object], *, replace: bool = False) -> None:
        """Write a file whole or not at all, as `write_atomic` does.

        Raises:
            UsageError: files are only read here.
            StoreError: the disk is full or refuses.
        """
        self.check_writable()
        write_atomic(path, content, replace=replace)

    def remove(self, path: Path) -> None:
        """Remove a file if it is there.

        Raises:
            UsageError: files are only read here.
        """
        self.check_writable()
        path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class ListedCell:
    """What lies in the folder of a cell.

    Args:
        root: of the store.
        place: of the folder below it, `<task>/<method>/<key>`.
        names: of its files that are read for tables.
    """

    root: Path
    place: str
    names: Sequence[str]

    @property
    def path(self) -> Path:
        """The folder."""
        return self.root / self.place


class Disk(Files):
    """Files in folders on disk."""

    again = "remove it and run the same command again to make it anew"

    def cells(self, root: Path) -> list[Path]:
        """Return the folders that hold a record of training or failure; strangers are passed over."""
        return [listed.path for listed in self.scan(root)]

    def scan(self, root: Path, tasks: Collection[str] | None = None) -> Iterator[ListedCell]:
        """List the cells of a store with what lies in them, in name order.

        Args:
            root: of the store.
            tasks: those that are wanted; None for all.
        """
        for place in _places(root, tasks):
            names = _listed(f"{root}/{place}")
            if any(name in names for name in RECORDS):
                yield ListedCell(root, place, names)

    def below(self, place: Path) -> list[Path]:
        """Return the folders that hold `trained.json`; what lies in a hidden folder is out of the way."""
        folders = [path.parent for path in sorted(place.rglob("trained.json"))]
        return [folder for folder in folders if not _is_hidden(folder.relative_to(place))]

    def names(self, folder: Path, pattern: str) -> list[str]:
        """Return what the folder lists."""
        return sorted(path.name for path in folder.glob(pattern))

    def exists(self, path: Path) -> bool:
        """Return whether the path is there; a folder in place of a file is found when it is read."""
        return path.exists()

    def read(self, path: Path) -> bytes:
        """Read a file."""
        return path.read_bytes()

    def check_writable(self) -> None:
        """Do nothing: the disk itself says when it refuses."""


DISK = Disk()


def _is_hidden(path: Path) -> bool:
    """Return whether a path leads through a folder like `.damaged`."""
    return any(part.startswith(".") for part in path.parts)


def _places(root: Path, tasks: Collection[str] | None = None) -> Iterator[str]:
    """Yield the folders at the depth of cells, in name order; those of no task have names that begin otherwise."""
    for task in _names(root):
        if not ("a" <= task[0] <= "z" or "0" <= task[0] <= "9") or (tasks is not None and task not in tasks):
            continue
        for method in _names(root / task):
            for key in _names(root / task / method):
                yield f"{task}/{method}/{key}"


def _names(folder: Path) -> list[str]:
    """Return the names in a folder, sorted; none where it is no folder or cannot be listed."""
    with contextlib.suppress(OSError):
        return sorted(os.listdir(folder))
    return []


def _listed(folder: str) -> list[str]:
    """Return the names of a cell's files that are read for tables; none where the folder cannot be listed."""
    with contextlib.suppress(OSError):
        return [name for name in os.listdir(folder) if name.startswith(READ)]
    return []
