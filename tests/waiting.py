"""Waiting for other processes, for as long as it takes and no longer."""

import socket
import time
from collections.abc import Callable
from pathlib import Path


def wait_until(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Wait for something to come true; return whether it has."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def is_gone(process: int) -> bool:
    """Whether a process has ended; one that nobody has asked for its exit code counts as ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
