"""Migrations: older records come back in today's schema by small steps, later ones are refused and kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bench
from bench.errors import DamagedError
from bench.store import migrations
from bench.store.migrations import MIGRATIONS, SCHEMA, migrated
from bench.store.store import CellFolder, Store
from tests.bench.example_cells import OF, PROVENANCE, ROWS, SCORES, TRAINED, full_cell


def add_colour(record: dict[str, Any]) -> dict[str, Any]:
    """From 1 to 2."""
    return {**record, "content": {**record["content"], "colour": "red"}}


def rename_colour(record: dict[str, Any]) -> dict[str, Any]:
    """From 2 to 3; of rows, each row too."""
    content = dict(record["content"])
    content["tint"] = content.pop("colour")
    moved = {**record, "content": content}
    if "rows" in record:
        moved["rows"] = [{**row, "kind": record["kind"]} for row in record["rows"]]
    return moved


@pytest.fixture
def cell(tmp_path: Path) -> CellFolder:
    return full_cell(tmp_path)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version of two schemas more."""
    monkeypatch.setattr(migrations, "SCHEMA", 3)
    monkeypatch.setattr(migrations, "MIGRATIONS", {1: add_colour, 2: rename_colour})


def test_every_schema_has_a_way_to_todays() -> None:
    assert sorted(MIGRATIONS) == list(range(1, SCHEMA))


def test_records_of_today_are_left_alone() -> None:
    record = {"kind": "scores", "content": SCORES}
    assert migrated(record, SCHEMA) is record


@pytest.mark.usefixtures("later")
def test_every_kind_of_record_goes_through_the_chain(cell: CellFolder) -> None:
    before = {path: path.read_bytes() for path in cell.path.iterdir()}
    stored = cell.rows("aa")
    assert stored is not None
    assert cell.trained() == {**TRAINED, "tint": "red"}
    assert cell.scores("bb") == {**SCORES, "tint": "red"}
    assert stored.content == {**OF, "tint": "red"}
    assert stored.rows == [{**row, "kind": "rows"} for row in ROWS]
    assert {path: path.read_bytes() for path in cell.path.iterdir()} == before


@pytest.mark.usefixtures("later")
def test_a_record_in_the_middle_takes_the_steps_that_are_left(cell: CellFolder) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.store.store.SCHEMA", 2)
        cell.write_scores("cc", {**SCORES, "colour": "blue"}, PROVENANCE)
    assert cell.scores("cc") == {**SCORES, "tint": "blue"}


@pytest.mark.usefixtures("later")
def test_the_hash_is_of_what_was_stored(cell: CellFolder) -> None:
    path = cell.path / "trained.json"
    path.write_text(path.read_text().replace('"ok"', '"no"'))
    with pytest.raises(DamagedError, match="does not have the hash"):
        cell.trained()


def test_a_gap_in_the_chain_is_told(cell: CellFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "SCHEMA", 3)
    monkeypatch.setattr(migrations, "MIGRATIONS", {2: rename_colour})
    with pytest.raises(DamagedError, match="no way from schema 1 to 2"):
        cell.trained()


def write_later(cell: CellFolder, provenance: dict[str, Any]) -> None:
    """Write files as a version of schema 7 would."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.store.store.SCHEMA", 7)
        cell.write_scores("dd", SCORES, provenance)
        cell.write_rows("dd", OF, ROWS, provenance)


@pytest.mark.parametrize("read", ["scores", "rows"])
def test_a_later_record_names_the_version_to_install_and_is_to_be_kept(cell: CellFolder, read: str) -> None:
    write_later(cell, {"bench": "9.8.7"})
    with pytest.raises(DamagedError, match="schema 7, written by version 9.8.7") as found:
        getattr(cell, read)("dd")
    assert found.value.is_newer
    assert "pip install 'objective-bench>=9.8.7'" in str(found.value)
    assert "keep it" in str(found.value)
    assert "remove" not in str(found.value)


@pytest.mark.parametrize("version", [None, "", "1.0; rm -rf /", "\x1b[31m", 5, ["1"]])
def test_a_version_that_is_none_is_not_repeated(cell: CellFolder, version: object) -> None:
    write_later(cell, {"bench": version} if version is not None else {})
    with pytest.raises(DamagedError, match="install a later version with pip install --upgrade") as found:
        cell.scores("dd")
    assert "rm -rf" not in str(found.value)
    assert "\x1b" not in str(found.value)


def test_a_schema_that_its_own_version_does_not_have_is_damage(cell: CellFolder) -> None:
    write_later(cell, {"bench": bench.__version__})
    with pytest.raises(DamagedError, match="which wrote it, has none above 1") as found:
        cell.scores("dd")
    assert not found.value.is_newer


def test_a_store_with_a_later_record_shows_the_rest(tmp_path: Path, cell: CellFolder) -> None:
    write_later(cell, {"bench": "9.8.7"})
    record = json.loads((cell.path / "scores-dd.json").read_text())
    assert record["schema"] == 7
    assert len(list(Store(tmp_path).cells())) == 1
