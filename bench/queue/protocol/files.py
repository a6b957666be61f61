"""Files of a queue: the few operations on files that the protocol is made of. Tests put faults in their place."""

from __future__ import annotations

import errno
import os
from abc import ABC, abstractmethod
from pathlib import Path

__all__ = ["DiskFiles", "QueueFiles", "has_no_links"]

NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EXDEV)


class QueueFiles(ABC):
    """Files of one queue by their name below it, such as `j/<wid>`. Any of them may raise OSError."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """Return the names in a folder, in no order."""

    @abstractmethod
    def read(self, name: str, *, fresh: bool = False) -> bytes | None:
        """Return a file, or None where it is not there.

        Args:
            fresh: whether what another machine has written must be seen now. Otherwise an old view will do.
        """

    @abstractmethod
    def exists(self, name: str) -> bool:
        """Return whether a file is there."""

    @abstractmethod
    def create(self, name: str, content: bytes) -> bool:
        """Make a file that is not there (O_EXCL), and write it through; return False where it is there."""

    @abstractmethod
    def write_at(self, name: str, offset: int, data: bytes) -> int:
        """Write into a file, through to the disk; return how many bytes were written."""

    @abstractmethod
    def link(self, source: str, name: str) -> bool:
        """Give a file a second name in one operation; return False where the name is taken."""


class DiskFiles(QueueFiles):
    """Files in a folder on disk. Every read opens its file anew, which makes a network file system ask its server.

    Args:
        root: the folder of the queue; its folders are made.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def names(self, folder: str) -> list[str]:
        """List the folder."""
        try:
            return os.listdir(self.root / folder)
        except FileNotFoundError:
            return []

    def read(self, name: str, *, fresh: bool = False) -> bytes | None:
        """Open, read and close; it is always fresh."""
        try:
            return (self.root / name).read_bytes()
        except FileNotFoundError:
            return None

    def exists(self, name: str) -> bool:
        """Ask for the name."""
        return (self.root / name).exists()

    def create(self, name: str, content: bytes) -> bool:
        """Create with O_EXCL, write, fsync."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(path, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError:
            return False
        return True

    def write_at(self, name: str, offset: int, data: bytes) -> int:
        """Write with pwrite, fsync."""
        handle = os.open(self.root / name, os.O_WRONLY)
        try:
            written = os.pwrite(handle, data, offset)
            os.fsync(handle)
        finally:
            os.close(handle)
        return written

    def link(self, source: str, name: str) -> bool:
        """Make a hard link."""
        path = self.root / name
        try:
            os.link(self.root / source, path)
        except FileExistsError:
            return False
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.link(self.root / source, path)
        return True


def has_no_links(error: OSError) -> bool:
    """Return whether an error says that the file system has no hard links."""
    return error.errno in NO_LINKS
