"""Locks: one holder at a time, who is named; a process that dies leaves none; file systems without locks."""

import errno
import os
import platform
from pathlib import Path
from typing import Any

import pytest

from bench.errors import StoreError
from bench.launch.lock import LOCK, NO_LOCKS, LockedError, locked
from tests.waiting import wait_until


def test_a_second_holder_is_refused_with_the_name_of_the_first(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(LockedError) as refused, locked(tmp_path):
        pass
    assert str(refused.value) == f"is locked by process {os.getpid()} on {platform.node()}"
    with locked(tmp_path):
        pass
    assert not (tmp_path / LOCK).exists(), "nothing is left behind"


def test_a_killed_holder_leaves_no_lock(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        with locked(tmp_path):
            (tmp_path / "held").touch()
            os.read(os.pipe()[0], 1)
        os._exit(0)
    assert wait_until((tmp_path / "held").exists)
    with pytest.raises(LockedError, match=f"process {child} on"), locked(tmp_path):
        pass
    os.kill(child, 9)
    os.waitpid(child, 0)
    with locked(tmp_path):
        pass


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def flock(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", flock)
    with (
        pytest.raises(StoreError, match=f"the file system of '{tmp_path}' has no locks .* set {NO_LOCKS}=1"),
        locked(tmp_path),
    ):
        pass
    monkeypatch.setenv(NO_LOCKS, "0")
    with pytest.raises(StoreError), locked(tmp_path):
        pass
    monkeypatch.setenv(NO_LOCKS, "1")
    with locked(tmp_path), locked(tmp_path):
        pass
