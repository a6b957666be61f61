"""`bench data`: where rows come from, what they are, what differs; offline it says what to do, at once."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.tasks import TASKS
from tests.conftest import Ended

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


def test_list_says_where_rows_would_come_from(bench: Callable[..., Ended], folder: Path) -> None:
    ended = bench("data", "list", "--data-dir", str(folder), "--json")
    found = {row["task"]: row for row in json.loads(ended.out)}
    assert list(found) == list(TASKS)
    assert found["text"]["from"] == f"--data-dir: {folder / 'text'}"
    assert found["logicnlg"]["from"].startswith("built-in sample")
    assert found["logicnlg"]["official"] == {"train": 28450, "valid": 4260, "test": 4305}
    assert "28,450 / 4,260 / 4,305" in bench("data", "list").out


def test_stats_count_rows_words_repeats_and_overlap(bench: Callable[..., Ended], folder: Path) -> None:
    path = folder / "text" / "test.jsonl.gz"
    path.write_bytes(gzip.compress((LINE.format("train", 0) + LINE.format("a", 0) * 2).encode()))
    ended = bench("data", "stats", "text", "--data-dir", str(folder), "--json", *OPTIONS)
    train, valid, test = json.loads(ended.out)
    assert (train["rows"], valid["rows"], test["rows"]) == (9, 3, 3)
    assert (test["repeated"], test["in_train"], valid["in_train"], train["in_train"]) == (1, 1, 0, None)
    assert (train["words"], train["target"]) == (9 * 16, {"mean": 16, "median": 16, "longest": 16})
    assert train["source"] is None
    assert train["status"] == "own"


def test_prepare_remembers_and_verify_tells_what_has_changed(bench: Callable[..., Ended], folder: Path) -> None:
    asked = ("text", "--data-dir", str(folder), *OPTIONS)
    ended = bench("data", "prepare", *asked)
    assert ended.code == 0
    assert "train own      9 rows" in ended.out
    assert json.loads(bench("data", "verify", *asked, "--json").out) == {"text": {"train": [], "valid": [], "test": []}}
    (folder / "text" / "test.jsonl.gz").write_bytes(gzip.compress((LINE.format("b", 1) * 5).encode()))
    found = json.loads(bench("data", "verify", *asked, "--json").out)["text"]
    assert found["train"] == []
    assert found["test"][0] == "has changed since it was prepared: rows was 4, is 5"


def test_verify_names_rows_that_stand_there_twice(bench: Callable[..., Ended], tmp_path: Path) -> None:
    (tmp_path / "cnndm").mkdir()
    (tmp_path / "writingprompts").mkdir()
    for split in ("train", "valid", "test"):
        row = json.dumps({"article": f"An article of {split}.", "highlights": "A line."}) + "\n"
        (tmp_path / "cnndm" / f"{split}.jsonl").write_text(row * 2)
        (tmp_path / "writingprompts" / f"{split}.wp_source").write_text("[ WP ] Run .\n" * 3)
        (tmp_path / "writingprompts" / f"{split}.wp_target").write_text("word " * 60 + "\n" + ("word " * 70 + "\n") * 2)
    ended = bench("data", "verify", "cnndm", "writingprompts", "--data-dir", str(tmp_path), "--json")
    found = json.loads(ended.out)
    assert found["writingprompts"]["test"][1:] == ["has 1 rows that another row has word for word, e.g. 'test/2'"]
    assert found["cnndm"]["test"][1].startswith("has 1 rows that another row has word for word, e.g. 'content-")


@pytest.mark.parametrize("task", ["xsum", "cnndm", "gigaword", "writingprompts", "wikibio"])
def test_an_empty_file_is_refused_and_not_a_split_of_no_rows(
    task: str, bench: Callable[..., Ended], tmp_path: Path
) -> None:
    (tmp_path / task).mkdir()
    (tmp_path / task / "test.jsonl").write_text("")
    ended = bench("data", "verify", task, "--data-dir", str(tmp_path))
    assert ended.code == 3
    assert "found no" in ended.err
    assert str(tmp_path / task) in ended.err
    assert len(ended.complaints) == 1


def test_verify_says_how_many_rows_differ_from_the_published(bench: Callable[..., Ended]) -> None:
    found = json.loads(bench("data", "verify", "logicnlg", "--json").out)["logicnlg"]
    assert found["train"] == ["has 300 rows, published are 28,450 (-28,150)"]


def test_prepare_without_data_says_where_to_get_it_at_once(bench: Callable[..., Ended]) -> None:
    started = time.monotonic()
    ended = bench("data", "prepare", "logicnlg")
    assert time.monotonic() - started < 5
    assert ended.code == 3
    assert "get it from https://github.com/wenhuchen/LogicNLG and put it into a folder 'logicnlg'" in ended.err
    assert len(ended.complaints) == 1


def test_a_broken_file_is_named(bench: Callable[..., Ended], folder: Path) -> None:
    (folder / "text" / "train.jsonl.gz").write_bytes(gzip.compress(b'{"text": 3}\n' + LINE.format("x", 0).encode()))
    asked = ("data", "stats", "text", "--data-dir", str(folder), *OPTIONS)
    ended = bench(*asked)
    assert ended.code == 3
    assert "train.jsonl.gz, line 1: expected text in the field 'text', found int 3" in ended.err
    (train, *_) = json.loads(bench(*asked, "--on-bad-row", "skip", "--json").out)
    assert (train["rows"], train["skipped"]) == (1, 1)


def test_show_prints_a_row_as_it_is_read(bench: Callable[..., Ended]) -> None:
    ended = bench("data", "show", "logicnlg", "--split", "test", "--json")
    row = json.loads(ended.out)
    assert (row["status"], row["split"]) == ("sample", "test")
    assert row["source"].startswith("<table> <caption>")
    assert row["target"] in row["references"]
    assert bench("data", "show", "logicnlg", "--row", row["id"], "--split", "test").out.count(row["target"]) >= 1
    assert "has no row 'nothing'" in bench("data", "show", "logicnlg", "--row", "nothing").err


def test_an_archive_is_unpacked_into_the_cache_and_prepared(
    bench: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    with tarfile.open(tmp_path / "writingPrompts.tar.gz", "w:gz") as archive:
        for split in ("train", "valid", "test"):
            for kind, text in (("source", "[ WP ] Run .\n"), ("target", "He ran . " * 30 + "\n")):
                info = tarfile.TarInfo(f"writingPrompts/{split}.wp_{kind}")
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text.encode()))
    asked = ("data", "prepare", "writingprompts", "--archive", str(tmp_path / "writingPrompts.tar.gz"))
    ended = bench(*asked)
    assert ended.code == 0, ended.err
    assert "test  subset   1 rows" in ended.out
    assert (tmp_path / "cache" / "writingprompts" / "train.wp_source").is_file()
    assert bench(*asked).code == 2
    assert "is there already" in bench(*asked).err


def test_a_hostile_archive_leaves_nothing(
    bench: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr("../outside", "x")
    ended = bench("data", "prepare", "wikibio", "--archive", str(tmp_path / "bad.zip"))
    assert (ended.code, len(ended.complaints)) == (3, 1)
    assert not list(tmp_path.rglob("outside"))
    assert not (tmp_path / "cache" / "wikibio").exists()
