"""Joining: what the other store lacks is copied whole, what differs is named, and nothing is overwritten."""

import json
from pathlib import Path

import pytest

from bench.base.keys import sha256
from bench.metrics.sums import Sums, mean
from bench.store.export import export
from bench.store.joining import join
from bench.store.snapshot import MANIFEST
from bench.store.store import TOKENIZER, CellFolder, Store
from tests.conftest import Bench
from tests.leaderboards.handmade import scored, trained

WEIGHTS = sha256(b"weights")


def filled(root: Path, *seeds: int, bleu: float = 30.0, host: str = "here") -> Path:
    """A store of cells with rows, scores, sums and a checkpoint."""
    for seed in seeds:
        cell = trained(root, seed=seed)
        cell.write_rows("aa", {"kind": "generation"}, [{"id": "x", "bleu": bleu}], {"host": host})
        scored(cell, {"bleu-3": bleu}, items={"bleu-3": Sums(mean(1), [[bleu, 1], [1, 1], [2, 1]])})
        content = cell.trained() or {}
        (cell.path / "trained.json").unlink()
        cell.checkpoint(WEIGHTS).write_text("weights")
        cell.write_trained({**content, "model": {"checkpoint_sha256": WEIGHTS}}, {"host": host})
    return root


def held(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def stores(tmp_path: Path) -> tuple[Path, Path]:
    return filled(tmp_path / "a", 0, 1), filled(tmp_path / "b", 1, 2)


def test_what_is_lacking_is_copied_byte_for_byte(bench: Bench, stores: tuple[Path, Path]) -> None:
    first, second = stores
    ours, theirs = held(first), held(second)
    ended = bench("store", "join", str(first), str(second))
    assert ended.code == 0, ended.err
    assert held(second) == {**ours, **theirs}
    assert held(first) == ours
    n_new, n_same = len(set(ours) - set(theirs)), len(set(ours) & set(theirs))
    assert ended.out == f"{first}: copied {n_new} files, {n_same} were there, 0 conflicts\n"
    assert join(first, second).copied == []


def test_several_stores_and_a_snapshot_become_one(bench: Bench, stores: tuple[Path, Path], tmp_path: Path) -> None:
    third = filled(tmp_path / "c", 3)
    export(third, tmp_path / "kept")
    ended = bench("store", "join", *map(str, stores), str(tmp_path / "kept"), str(tmp_path / "all"))
    assert (ended.code, len(ended.out.splitlines())) == (0, 3)
    assert {cell.path.name for cell in Store(tmp_path / "all").cells()} == {
        cell.path.name for root in (*stores, third) for cell in Store(root).cells()
    }


def test_other_circumstances_are_no_conflict(tmp_path: Path) -> None:
    first, second = filled(tmp_path / "a", 0, host="here"), filled(tmp_path / "b", 0, host="there")
    before = held(second)
    joined = join(first, second)
    assert (joined.conflicts, joined.copied) == ([], [])
    assert held(second) == before


def test_another_training_is_a_conflict_and_its_rows_stay_out(bench: Bench, tmp_path: Path) -> None:
    first, second = filled(tmp_path / "a", 0), tmp_path / "b"
    (cell,) = Store(first).cells()
    other = CellFolder(second / cell.path.relative_to(first))
    other.write_trained({**(cell.trained() or {}), "status": "diverged"}, {})
    before = held(second)
    ended = bench("store", "join", str(first), str(second))
    assert ended.code == 1
    assert [line.endswith("trained.json: '" + str(second) + "' has another one, which stays")
            for line in ended.complaints] == [True]  # fmt: skip
    assert held(second) == before


def test_nothing_is_copied_of_a_run_with_another_file_of_a_kind_or_a_folder_in_place_of_one(tmp_path: Path) -> None:
    first, second = filled(tmp_path / "a", 0), filled(tmp_path / "b", 0, bleu=31.0)
    for root in (first, second):
        (cell,) = Store(root).cells()
        (cell.path / TOKENIZER).write_text(json.dumps({"of": root.name}))
    folder = cell.path / next(first.rglob("scores-*")).name
    folder.mkdir()
    before = held(second)
    joined = join(first, second)
    assert [name.rpartition("/")[2] for name in joined.conflicts] == [TOKENIZER, "rows-aa.jsonl.gz", folder.name]
    assert (joined.copied, held(second)) == ([], before)


def test_damaged_files_are_not_copied(bench: Bench, stores: tuple[Path, Path]) -> None:
    first, second = stores
    damaged = next(path for path in first.rglob("scores-*") if path.parent.name not in str(held(second)))
    damaged.write_text("{")
    ended = bench("store", "join", str(first), str(second))
    assert ended.code == 1
    assert f"not copied: stored file '{damaged}'" in ended.err
    assert not (second / damaged.relative_to(first)).exists()
    assert Store(second).damaged == {}


def test_a_snapshot_is_not_written_to(bench: Bench, stores: tuple[Path, Path]) -> None:
    first, _ = stores
    export(first, first.with_name("board"))
    assert bench("store", "join", str(first), str(first.with_name("board"))).code == 2


def test_records_and_sums_of_a_snapshot_are_copied(bench: Bench, tmp_path: Path) -> None:
    first, board, second = filled(tmp_path / "a", 0, 1), tmp_path / "kept", tmp_path / "b"
    export(first, board)
    ended = bench("store", "join", str(board), str(second))
    assert ended.code == 0, ended.err
    kept = {name: data for name, data in held(first).items() if "/rows-" not in name and "/model-" not in name}
    found = held(second)
    assert sorted(found) == sorted(kept)
    assert (found, f"copied {len(kept)} files" in ended.out) == (kept, True)
    assert (join(board, second).copied, join(board, second).same) == ([], 6)  # training, scores and sums of two
    again = tmp_path / "again"
    export(second, again)
    assert (again / MANIFEST).read_bytes() == (board / MANIFEST).read_bytes()
