"""XSum: rows of every form, and training rows that belong to the test split."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.errors import DataError
from bench.tasks.xsum import OFFICIAL, XSum, official_splits
from tests.tasks.news_files import contents, loaded, write


def row(name: str | None, document: str = "") -> dict[str, Any]:
    return {"id": name, "document": document or f"document {name}", "summary": f"summary {name}"}


ROWS = {"train": [row("1"), row("2")], "valid": [row("3")], "test": [row("4"), row("5")]}
IDS = {"train": ["1", "2"], "validation": ["3"], "test": ["4", "5"]}


def folder(place: Path, form: str = "jsonl", ids: Any = IDS, **rows: Any) -> Path:
    for split, found in {**ROWS, **rows}.items():
        write(place / f"{'validation' if form == 'parquet' and split == 'valid' else split}.{form}", found)
    if ids is not None:
        (place / OFFICIAL).write_text(json.dumps(ids))
    return place


@pytest.mark.parametrize("form", ["jsonl", "jsonl.gz", "parquet"])
def test_every_form_gives_the_same_rows(tmp_path: Path, form: str) -> None:
    task = loaded(XSum, folder(tmp_path, form))
    assert contents(task, "train") == [("1", "document 1", "summary 1"), ("2", "document 2", "summary 2")]
    assert [e.references for e in task.split("valid").examples] == [("summary 3",)]
    assert [task.split(split).status for split in ("train", "valid", "test")] == ["subset"] * 3


def test_rows_of_another_official_split_make_a_proxy(tmp_path: Path) -> None:
    ids = {"train": ["1"], "validation": ["9"], "test": ["2", "4"]}
    task = loaded(XSum, folder(tmp_path, ids=ids))
    train, test = task.split("train"), task.split("test")
    assert (train.status, test.status) == ("proxy", "proxy")
    assert train.origin.endswith("train.jsonl; 1 of 2 rows are official test rows")
    assert test.origin.endswith("1 of 2 rows have an id that is in no official split")


def test_training_rows_that_are_test_rows_are_counted_with_and_without_the_list(tmp_path: Path) -> None:
    train = [row("1"), row("4"), row("6", "document 5")]
    split = loaded(XSum, folder(tmp_path, ids=None, train=train)).split("train")
    assert (split.status, split.origin.split("; ")[1]) == ("proxy", "2 of 3 rows are rows of the test file too")


def test_a_split_of_the_official_size_is_official(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(XSum, "info", replace(XSum.info, sizes={"train": 2, "valid": 1, "test": 3}))
    task = loaded(XSum, folder(tmp_path, train=[row("1"), row("2", "document 4")]))
    assert [task.split(split).status for split in ("train", "valid", "test")] == ["official", "official", "subset"]


def test_a_row_without_an_id_keeps_its_own_and_a_document_may_be_empty(tmp_path: Path) -> None:
    train = [row(None, "words"), {**row("2"), "document": ""}]
    task = loaded(XSum, folder(tmp_path, train=train))
    ids = [name for name, _, _ in contents(task, "train")]
    assert ids[0].startswith("content-")
    assert task.split("train").examples[1].source == ""
    assert task.split("train").origin.endswith("1 of 2 rows have no id")


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"train": ["1"], "test": []}', b'{"train": "1", "validation": [], "test": []}', b"\x1f\x8bxx",
     b"\xff\xfe", b"[" * 99_999],
)  # fmt: skip
def test_a_list_of_ids_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / OFFICIAL).write_bytes(content)
    with pytest.raises(DataError, match=rf"{OFFICIAL}: .*get it again") as found:
        official_splits(tmp_path)
    assert "\n" not in str(found.value)
