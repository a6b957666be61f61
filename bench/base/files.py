"""Files that are complete or not there, scratch folders, and what processes that have ended left behind."""

import contextlib
import errno
import hashlib
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from bench.base.machine import is_alive
from bench.errors import StoreError

DAY_S = 86_400
FOLDER_DAYS = 10


def write_atomic(path: Path, content: bytes | Callable[[BinaryIO], object], *, replace: bool = False) -> bool:
    """Write a file through a temporary one in the same folder, fsync, then link or rename; a device directly.

    Args:
        path: the final name; its folder is made.
        content: the bytes, or a function that writes them to an open file.
        replace: overwrite an existing file; a device or a pipe, such as `/dev/null`, is written and stays.
            Otherwise the first writer wins and later ones change nothing.

    Returns:
        Whether this call has written the content.

    Raises:
        StoreError: when the disk is full or refuses; what was there before stays as it was.
    """
    temporary = path.with_name(f".{path.name}.{signature()}.tmp")
    write = content if callable(content) else lambda file: file.write(content)
    try:
        if replace and path.exists() and (not path.is_file() or path.parent == Path("/dev")):
            with open(path, "wb") as file:
                write(file)
            return True
        _make_folder(path.parent)
        with open(temporary, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        made = _publish(temporary, path, replace)
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


@contextlib.contextmanager
def scratch_folder(folder: Path) -> Iterator[None]:
    """Make an empty folder for the code inside, and remove it afterwards, with its parent where that is empty then.

    Raises:
        StoreError: the folder cannot be made.
    """
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise StoreError(explain(folder, error)) from error
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # another run uses the parent, or removes it too
            folder.parent.rmdir()


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file, read in pieces.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def kept_hash(path: Path) -> str:
    """Return the SHA-256 of a file, which a process reads once for each size and time of it: some are gigabytes."""
    about = path.stat()
    return _kept_hash(path.absolute(), about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=256)
def _kept_hash(path: Path, size: int, changed: int) -> str:
    return hash_of(path)


def signature() -> str:
    """Return the name of this process, `<where>-<process id>`, which `abandoned` reads."""
    return f"{_where()}-{os.getpid()}"


@lru_cache(maxsize=1)
def _where() -> str:
    """Return a hash of the host, the time of its start and the namespace of its process ids.

    Containers may share a host name and number their processes separately, so an id alone means nothing.
    """
    parts = [platform.node()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    with contextlib.suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:8]


def abandoned(path: Path) -> bool:
    """Return whether the process named in a file name (`.<anything>.<signature>.tmp`) has ended: the file can go.

    Whether a process of another host or container has ended is unknown. Its file counts as abandoned one day after the
    last change. A folder, which a long training may not change for some time, counts as abandoned after ten days.
    """
    where, _, process = path.name.removesuffix(".tmp").rpartition(".")[2].partition("-")
    if where == _where() and process.isdigit():
        return int(process) == os.getpid() or not is_alive(int(process))
    try:
        last_change = max(part.stat().st_mtime for part in [path, *path.rglob("*")])
        return time.time() - last_change > (FOLDER_DAYS if path.is_dir() else 1) * DAY_S
    except OSError:
        return False


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
