"""Tests wait for no disk: `os.fsync` looks at the handle and returns.

A file that is written but not yet on the disk survives everything a test does to a process, a kill too. What must be
synced, and in which order, is tested where files are written (tests/bench/base/test_files.py).
"""

import os


def wait_for_no_disk() -> None:
    """Let `os.fsync` of this process, and of what it forks, do no more than refuse a handle that is not open."""
    os.fsync = look  # type: ignore[assignment]


def look(handle: int) -> None:
    """Raise OSError where a handle is not open."""
    os.fstat(handle)
