"""Cleaning: only what is of no use goes, only when asked, and never what somebody uses."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.base.files import signature
from bench.store.cleaning import unneeded
from bench.store.store import CellFolder, Store
from tests.conftest import Ended
from tests.leaderboards.handmade import scored, trained

NOBODY = 2**22 + 1


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A trained cell with everything that can be left behind, and an unfinished one."""
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
    settle(root)
    return root


def with_checkpoint(root: Path, seed: int, bleu: float) -> CellFolder:
    """A cell with scores and a checkpoint."""
    cell = scored(trained(root, seed=seed), {"bleu-3": bleu})
    cell.checkpoint("0" * 64).write_text("weights")
    return cell


def settle(root: Path, seconds: float = 7200) -> None:
    """Make everything old."""
    old = time.time() - seconds
    for path in [*root.rglob("*")]:
        os.utime(path, (old, old))


def names(root: Path, **options: bool) -> list[str]:
    return sorted(file.path.name.partition(".key")[0] for file in unneeded(root, **options))


def test_orphans_are_found_and_nothing_else(root: Path) -> None:
    where = signature().partition("-")[0]
    assert names(root) == sorted([
        f".trained.json.{where}-{NOBODY}.tmp", f"key.{where}-{NOBODY}", "step-000000001.ckpt", "aa.0-of-1.jsonl",
        "model-0000.safetensors", "model-0000.safetensors",
    ])  # fmt: skip
    more = set(names(root, unfinished=True)) - set(names(root))
    assert more == {"step-000000002.ckpt", "bb.0-of-1.jsonl", "cc.0-of-1.jsonl"}


def test_a_cell_that_changed_lately_is_left_alone(root: Path) -> None:
    (state,) = root.rglob("step-000000001.ckpt")
    state.touch()
    assert "step-000000001.ckpt" not in names(root)
    assert "aa.0-of-1.jsonl" not in names(root)


def test_a_cell_whose_record_is_damaged_keeps_everything(root: Path) -> None:
    (record,) = root.rglob("trained.json")
    record.write_text("{")
    settle(root)
    assert "step-000000001.ckpt" not in names(root, unfinished=True)


def test_nothing_goes_without_yes(bench: Callable[..., Ended], root: Path) -> None:
    before = sorted(root.rglob("*"))
    ended = bench("clean", "--results", str(root), "--checkpoints", "none", "--unfinished")
    assert ended.code == 0
    assert "run it again with --yes" in ended.out
    assert sorted(root.rglob("*")) == before


def test_with_yes_it_goes_and_the_bytes_were_right(bench: Callable[..., Ended], root: Path) -> None:
    words = ("clean", "--results", str(root), "--json")
    shown = json.loads(bench(*words).out)
    assert sum(file["bytes"] for file in shown) == 5 * len(shown) == 30
    assert json.loads(bench(*words, "--yes").out) == shown
    assert names(root) == []
    cell = next(iter(Store(root).cells()))
    assert cell.checkpoint("0" * 64).exists()
    assert not (cell.path / "state").exists()
    assert (cell.path / "partial" / "bb.0-of-1.jsonl").exists()
    assert "nothing to clean" in bench("clean", "--results", str(root)).out


@pytest.mark.parametrize(("choice", "left"), [("keep", [0, 1, 2]), ("best", [1]), ("none", [])])
def test_checkpoints(bench: Callable[..., Ended], tmp_path: Path, choice: str, left: list[int]) -> None:
    cells = [with_checkpoint(tmp_path, seed, bleu) for seed, bleu in enumerate([30.0, 32.0, 31.0])]
    settle(tmp_path)
    records = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    assert bench("clean", "--results", str(tmp_path), "--checkpoints", choice, "--yes").code == 0
    assert [seed for seed, cell in enumerate(cells) if cell.checkpoint("0" * 64).exists()] == left
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.json")} == records


def test_the_best_is_not_told_without_its_scores(bench: Callable[..., Ended], tmp_path: Path) -> None:
    cells = [with_checkpoint(tmp_path, seed, 30.0 + seed) for seed in range(2)]
    next(cells[0].path.glob("scores-*")).write_text("{")
    settle(tmp_path)
    assert bench("clean", "--results", str(tmp_path), "--checkpoints", "best", "--yes").code == 1
    assert cells[0].checkpoint("0" * 64).exists()


def test_cells_of_older_code_go_whole_and_count_once(bench: Callable[..., Ended], tmp_path: Path) -> None:
    for version in (1, 2):
        cell = scored(trained(tmp_path, code={"class": "mle", "version": version}), {"bleu-3": 30.0})
        cell.checkpoint("0" * 64).write_text("weights")
    settle(tmp_path)
    words = ("clean", "--results", str(tmp_path), "--superseded", "--checkpoints", "none", "--json", "--yes")
    removed = json.loads(bench(*words).out)
    kept = cell.path
    (folder, checkpoint) = sorted(removed, key=lambda file: "checkpoint" in file["why"])
    assert folder["why"] == "a cell of older code, version 1 where version 2 stands too"
    assert Path(checkpoint["path"]).parent == kept
    assert [cell.path for cell in Store(tmp_path).cells()] == [kept]
