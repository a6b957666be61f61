"""States of a training that is not finished. The last two are kept, each closed by its hash."""

import hashlib
import io
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from bench.base.files import write_atomic
from bench.errors import StoreError

STATE = "state"
"""Folder of a run with the states of its training; it is removed when the training is stored."""

KEPT = 2
"""Number of states that are kept: where the last one is damaged, training goes on from the one before."""


class StateFiles:
    """The states of one training in a folder.

    Args:
        folder: made when first written to.
        steps: number of steps after which a state is due, in addition to those due by time; 0 for never.
    """

    def __init__(self, folder: Path, steps: int = 0) -> None:
        self.folder, self.steps = folder, steps

    def path(self, step: int) -> Path:
        """Return the path of the state after a step."""
        return self.folder / f"step-{step:09d}.ckpt"

    def paths(self) -> list[Path]:
        """Return the paths of the states, the newest first."""
        return sorted(self.folder.glob(f"step-{9 * '[0-9]'}.ckpt"), reverse=True)

    def newest_whole(self) -> Path | None:
        """Return the newest state that is not damaged; damaged ones are passed over and not removed."""
        for path in self.paths():
            with suppress(StoreError):
                whole_body(path)
                return path
        return None

    def prune(self) -> None:
        """Remove all states but the newest ones that are kept."""
        for path in self.paths()[KEPT:]:
            with suppress(OSError):
                path.unlink()

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        shutil.rmtree(self.folder, ignore_errors=True)


def write_state(path: Path, content: dict[str, Any]) -> None:
    """Write a state under a temporary name, close it with its hash, and rename it.

    Raises:
        StoreError: the disk is full or refuses. Earlier states stay.
    """
    import torch

    def write(file: BinaryIO) -> None:
        torch.save(content, file)
        file.flush()
        with open(file.name, "rb") as written:
            file.write(hashlib.file_digest(written, "sha256").digest())

    write_atomic(path, write, replace=True)


def read_state(path: Path) -> dict[str, Any]:
    """Return the content of a state.

    Raises:
        StoreError: it is damaged, or cannot be read.
    """
    import torch

    content: dict[str, Any] = torch.load(io.BytesIO(whole_body(path)), map_location="cpu", weights_only=True)
    return content


def whole_body(path: Path) -> memoryview:
    """Return the bytes of a state without its closing hash.

    Raises:
        StoreError: it does not have that hash, or cannot be read.
    """
    try:
        data = memoryview(path.read_bytes())
    except OSError as error:
        raise StoreError(f"state '{path}' cannot be read ({error})") from error
    size = hashlib.sha256().digest_size
    if len(data) <= size or hashlib.sha256(data[:-size]).digest() != bytes(data[-size:]):
        raise StoreError(f"state '{path}' does not have the hash it was stored with; the one before it is taken")
    return data[:-size]
