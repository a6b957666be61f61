"""Files: written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import platform
import shutil
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from bench.base.parents import is_alive
from bench.errors import StoreError

DAY_S = 86_400
FOLDER_DAYS = 10


def write_atomic(
    path: Path, content: bytes | Callable[[BinaryIO], object], *, replace: bool = False, synced: bool = True
) -> bool:
    """Write a file through a temporary one in the same folder, fsync, then link or rename.

    Args:
        path: the final name; its folder is made.
        content: the bytes, or a function that writes them to an open file.
        replace: overwrite an existing file; otherwise the first writer wins and later ones change nothing.
        synced: wait until it is on the disk. A file of a cache need not be: after a power cut it is made again.

    Returns:
        Whether this call made the file.

    Raises:
        StoreError: when the disk is full or refuses; what was there before stays as it was.
    """
    temporary = path.with_name(f".{path.name}.{signature()}.tmp")
    try:
        _make_folder(path.parent)
        with open(temporary, "wb") as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                content(file)
            if synced:
                file.flush()
                os.fsync(file.fileno())
        made = _publish(temporary, path, replace)
        if synced:
            _sync_folder(path.parent)
        return made
    except OSError as error:
        raise StoreError(explain(path, error)) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def check_can_write(folder: Path) -> None:
    """Make a folder and check that files can be written there, before hours of work depend on it.

    Raises:
        StoreError: the disk refuses.
    """
    probe = folder / f".probe.{signature()}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
    except OSError as error:
        raise StoreError(explain(folder, error)) from error
    finally:
        with contextlib.suppress(OSError):
            probe.unlink(missing_ok=True)


def scratch_path(results: Path, name: str) -> Path:
    """Return where a scratch folder of this process is; when the process is gone, the next command removes it."""
    return results / ".work" / f"{name}.{signature()}"


def make_scratch(folder: Path) -> None:
    """Make an empty scratch folder.

    Raises:
        StoreError: the disk refuses.
    """
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise StoreError(explain(folder, error)) from error


def remove_scratch(folder: Path) -> None:
    """Remove a folder of a run with all that is in it, and the folder it is in where that is empty then.

    What cannot be removed stays: another run may be using the outer folder, or removing it too.
    """
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.parent.rmdir()


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file, read in pieces.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def signature() -> str:
    """Return this process in a name: `<where>-<process id>`; `abandoned` reads it."""
    return f"{_where()}-{os.getpid()}"


@lru_cache(maxsize=1)
def _where() -> str:
    """Return where process ids mean what they mean here: a hash of the host, its start and the namespace of ids.

    Containers may share a host name and count their processes apart, so an id that is free here may be busy there.
    """
    parts = [platform.node()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    with contextlib.suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:8]


def abandoned(path: Path) -> bool:
    """Return whether the process that signed a name (`.<anything>.<signature>.tmp`) has ended, so that the file can go.

    Processes of another host, container or start of the machine cannot be asked: a file of theirs counts as abandoned
    when it was not touched for a day; a folder, which a long training may leave alone, when nothing in it was for ten.
    """
    where, _, process = path.name.removesuffix(".tmp").rpartition(".")[2].partition("-")
    if where == _where() and process.isdigit():
        return int(process) == os.getpid() or not is_alive(int(process))
    try:
        days = 1
        if path.is_dir():
            days = FOLDER_DAYS
        return time.time() - _last_touched(path) > days * DAY_S
    except OSError:
        return False


def _last_touched(path: Path) -> float:
    """Return when a file, or anything in a folder, last changed, in seconds.

    Raises:
        OSError: it cannot be looked at.
    """
    inside = []
    if path.is_dir():
        inside = list(path.rglob("*"))
    return max(part.stat().st_mtime for part in [path, *inside])


def _publish(temporary: Path, path: Path, replace: bool) -> bool:
    """Give a whole file its final name; return whether it got it: without `replace`, an earlier file stays."""
    if replace:
        os.replace(temporary, path)
        return True
    try:
        os.link(temporary, path)
        return True
    except FileExistsError:
        return False
    except OSError as error:  # a file system without hard links
        if error.errno not in (errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP):
            raise
        if path.exists():
            return False
        os.replace(temporary, path)
        return True


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it; each new name outlasts a power cut, else the file in it would not."""
    new = [part for part in (folder, *folder.parents) if not part.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for part in reversed(new):
        _sync_folder(part.parent)


def _sync_folder(folder: Path) -> None:
    """Make a new name in a folder outlast a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def explain(path: Path, error: OSError) -> str:
    """Return why a file could not be written, and what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"no space left to write '{path}'; free some and run the same command again, earlier results are intact"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"not allowed to write '{path}' ({error.strerror}); choose another folder with --results"
    return f"cannot write '{path}': {error}"
