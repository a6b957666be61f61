"""One run, one lock: the process that writes a run's files holds the lock on its folder.

The system releases the lock of a process that ends, however it ends, so another process can go on at once from the
last state. Files are written under temporary names and renamed; two holders would cost work and never a result.
"""

import errno
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.base.files import explain
from bench.errors import BenchError, StoreError

LOCK = ".lock"
"""The file in the folder of a run that is locked; it says which host and process hold the lock."""

NO_LOCKS = "BENCH_NO_LOCKS"
"""Environment variable: 1 to go on without locks, where a file system has none."""

WITHOUT_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP)


class LockedError(BenchError):
    """Another process works on the run."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a run; the folder must exist.

    Raises:
        LockedError: another process holds it; the message names its host and process id.
        StoreError: the file system has no locks.
    """
    if os.environ.get(NO_LOCKS, "0") not in ("", "0"):
        yield
        return
    from filelock import FileLock, Timeout

    path = folder / LOCK
    lock = FileLock(path, blocking=False, fallback_to_soft=False, on_acquired=write_holder)
    try:
        lock.acquire()
    except Timeout:
        raise LockedError(f"is locked by {holder_of(path)}") from None
    except OSError as error:
        if error.errno not in WITHOUT_LOCKS:
            raise StoreError(explain(path, error)) from error
        raise StoreError(
            f"the file system of '{folder}' has no locks ({error.strerror}), so two commands could train the same run "
            f"twice; choose another folder with --results, or set {NO_LOCKS}=1 and start one bench run at a time"
        ) from error
    try:
        yield
    finally:
        with suppress(OSError):  # removed while it is held: whoever opened it before sees that and opens a new one
            path.unlink()
        lock.release()


def write_holder(file: int) -> None:
    """Write the host and the process id of this process into an open lock file; a full disk does not matter."""
    with suppress(OSError):
        os.ftruncate(file, 0)
        os.write(file, f"{platform.node()} {os.getpid()}\n".encode())


def holder_of(path: Path) -> str:
    """Return the host and process that hold a lock, read from its file."""
    try:
        host, process = path.read_text().split()
    except (OSError, ValueError):  # it was released or taken in this moment
        return "another process"
    return f"process {process} on {host}"
