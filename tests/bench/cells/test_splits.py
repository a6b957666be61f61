"""`bench list --data`: where rows are, what they are, what differs; offline it says what to do, at once."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from bench.tasks.fetch.hub_copies import HUB, HubCopy
from tests.conftest import Bench

LINE = '{{"text": "{} went up the hill to fetch a pail of water and came down again {}"}}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with a text in three splits."""
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "data" / "text").mkdir(parents=True)
    for split, n in (("train", 9), ("valid", 3), ("test", 4)):
        lines = "".join(LINE.format(split, i) for i in range(n))
        (tmp_path / "data" / "text" / f"{split}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    return tmp_path / "data"


OPTIONS = ("--set", "task.words=20", "task.prompt_words=4")


def data_of(bench: Bench, task: str, *words: str) -> dict[str, Any]:
    ended = bench("list", "--data", task, "--json", *words)
    assert ended.code == 0, ended.err
    found: dict[str, Any] = json.loads(ended.out)[task]
    return found


def test_one_task_says_status_rows_and_a_row(bench: Bench, folder: Path) -> None:
    found = data_of(bench, "text", "--data-dir", str(folder), *OPTIONS)
    splits = found["splits"]
    assert {name: (split["status"], split["rows"]) for name, split in splits.items()} == {
        "train": ("own", 9), "valid": ("own", 3), "test": ("own", 4)}  # fmt: skip
    assert all(split["differences"] == [] for split in splits.values())
    assert (found["row"]["split"], found["get"]) == ("test", "")
    assert "test went up the hill" in found["row"]["target"]
    shown = bench("list", "--data", "text", "--data-dir", str(folder), *OPTIONS).out
    assert "  train own      9 rows, " in shown
    assert "target test went up the hill" in shown


def test_a_split_that_is_not_there_is_missing(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "cnndm").mkdir()
    row = {"article": "A text of some words.", "highlights": "A text."}
    (tmp_path / "cnndm" / "test.jsonl").write_text(json.dumps(row) + "\n")
    splits = data_of(bench, "cnndm", "--data-dir", str(tmp_path))["splits"]
    assert {name: split["status"] for name, split in splits.items()} == {
        "train": "missing", "valid": "missing", "test": "subset"}  # fmt: skip
    assert "expected valid.jsonl" in splits["valid"]["differences"][0]


@pytest.mark.parametrize("task", ["xsum", "cnndm", "gigaword", "writingprompts", "wikibio"])
def test_an_empty_file_is_refused_and_not_a_split_of_no_rows(task: str, bench: Bench, tmp_path: Path) -> None:
    (tmp_path / task).mkdir()
    (tmp_path / task / "test.jsonl").write_text("")
    ended = bench("list", "--data", task, "--data-dir", str(tmp_path))
    assert ended.code == 3
    assert "found no" in ended.err
    assert str(tmp_path / task) in ended.err
    assert len(ended.complaints) == 1


def test_a_sample_says_how_it_differs_and_how_to_get_the_rows(bench: Bench) -> None:
    found = data_of(bench, "logicnlg")
    assert found["splits"]["train"]["differences"] == ["has 300 rows, published are 28,450 (-28,150)"]
    assert found["get"].startswith(
        "bench list --data logicnlg --fetch downloads kasnerz/logicnlg, and so does bench run"
    )
    assert found["get"] in bench("list", "--data", "logicnlg").out


def test_other_rows_of_the_published_number_are_told(
    bench: Bench, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.tasks.core.manifest.known_rows", lambda task, split: ["f" * 64])
    splits = data_of(bench, "text", "--data-dir", str(folder), *OPTIONS)["splits"]
    assert splits["test"]["differences"][0].startswith("has as many rows as published, but others: their SHA-256 is ")


def test_fetching_without_the_hub_says_at_once_where_to_get_the_rows(bench: Bench) -> None:
    ended = bench("list", "--data", "logicnlg", "--fetch")
    assert ended.code == 3
    assert "get it from https://github.com/wenhuchen/LogicNLG and put its files into a folder 'logicnlg'" in ended.err
    assert len(ended.complaints) == 1


def test_fetching_brings_the_rows_into_the_cache(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the hub gives is tested in tests/tasks/fetch; here it is a file of two rows."""

    def fetch(copy: HubCopy, folder: Path) -> str:
        assert copy is HUB["xsum"]
        folder.mkdir()
        for split in ("train", "valid", "test"):
            row = {"document": f"A text of {split}.", "summary": split, "id": split}
            (folder / f"{split}.jsonl").write_text(json.dumps(row) + "\n")
        return "hub: somewhere"

    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("bench.tasks.fetch.sources.hub_reachable", lambda: True)
    monkeypatch.setattr("bench.tasks.fetch.hub.fetch", fetch)
    assert data_of(bench, "xsum")["from"].startswith("built-in sample")
    assert data_of(bench, "xsum", "--fetch")["from"] == "hub: somewhere"
    assert data_of(bench, "xsum")["from"] == f"cache: {tmp_path / 'cache' / 'xsum'}"


def test_a_broken_file_is_named(bench: Bench, folder: Path) -> None:
    (folder / "text" / "train.jsonl.gz").write_bytes(gzip.compress(b'{"text": 3}\n' + LINE.format("x", 0).encode()))
    ended = bench("list", "--data", "text", "--data-dir", str(folder), *OPTIONS)
    assert ended.code == 3
    assert "train.jsonl.gz, line 1: expected text in the field 'text', found int 3" in ended.err
