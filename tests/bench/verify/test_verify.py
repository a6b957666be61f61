"""`bench store verify`: an honest store is right; a flipped value, a changed setting and a leaked row are found."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.base.keys import canonical, sha256
from bench.cells.splits import opened
from bench.config.config import Override
from bench.store.store import Store
from bench.tasks.pairs import Pairs
from bench.verify import leaks
from tests.conftest import Ended

Content = dict[str, Any]
WORDS = (
    "river",
    "stone",
    "cloud",
    "garden",
    "winter",
    "music",
    "paper",
    "silver",
    "market",
    "window",
    "engine",
    "forest",
)
ROWS = {"train": 60, "valid": 30, "test": 30}


def edit_record(path: Path, change: Callable[[Content], object]) -> None:
    """Change the content of a JSON record, and its hash with it."""
    record = json.loads(path.read_text(encoding="utf-8"))
    change(record["content"])
    record["sha256"] = sha256(canonical(record["content"]))
    path.write_text(json.dumps(record), encoding="utf-8")


def verified(bench: Callable[..., Ended], *words: str) -> tuple[int, dict[str, Any]]:
    ended = bench("store", "verify", *words, "--json")
    found: dict[str, Any] = json.loads(ended.out)
    return ended.code, found


def test_an_honest_store_is_right(bench: Callable[..., Ended], tiny_store: Path) -> None:
    code, found = verified(bench, str(tiny_store))
    assert (code, found["differences"], found["notes"], found["not_checked"]) == (0, [], [], [])
    assert (found["equal"] > 10, found["keys"]) == (True, 1)


def test_a_flipped_value_is_found(bench: Callable[..., Ended], store_copy: Path) -> None:
    path = next(path for path in store_copy.rglob("scores-*") if "ppl/token" in path.read_text())
    edit_record(path, lambda content: content["values"][0].update(value=1.5))
    code, found = verified(bench, str(store_copy))
    assert code == 1
    (line,) = found["differences"]
    assert "value stored 1.5, its statistics give" in line


def test_predictions_that_scores_were_not_computed_from_are_found(
    bench: Callable[..., Ended], store_copy: Path
) -> None:
    path = next(store_copy.rglob("scores-*"))
    edit_record(path, lambda content: content.update(rows_sha256="0" * 64))
    code, found = verified(bench, str(store_copy))
    assert (code, len(found["differences"])) == (1, 1)
    assert "it was computed from other predictions than those stored" in found["differences"][0]


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["config"]["trainer"].update(lr=0.1),
        lambda content: content["config"].update(seed=7),
        lambda content: content["data"]["train"].update(status="official"),
        lambda content: content["method"].update(version=99),
        lambda content: content["config"]["backbone_options"].update(width=32),
    ],
)
def test_a_changed_setting_has_another_key(
    bench: Callable[..., Ended], store_copy: Path, change: Callable[[Content], object]
) -> None:
    (path,) = store_copy.rglob("trained.json")
    edit_record(path, change)
    code, found = verified(bench, str(store_copy))
    assert code == 1
    assert found["keys"] == 0
    assert any(f"but it is stored under {path.parent.name}" in line for line in found["differences"])


def test_changed_settings_of_predictions_have_another_key(bench: Callable[..., Ended], store_copy: Path) -> None:
    """The header is that of the scores: predictions may be gone."""
    (cell,) = Store(store_copy).cells()
    name = cell.names("scores-*")[0]
    rows = (cell.scores(name[7:-5]) or {})["rows"]
    cell.rows_path(rows).unlink()
    edit_record(cell.path / name, lambda content: content["of"].update(batch_size=999))
    _, found = verified(bench, str(store_copy))
    assert any(f"the settings of the predictions {rows} have the key" in line for line in found["differences"])


def test_a_run_in_another_folder_and_a_damaged_checkpoint_are_found(
    bench: Callable[..., Ended], store_copy: Path
) -> None:
    (cell,) = Store(store_copy).cells()
    other = cell.path.with_name("0" * 16)
    shutil.copytree(cell.path, other)
    next(other.glob("model-*")).write_bytes(b"other weights")
    code, found = verified(bench, str(store_copy))
    assert code == 1
    moved, weights = sorted(found["differences"], key=lambda line: "checkpoint" in line or "hash" in line)
    assert f"but it lies in ambiguous_template/mle/{other.name}" in moved
    assert "it does not have the hash it was stored with" in weights


# Leaks ------------------------------------------------------------------------------------------------------------


def sentence(number: int) -> str:
    """Nine different words that no other number below 500 has all of."""
    return " ".join(f"{WORDS[(number // 7**place + place) % 12]}{number * 31 % 97}{place}" for place in range(9))


def rows_of(first: int, n: int) -> list[tuple[str, str]]:
    return [(sentence(number), f"answer {number} is {number % 9} here") for number in range(first, first + n)]


def table(folder: Path, splits: dict[str, list[tuple[str, str]]]) -> Pairs:
    """A task of the user's own with these rows."""
    folder.mkdir(parents=True)
    for name, rows in splits.items():
        lines = [json.dumps({"source": source, "target": target}) for source, target in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    task = opened(Pairs, [Override(None, "task", "path", str(folder))], None, fetch=False)
    assert isinstance(task, Pairs)
    return task


@pytest.fixture
def splits() -> dict[str, list[tuple[str, str]]]:
    return {"train": rows_of(0, 60), "valid": rows_of(100, 30), "test": rows_of(200, 30)}


def found_in(folder: Path, splits: dict[str, list[tuple[str, str]]]) -> list[tuple[str, bool]]:
    return [(leak.text, leak.is_certain) for leak in leaks(table(folder, splits), ["test", "valid"])]


def test_honest_splits_have_no_leak(tmp_path: Path, splits: dict[str, list[tuple[str, str]]]) -> None:
    assert found_in(tmp_path / "pairs", splits) == []


def test_test_rows_in_the_training_split_are_found(tmp_path: Path, splits: dict[str, list[tuple[str, str]]]) -> None:
    splits["train"] += [(source.upper(), f" {target} ") for source, target in splits["test"][:6]]
    assert ("pairs, test split: 6 of 30 rows are in the training split, too", True) in found_in(tmp_path / "p", splits)


def test_a_few_of_them_are_a_note(tmp_path: Path, splits: dict[str, list[tuple[str, str]]]) -> None:
    splits["train"] += splits["test"][:2]
    assert found_in(tmp_path / "p", splits) == [
        ("pairs, test split: 2 of 30 rows are in the training split, too", False)
    ]


def test_the_command_looks_for_leaks_where_data_is(bench: Callable[..., Ended], tmp_path: Path) -> None:
    rows = {"train": rows_of(0, 60), "valid": rows_of(100, 30), "test": rows_of(30, 30)}
    table(tmp_path / "pairs", rows)
    data = ("--set", f"task.path={tmp_path / 'pairs'}")
    run = bench("run", "--task", "pairs", "--method", "lead", "--quiet", *data, "--results", str(tmp_path / "results"))
    assert run.code == 0, run.err
    code, found = verified(bench, str(tmp_path / "results"), *data)
    assert code == 1
    assert "pairs, test split: 30 of 30 rows are in the training split, too" in found["differences"]
    (tmp_path / "pairs" / "train.jsonl").write_text(json.dumps({"source": "other", "target": "rows"}) + "\n")
    code, found = verified(bench, str(tmp_path / "results"), *data)
    assert (code, found["differences"]) == (3, [])
    assert "the run was trained on rows" in found["not_checked"][0]
    shutil.rmtree(tmp_path / "pairs")
    code, found = verified(bench, str(tmp_path / "results"), *data)
    assert (code, found["differences"]) == (3, [])
    assert found["not_checked"]
