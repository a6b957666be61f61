"""Children of a fork server: what they get, how they end, and that none outlives whoever wanted it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import is_gone, wait_until

ROOT = Path(__file__).parents[3]
COMMAND = [sys.executable, str(Path(__file__).with_name("starter.py"))]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def started(folder: Path, what: str) -> str:
    """What a program prints that starts children."""
    ended = subprocess.run([*COMMAND, str(folder), what], capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def pids(folder: Path) -> list[int]:
    return [int(word) for word in (folder / "pids").read_text().split()]


def test_a_child_has_a_group_a_log_and_the_environment_it_was_given(tmp_path: Path) -> None:
    """The script that wanted it is not run again in it."""
    assert started(tmp_path, "code") == "0 7 -9"
    assert json.loads((tmp_path / "said").read_text()) == {"group": True, "given": "a value", "main": False}
    assert (tmp_path / "log").read_text() == "printed\n"


def test_a_child_is_told_to_stop(tmp_path: Path) -> None:
    assert started(tmp_path, "stop") == str(-signal.SIGTERM)


def test_a_child_is_killed_with_what_it_has_started(tmp_path: Path) -> None:
    assert started(tmp_path, "kill") == str(-signal.SIGKILL)
    assert len(pids(tmp_path)) == 2
    assert wait_until(lambda: all(map(is_gone, pids(tmp_path))))


def test_a_child_whose_fork_server_is_killed_was_killed(tmp_path: Path) -> None:
    """Its cell is not to blame, as for an exit code; the next child has a new server."""
    assert started(tmp_path, "server") == f"{-signal.SIGKILL} 3"
    assert wait_until(lambda: all(map(is_gone, pids(tmp_path))))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR2])
def test_a_signal_to_all_processes_lets_a_child_keep_what_it_has(tmp_path: Path, number: signal.Signals) -> None:
    """As Slurm sends it, also to the fork server, whose end would be the child's."""
    assert started(tmp_path, f"all{int(number)}") == "75 3"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_child_outlives_who_wanted_it(tmp_path: Path, number: signal.Signals) -> None:
    """The fork server does, while it has children."""
    with subprocess.Popen([*COMMAND, str(tmp_path), "wait"], env=ENVIRONMENT) as starter:
        assert wait_until(lambda: (tmp_path / "pids").exists() and (tmp_path / "pids").read_text().endswith("\n"), 60)
        (child,) = pids(tmp_path)
        assert not is_gone(child)
        starter.send_signal(number)
        starter.wait(10)
    assert wait_until(lambda: is_gone(child))
