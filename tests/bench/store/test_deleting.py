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
    assert "nothing is deleted without --delete" in bench(*words).out
    assert sorted(root.rglob("*")) == before
    shown = json.loads(bench(*words, "--json").out)
    assert sum(file["bytes"] for file in shown) == 5 * len(shown) == 30
    assert json.loads(bench(*words, "--json", "--delete").out) == shown
    assert names(root) == []
    cell = next(iter(Store(root).cells()))
    assert cell.checkpoint("0" * 64).exists()
    assert not (cell.path / "state").exists()
    assert (cell.path / "partial" / "bb.0-of-1.jsonl").exists()
    assert "nothing to delete" in bench(*words).out


# Deleting ---------------------------------------------------------------------------------------------------------


def keys(root: Path) -> set[str]:
    return {cell.path.name for cell in Store(root).cells()}


def test_runs_are_deleted_by_name_and_only_with_yes(bench: Callable[..., Ended], tmp_path: Path) -> None:
    for method in ("mle", "face"):
        for seed in range(2):
            scored(trained(tmp_path, method, seed=seed), {"bleu-3": 30.0})
    words = ("store", "delete", "logicnlg/mle", "--results", str(tmp_path))
    ended = bench(*words)
    assert (ended.code, len(keys(tmp_path))) == (0, 4)
    assert "2 files and folders; nothing is deleted without --yes" in ended.out
    assert len(json.loads(bench(*words, "--yes", "--json").out)) == 2
    assert {cell.path.parts[-2] for cell in Store(tmp_path).cells()} == {"face"}
    assert not (tmp_path / "logicnlg" / "mle").exists()
    (one, other) = keys(tmp_path)
    assert (
        bench("store", "delete", str(tmp_path / "logicnlg" / "face" / one), "--results", str(tmp_path), "--yes").code
        == 0
    )
    assert keys(tmp_path) == {other}
    ended = bench("store", "delete", "logicnlg/fase", "--results", str(tmp_path), "--yes")
    assert (ended.code, keys(tmp_path)) == (3, {other})
    assert "no run 'logicnlg/fase'" in ended.err


def test_a_run_that_another_run_needs_is_not_deleted(bench: Callable[..., Ended], tmp_path: Path) -> None:
    def origin(cell: CellFolder) -> dict[str, object]:
        return {"key": cell.path.name, "config": {"trainer": {}}, "method": {}}

    first, alone = (trained(tmp_path, "mle", seed=seed) for seed in range(2))
    parent = trained(tmp_path, "mle", seed=2, start=origin(first))
    child = trained(tmp_path, "face", start=origin(parent))
    words = ("store", "delete", "--results", str(tmp_path), "--yes")
    ended = bench(*words, "logicnlg/mle")
    assert keys(tmp_path) == {cell.path.name for cell in (first, parent, child)}
    assert f"{parent.path} stays: logicnlg/face/{child.path.name} needs it" in ended.out
    assert f"{first.path} stays: logicnlg/mle/{parent.path.name} needs it" in ended.out
    assert bench(*words, "all").code == 0
    assert keys(tmp_path) == set()
    assert not alone.path.exists()


def test_a_run_in_progress_is_not_deleted(bench: Callable[..., Ended], root: Path) -> None:
    (state,) = root.rglob("step-000000002.ckpt")
    words = ("store", "delete", "logicnlg/mle/unfinished", "--results", str(root), "--yes")
    with locked(state.parent.parent):
        assert "unfinished stays: it is locked by process " in bench(*words).out
        (run,) = [run for run in states(bench, root) if run["key"] == "unfinished"]
        assert run["status"] == "running"
        assert run["error"].startswith("it is locked by process ")
    assert state.exists()
    assert bench(*words).code == 0
    assert not state.exists()


def states(bench: Callable[..., Ended], root: Path) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(bench("store", "status", "--results", str(root), "--json").out)
    return found


def test_checkpoints(bench: Callable[..., Ended], tmp_path: Path) -> None:
    cells = [with_checkpoint(tmp_path, seed, 30.0) for seed in range(3)]
    records = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    assert bench("store", "delete", "all", "--results", str(tmp_path), "--checkpoints", "--yes").code == 0
    assert not any(cell.checkpoint("0" * 64).exists() for cell in cells)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.json")} == records


@pytest.mark.parametrize("words", [("unused", "--delete"), ("delete", "all", "--yes")])
def test_a_snapshot_is_only_read(bench: Callable[..., Ended], tmp_path: Path, words: tuple[str, ...]) -> None:
    trained(tmp_path / "results")
    export(tmp_path / "results", tmp_path / "kept")
    assert bench("store", *words, "--results", str(tmp_path / "kept")).code == 2


# Status -----------------------------------------------------------------------------------------------------------


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
