"""Files of a store: how cells are found, read and written, on disk or in a kept board. The store knows no other way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from bench.base.files import write_atomic

__all__ = ["DISK", "Disk", "Files"]


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


class Disk(Files):
    """Files in folders on disk."""

    again = "remove it and run the same command again to make it anew"

    def cells(self, root: Path) -> list[Path]:
        """Return the folders that hold a record of training or failure; strangers are passed over."""
        if not root.is_dir():
            return []
        found = sorted(root.glob("[a-z0-9]*/*/*"))
        return [path for path in found if (path / "trained.json").exists() or (path / "failed.json").exists()]

    def below(self, place: Path) -> list[Path]:
        """Return the folders that hold `trained.json`."""
        return [path.parent for path in sorted(place.rglob("trained.json"))]

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
