"""Completion status: what was kept is gone on from; its numbers stand without weights and rows, and no others."""

import json
import shutil
from pathlib import Path

import pytest

from bench.store.export import export
from bench.store.joining import join
from bench.store.store import CellFolder, Store
from tests.conftest import Bench

TINY = ("--task", "ambiguous_template", "--preset", "small", "--limit", "12", "--set", "trainer.steps=3",
        "backbone.width=16", "backbone.layers=1", "evaluation.rows=4")  # fmt: skip
SEARCH = (*TINY, "--seeds", "0", "--trials", "2", "steps=1/3")


def held(root: Path) -> dict[str, bytes]:
    """What is stored; `config.yaml` repeats the last run."""
    files = [path for path in root.rglob("*") if path.is_file() and path.suffix in (".json", ".safetensors", ".gz")]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def kept(bench: Bench, tmp_path: Path) -> Path:
    """A results folder that was joined from the snapshot of a search for TRIME's rate."""
    assert bench("run", *SEARCH, "--method", "trime", "--results", str(tmp_path / "a")).code == 0
    export(tmp_path / "a", tmp_path / "kept")
    assert not join(tmp_path / "kept", tmp_path / "b").conflicts
    return tmp_path / "b"


def picked(root: Path) -> CellFolder:
    """The cell that a search has picked."""
    (cell,) = (cell for cell in Store(root).cells() if cell.contents("grid-*.json"))
    return cell


def test_kept_numbers_stand_and_a_search_picks_the_same(bench: Bench, kept: Path) -> None:
    before = held(kept)
    ended = bench("run", *SEARCH, "--method", "trime", "--results", str(kept), "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert (found["ok"], len(found["stored"])) == ([], 3)  # two trials and the picked cell
    assert held(kept) == before
    assert all("model-" not in name and "rows-" not in name for name in before)
    assert bench("store", "verify", str(kept)).code == 0
    assert bench("report", "--results", str(kept)).out == bench("report", "--results", f"{kept.parent}/kept").out


def test_other_methods_come_beside_them(bench: Bench, kept: Path) -> None:
    ended = bench("run", *SEARCH, "--method", "trime,histalign", "--results", str(kept), "--json", "--jobs", "2")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert {label.split(" · ")[1] for label in found["ok"]} == {"histalign"}
    assert len(found["stored"]) == 3
    assert bench("store", "verify", str(kept)).code == 0


def test_a_number_that_is_not_there_needs_the_training_anew(bench: Bench, kept: Path) -> None:
    cell = picked(kept)
    scores = next(name for name in cell.names("scores-*") if "perplexity" in (cell.path / name).read_text())
    (cell.path / scores).unlink()
    ended = bench("run", *SEARCH, "--method", "trime", "--results", str(kept))
    assert ended.code == 1
    assert f"remove '{cell.path}' and run the same command again to train it again" in ended.err


def test_a_cell_is_made_anew_with_what_its_search_picked(bench: Bench, kept: Path) -> None:
    """Its folder had the record of the search; what was tried still has its perplexities."""
    cell = picked(kept)
    (before,) = cell.contents("grid-*.json")
    shutil.rmtree(cell.path)
    ended = bench("run", *SEARCH, "--method", "trime", "--results", str(kept), "--json")
    assert ended.code == 0, ended.err
    assert len(json.loads(ended.out)["ok"]) == 1
    again = picked(kept)
    (after,) = again.contents("grid-*.json")
    assert again.path == cell.path
    assert [tried["nll"] for tried in after["tried"]] == pytest.approx([tried["nll"] for tried in before["tried"]])
