"""Validation text is in the key of what it decides, and is never what such a cell is evaluated on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.cells.record import about
from tests.bench import logicnlg_folder
from tests.bench.cells.plan.planned import TABLES, cell, keys, plan

CHOOSING = ("mle.cache", "mle.knn", "mle.penalty")


def folders(tmp_path: Path) -> tuple[str, str]:
    """Two data folders that differ in their validation split alone."""
    one, two = (logicnlg_folder.write(tmp_path / name) for name in ("one", "two"))
    file = two / "logicnlg" / "val_lm.json"
    file.write_text(file.read_text().replace("12 points", "12 goals"))
    return str(one), str(two)


def key_of(method: str, folder: str, *sets: str) -> str:
    return plan(task=TABLES, method=method, data_dir=folder, sets=sets).cells[-1].key


@pytest.mark.parametrize("method", CHOOSING)
def test_it_is_in_the_key_of_what_is_chosen_after_training(method: str, tmp_path: Path) -> None:
    one, two = folders(tmp_path)
    assert key_of(method, one) != key_of(method, two)
    assert key_of("mle", one) == key_of("mle", two)


def test_it_is_in_the_key_of_a_step_that_it_selects(tmp_path: Path) -> None:
    one, two = folders(tmp_path)
    selected = ("trainer.validate=1", "trainer.select=loss")
    assert key_of("mle", one, *selected) != key_of("mle", two, *selected)
    assert key_of("mle", one, selected[0]) == key_of("mle", two, selected[0])


def test_a_record_says_what_it_was(tmp_path: Path) -> None:
    one, _ = folders(tmp_path)
    chosen = plan(task=TABLES, method="mle.cache", data_dir=one).cells[-1]
    assert list(about(chosen)["data"]) == ["train", "test", "valid"]
    assert about(chosen)["data"]["valid"]["sha256"] == chosen.task.manifest("valid").sha256
    assert list(about(cell(task=TABLES, data_dir=one))["data"]) == ["train", "test"]


@pytest.mark.parametrize("method", CHOOSING)
def test_nothing_is_chosen_on_the_rows_that_are_evaluated(method: str, sample_data: None) -> None:
    found = plan(task=TABLES, method=method, sets=("evaluation.split=valid",))
    assert not found.cells
    assert "evaluation.split=valid would evaluate it on; evaluate on test" in found.skips[0].reason
    assert keys("evaluation.split=valid", task=TABLES)


def test_a_split_without_rows_is_refused_in_words(tmp_path: Path) -> None:
    one, _ = folders(tmp_path)
    (Path(one) / "logicnlg" / "val_lm.json").write_text(json.dumps({}))
    found = plan(task=TABLES, method="mle.cache", data_dir=one)
    assert not found.cells
    assert found.skips[0].reason.startswith("chooses on the validation split, which ")
    assert plan(task=TABLES, method="mle", data_dir=one).cells
