"""Deleting: exactly the unused files go, and nothing that another run needs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.base.files import signature
from bench.launch.lock import locked
from bench.store.deleting import unused
from bench.store.export import export
from bench.store.store import CellFolder, Store
from tests.conftest import Ended
from tests.leaderboards.handmade import scored, trained

NOBODY = 2**22 + 1


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A trained run with everything that can be left behind, and an unfinished one."""
    root = tmp_path / "results"
    cell = with_checkpoint(root, 0, 30.0)
    cell.write_rows("aa", {"kind": "generation"}, [], {})
    where = signature().partition("-")[0]
    unfinished = root / "logicnlg" / "mle" / "unfinished"
    for path in (cell.path / f".trained.json.{where}-{NOBODY}.tmp", cell.path / "state" / "step-000000001.ckpt",
                 cell.path / "partial" / "aa.0-of-1.jsonl", cell.path / "partial" / "bb.0-of-1.jsonl",
                 cell.path / "model-0000.safetensors", root / ".work" / f"key.{where}-{NOBODY}" / "log",
                 root / ".work" / f"key.{where}-{os.getppid()}" / "log", cell.path / f".x.{where}-{os.getppid()}.tmp",
                 unfinished / "state" / "step-000000002.ckpt", unfinished / "partial" / "cc.0-of-1.jsonl",
                 unfinished / "model-0000.safetensors"):  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("12345")
    return root


def with_checkpoint(root: Path, seed: int, bleu: float) -> CellFolder:
    """A run with scores and a checkpoint."""
    cell = scored(trained(root, seed=seed), {"bleu-3": bleu})
    cell.checkpoint("0" * 64).write_text("weights")
    return cell


def names(root: Path) -> list[str]:
    return sorted(file.path.name for file in unused(root, lambda folder: False))


def test_unused_files_are_found_and_no_others(root: Path) -> None:
    where = signature().partition("-")[0]
    assert names(root) == sorted([
        f".trained.json.{where}-{NOBODY}.tmp", f"key.{where}-{NOBODY}", "step-000000001.ckpt", "aa.0-of-1.jsonl",
        "model-0000.safetensors", "model-0000.safetensors",
    ])  # fmt: skip


def test_a_run_in_progress_is_left_alone(bench: Callable[..., Ended], root: Path) -> None:
    (cell,) = Store(root).cells()
    words = ("store", "unused", "--results", str(root), "--json")
    alone = len(json.loads(bench(*words).out))
    with locked(cell.path):
        assert len(json.loads(bench(*words).out)) == alone - 3
    (cell.path / ".lock").write_text("left by a process that was killed")
    assert len(json.loads(bench(*words).out)) == alone


def test_a_run_whose_record_is_damaged_keeps_everything(root: Path) -> None:
    (record,) = root.rglob("trained.json")
    record.write_text("{")
    assert "step-000000001.ckpt" not in names(root)


def test_unused_files_go_only_when_asked(bench: Callable[..., Ended], root: Path) -> None:
    words = ("store", "unused", "--results", str(root))
    before = sorted(root.rglob("*"))
    assert "--delete would delete 30 B in 6 files and folders" in bench(*words).out
    assert sorted(root.rglob("*")) == before
    shown = json.loads(bench(*words, "--json").out)
    assert sum(file["bytes"] for file in shown) == 5 * len(shown) == 30
    assert json.loads(bench(*words, "--json", "--delete").out) == shown
    assert names(root) == []
    cell = next(iter(Store(root).cells()))
    assert cell.checkpoint("0" * 64).exists()
    assert not (cell.path / "state").exists()
    assert (cell.path / "partial" / "bb.0-of-1.jsonl").exists()


def test_a_snapshot_is_only_read(bench: Callable[..., Ended], tmp_path: Path) -> None:
    trained(tmp_path / "results")
    export(tmp_path / "results", tmp_path / "kept")
    assert bench("store", "unused", "--delete", "--results", str(tmp_path / "kept")).code == 2


# Status -----------------------------------------------------------------------------------------------------------


def states(bench: Callable[..., Ended], root: Path) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(bench("store", "status", "--results", str(root), "--json").out)
    return found


def test_a_run_in_progress_is_said_to_be(bench: Callable[..., Ended], root: Path) -> None:
    (state,) = root.rglob("step-000000002.ckpt")
    with locked(state.parent.parent):
        (run,) = [run for run in states(bench, root) if run["key"] == "unfinished"]
        assert run["status"] == "running"
        assert run["error"].startswith("it is locked by process ")


def test_status_tells_what_is_complete_missing_and_failed(bench: Callable[..., Ended], root: Path) -> None:
    """The run of the fixture has predictions and scores; the other one has begun."""
    unscored = trained(root, "face")
    unscored.write_rows("aa", {"kind": "generation"}, [], {})
    trained(root, "trime")
    config = {
        "task": "logicnlg",
        "method": "lead",
        "backbone": "",
        "seed": 0,
        "preset": "small",
        "trainer": {"limit": None},
    }
    failed = CellFolder(root / "logicnlg" / "lead" / "0a")
    failed.write_failed({"key": "0a", "status": "failed", "config": config, "error": "KeyError: 'x'"}, {})
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
