"""Folders: put in place whole or not at all."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
from pathlib import Path

from bench.base.files import abandoned, signature
from bench.errors import StoreError

__all__ = ["claim", "discard", "publish"]


def claim(folder: Path, *, resume: bool = False) -> Path:
    """Make the unfinished folder of this process beside `folder`; `publish` gives it its name.

    What processes that are gone left there is removed, or, with `resume`, taken over. A rename decides who takes it.

    Raises:
        StoreError: the disk refuses.
    """
    mine = folder.with_name(f".{folder.name}.{signature()}.tmp")
    try:
        mine.parent.mkdir(parents=True, exist_ok=True)
        for left in sorted(mine.parent.glob(f".{glob.escape(folder.name)}.*.tmp")):
            if left.is_dir() and abandoned(left):
                _take_over(left, mine, resume)
        mine.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write below '{mine.parent}': {error.strerror or error}; is it full?") from error
    for torn in mine.glob(".*.tmp"):
        torn.unlink(missing_ok=True)
    return mine


def publish(unfinished: Path, folder: Path) -> bool:
    """Give an unfinished folder its name, once all it holds is on the disk.

    Returns:
        Whether this call made `folder`; False where it was there already, and then stays as it was.

    Raises:
        StoreError: the disk refuses.
    """
    try:
        os.sync()  # thousands of files: one call for all of them
        unfinished.rename(folder)
        handle = os.open(folder.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        return True
    except OSError as error:
        if not folder.is_dir():
            raise StoreError(f"cannot put '{folder}' in place: {error.strerror or error}") from error
        discard(unfinished)
        return False


def discard(unfinished: Path) -> None:
    """Remove an unfinished folder."""
    shutil.rmtree(unfinished, ignore_errors=True)


def _take_over(left: Path, mine: Path, resume: bool) -> None:
    if left == mine and resume:
        return
    if resume and not mine.exists():
        with contextlib.suppress(OSError):  # another process was first
            left.rename(mine)
            return
    discard(left)
