"""Machine: its processors, its processes, and the folder for what can be made again at any time."""

import ctypes
import os
import platform
import signal
import threading
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
"""The option of Linux's `prctl` (linux/prctl.h) for a signal at the parent's death."""


def cache_root() -> Path:
    """Return the folder of the cache: `BENCH_CACHE`, or `~/.cache/objective-bench`."""
    return Path(os.environ.get("BENCH_CACHE") or "~/.cache/objective-bench").expanduser()


def cores() -> int:
    """Return how many cores this process may use: those it is bound to where the system says so, else all, at least 1.

    >>> cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def end_with_parent(parent: int) -> None:
    """Let this process be killed when its parent has ended, since its results would be lost.

    On Linux the kernel does it, also where the parent is killed; elsewhere a thread looks twice a second.

    Args:
        parent: the process that started this one; if it has ended already, this one is killed at once.
    """
    if platform.system() == "Linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:  # it was gone before the kernel was asked
            os.kill(os.getpid(), signal.SIGKILL)
        return

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True, name="parent").start()


def is_alive(process: int) -> bool:
    """Return whether a process of this host runs, whoever started it."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
