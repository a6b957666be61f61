"""How a run ended: the process that ended badly first is the cause, whatever became of the others."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.launch.processes import end_of

FAILED = {"code": 1, "error": "RuntimeError: no"}
LOST = {"code": 1, "error": "RuntimeError: connection closed by peer"}
STOPPED = {"code": 143, "error": ""}
WELL = {"code": 0, "error": ""}


@pytest.mark.parametrize(
    ("codes", "notes", "status", "says"),
    [
        pytest.param({}, {0: WELL, 1: WELL}, None, None, id="all end well"),
        pytest.param({1: 1}, {1: FAILED, 0: LOST}, "failed", "process 1 of 2 failed: RuntimeError: no", id="an error"),
        pytest.param(
            {0: 1},
            {0: LOST},
            "failed",
            "process 0 of 2 failed: RuntimeError: connection closed by peer; process 1 did not answer any more and "
            "was ended",
            id="one hangs",
        ),
        pytest.param({1: -9}, {0: LOST}, "killed", "process 1 of 2 was killed by SIGKILL", id="one is killed"),
        pytest.param({1: -9, 0: 1}, {0: LOST}, "killed", "process 1 of 2 was killed by SIGKILL", id="seen together"),
        pytest.param({0: 3}, {1: STOPPED}, "failed", "process 0 of 2 ended with code 3\nlast words", id="os._exit"),
        pytest.param({1: 143}, {1: STOPPED, 0: STOPPED}, "stopped", 143, id="a signal"),
        pytest.param({1: 143}, {1: STOPPED, 0: LOST}, "stopped", 143, id="a signal, which the other does not see"),
        pytest.param({0: -15}, {}, "stopped", 143, id="a signal before there is a handler"),
    ],
)
def test_who_ended_first_is_the_cause(
    tmp_path: Path, codes: dict[int, int], notes: dict[int, dict[str, Any]], status: str | None, says: Any
) -> None:
    for rank in range(2):
        (tmp_path / f"process.{rank}").write_text("1")
    for at, (rank, note) in enumerate(notes.items()):
        (tmp_path / f"end.{rank}").write_text(json.dumps({"at": at, **note}))
    (tmp_path / "log.0").write_text("last words\n")
    found = end_of(codes, 2, tmp_path)
    if found is None:
        assert status is None
        return
    assert found == {"status": status, "code" if status == "stopped" else "error": says}


def test_ctrl_c_leaves_no_traceback_while_the_first_process_imports() -> None:
    """A finder sends the signal where Lightning is looked for."""
    program = """
import os, signal, sys
class CtrlC:
    def find_spec(name, *_):
        if name == "lightning":
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what it starts with & ignore it
sys.meta_path.insert(0, CtrlC)
import bench.launch.preload
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "True\n", "")


def test_one_process_needs_no_number(tmp_path: Path) -> None:
    (tmp_path / "end.0").write_text(json.dumps({"at": 1, **FAILED}))
    assert end_of({0: 1}, 1, tmp_path) == {"status": "failed", "error": "RuntimeError: no"}
