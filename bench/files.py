"""Files: written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from bench.errors import StoreError


def write_atomic(path: Path, content: bytes | Callable[[BinaryIO], object], *, replace: bool = False) -> bool:
    """Write a file through a temporary one in the same folder, fsync, then link or rename.

    Args:
        path: the final name; its folder is made.
        content: the bytes, or a function that writes them to an open file.
        replace: overwrite an existing file; otherwise the first writer wins and later ones change nothing.

    Returns:
        Whether this call made the file.

    Raises:
        StoreError: when the disk is full or refuses; what was there before stays as it was.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(content) if isinstance(content, bytes) else content(file)
            file.flush()
            os.fsync(file.fileno())
        made = _publish(temporary, path, replace)
        _sync_folder(path.parent)
        return made
    except OSError as error:
        raise StoreError(_explain(path, error)) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _publish(temporary: Path, path: Path, replace: bool) -> bool:
    if replace:
        os.replace(temporary, path)
        return True
    try:
        os.link(temporary, path)
        return True
    except FileExistsError:
        return False
    except OSError as error:  # a file system without hard links
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP) or path.exists():
            raise
        os.replace(temporary, path)
        return True


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _explain(path: Path, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"no space left to write '{path}'; free some and run the same command again, earlier results are intact"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"not allowed to write '{path}' ({error.strerror}); choose another folder with --results"
    return f"cannot write '{path}': {error}"
