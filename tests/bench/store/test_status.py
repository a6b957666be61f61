"""`bench store status`: whether each run is complete, unfinished, failed or in progress."""

import json
from pathlib import Path

import pytest

from bench.launch.lock import locked
from bench.store.store import CellFolder
from tests.conftest import Bench
from tests.leaderboards.handmade import config, scored, trained


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A trained run with predictions and scores, and an unfinished one."""
    cell = scored(trained(tmp_path), {"bleu-3": 30.0})
    cell.write_rows("aa", {"kind": "generation"}, [], {})
    state = tmp_path / "logicnlg" / "mle" / "unfinished" / "state" / "step-000000002.ckpt"
    state.parent.mkdir(parents=True)
    state.write_text("12345")
    return tmp_path


def states(bench: Bench, root: Path) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(bench("store", "status", "--results", str(root), "--json").out)
    return found


def test_a_run_in_progress_is_said_to_be(bench: Bench, root: Path) -> None:
    (state,) = root.rglob("step-000000002.ckpt")
    with locked(state.parent.parent):
        (run,) = [run for run in states(bench, root) if run["key"] == "unfinished"]
        assert run["status"] == "running"
        assert run["error"].startswith("it is locked by process ")


def test_status_tells_what_is_complete_missing_and_failed(bench: Bench, root: Path) -> None:
    """The run of the fixture has predictions and scores; the other one has begun."""
    unscored = trained(root, "face")
    unscored.write_rows("aa", {"kind": "generation"}, [], {})
    trained(root, "trime")
    content = {"key": "0a", "status": "failed", "config": config("lead", 0), "error": "KeyError: 'x'"}
    CellFolder(root / "logicnlg" / "lead" / "0a").write_record("failed.json", content, {})
    found = states(bench, root)
    told = {run["method"]: (run["status"], run["error"]) for run in found if run["key"] != "unfinished"}
    assert told["mle"] == ("ok", "")
    assert told["face"] == ("incomplete", "its predictions have no scores; bench score makes them")
    assert told["trime"] == ("incomplete", "it has no predictions; bench run makes them")
    assert told["lead"] == ("failed", "KeyError: 'x'")
    assert found[-1]["status"] == "unfinished"
    assert found[-1]["error"] == "its last state is step-000000002"
    text = bench("store", "status", "--results", str(root)).out.splitlines()
    assert text[-1] == "5 runs: 1 failed, 2 incomplete, 1 ok, 1 unfinished"
    assert len(text) == 6
