"""Leases: who has a cell. A lease is a name that is linked once and never removed, renamed or used again."""

from __future__ import annotations

import errno
from dataclasses import dataclass

from bench.queue.protocol.files import QueueFiles, has_no_links

__all__ = ["Lease", "Leases", "lease_name"]

ROTATED = 1000
"""Links of one template: some file systems allow only so many names of a file."""


@dataclass
class Lease:
    """One cell in one worker's hands.

    Args:
        key: of the cell in the queue.
        generation: 1 for the first owner, one more for each one after it.
        deaths: how many workers the cell has outlived.
        lost: whether another worker has taken it over, because this one was silent for too long.
    """

    key: str
    generation: int
    deaths: int
    lost: bool = False


class Leases:
    """Takes leases for one worker.

    Args:
        files: of the queue.
        wid: the worker's name, which is the content of its leases.
    """

    def __init__(self, files: QueueFiles, wid: str) -> None:
        self.files, self.wid = files, wid
        self.linked = 0
        self.can_link = True
        self.template = ""

    def take(self, key: str, generation: int) -> str:
        """Try to take a lease; return the name of the worker that has it, this one's where it was won.

        An empty name is that of an owner that has not come to write it.

        Raises:
            OSError: the disk is full or refuses, and nobody has the lease; try again.
        """
        name = lease_name(key, generation)
        try:
            if self.claim(name):
                return self.wid
        except OSError:  # the reply of a file server may be lost after it has done what was asked
            if not self.files.exists(name):
                raise
        return self.owner(key, generation)

    def owner(self, key: str, generation: int) -> str:
        """Return the name of the worker that has a lease, empty where it is not written."""
        content = self.files.read(lease_name(key, generation), fresh=True)
        return (content or b"").decode("ascii", "replace")

    def claim(self, name: str) -> bool:
        """Make the lease file, with this worker's name in it, in one operation where there are hard links."""
        if not self.can_link:
            return self.files.create(name, self.wid.encode())
        if not self.template or self.linked >= ROTATED:
            self.rotate()
        try:
            won = self.files.link(self.template, name)
        except OSError as error:
            if error.errno == errno.EMLINK:
                self.linked = ROTATED
                return self.claim(name)
            if not has_no_links(error):
                raise
            self.can_link = False
            return self.files.create(name, self.wid.encode())
        self.linked += 1
        return won

    def rotate(self) -> None:
        """Make a new template to link leases to."""
        number = 0
        if self.template:
            number = int(self.template.rpartition(".")[2]) + 1
        while not self.files.create(f"t/{self.wid}.{number}", self.wid.encode()):
            number += 1  # an attempt that was cut short has left one
        self.template, self.linked = f"t/{self.wid}.{number}", 0


def lease_name(key: str, generation: int) -> str:
    """Return the name of a lease file."""
    return f"l/{key}.{generation}"
