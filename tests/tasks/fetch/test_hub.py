"""Files of the hub are whole and as they were listed, or are refused in one line and nothing of them stays."""

import json
import multiprocessing
import os
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.base import network
from bench.errors import DataError, MissingError, StoreError
from bench.tasks.fetch.hub import fetch, make_folder
from bench.tasks.fetch.hub_copies import HubCopy
from bench.tasks.files.records import read_records
from tests.tasks.fake_hub import COMMIT, FakeHub, parquet, serving
from tests.waiting import wait_until

COPY = HubCopy(
    repository="owner/rows",
    revision=COMMIT,
    files={"train": ("data/train-*.parquet",), "test": ("data/test-*.parquet", "elsewhere/*")},
    note="https://publisher.example/rows",
)
TRAIN = [{"text": f"row {i} \u2028 é\n", "id": str(i), "more": i} for i in range(1500)]
TEST = "data/test-00000-of-00001.parquet"
FILES = {
    "data/train-00000-of-00002.parquet": parquet(TRAIN[:1000], row_group=300),
    "data/train-00001-of-00002.parquet": parquet(TRAIN[1000:]),
    TEST: parquet([{"id": "t", "text": "only"}]),
    "README.md": b"# rows",
}
TRAIN_KEY, TEST_KEY = "GET data/train-00000-of-00002.parquet", f"GET {TEST}"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with serving(FakeHub(dict(FILES)), tmp_path / "hf", monkeypatch) as made:
        yield made


def names_in(folder: Path) -> list[str]:
    """What lies in a folder, without locks."""
    return sorted(name for name in os.listdir(folder) if not name.endswith(".lock")) if folder.exists() else []


def test_files_come_with_their_origin_and_only_once(hub: FakeHub, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "rows"
    assert fetch(COPY, folder) == f"hub: owner/rows at {COMMIT[:12]}, kept in {folder}"
    assert names_in(tmp_path / "cache") == ["rows"]
    parts = [f"train-0000{part}-of-00002.parquet" for part in range(2)]
    assert names_in(folder) == ["origin.json", "test-00000-of-00001.parquet", *parts]
    found = read_records([folder / part for part in parts], columns={"text": "text"})
    assert [(row.number, row.texts["text"]) for row in found] == [(row["more"], row["text"]) for row in TRAIN]
    origin = json.loads((folder / "origin.json").read_text())
    assert (origin["repository"], origin["commit"]) == ("owner/rows", COMMIT)
    asked = dict(hub.asked)
    assert fetch(COPY, folder).startswith("hub: owner/rows")
    assert hub.asked == asked, "what is there is not asked for"
    fetch(COPY, tmp_path / "again" / "rows")
    assert hub.asked[TRAIN_KEY] == 1, "the second time from the hub's own cache"
    for name in names_in(folder):
        assert (tmp_path / "again" / "rows" / name).read_bytes() == (folder / name).read_bytes()


REFUSALS = {
    "no such data set": ("list", 404, "RepoNotFound", "no such data set"),
    "unauthorised": ("list", 401, "RepoNotFound", "no such data set, or it is private"),
    "no revision": ("list", 404, "RevisionNotFound", "no revision '0123.*tree/main lists its branches and tags"),
    "down": ("list", 503, "", "it answers 503"),
    "gated": ("HEAD", 403, "GatedRepo", "it asks for your consent; .*hf auth login"),
    "download refused": ("GET", 403, "", "it answers 403"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_one_line_that_says_what_to_do(name: str, hub: FakeHub, tmp_path: Path) -> None:
    kind, status, error, expected = REFUSALS[name]
    hub.refuse = {kind: (status, error)}
    refused(tmp_path, expected)


def refused(tmp_path: Path, expected: str) -> None:
    started = time.monotonic()
    with pytest.raises(MissingError, match=expected) as caught:
        fetch(COPY, tmp_path / "cache" / "rows")
    assert time.monotonic() - started < 5
    assert not isinstance(caught.value, DataError)
    message = str(caught.value)
    assert "\n" not in message
    assert "the hub cannot give owner/rows" in message
    assert "by hand: https://publisher.example/rows, read with `--data-dir DIR` from DIR/rows/" in message
    assert names_in(tmp_path / "cache") == []


def test_no_network_is_reported_at_once(hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "ANSWER_S", 0.3)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    refused(tmp_path, "HF_HUB_OFFLINE is set")
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    refused(tmp_path, "it does not answer")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        refused(tmp_path, "it does not answer")
    assert not hub.asked


def test_a_split_without_files_is_named_with_what_there_is(hub: FakeHub, tmp_path: Path) -> None:
    del hub.files[TEST]
    with pytest.raises(DataError, match=r"no file for split test, expected data/test-\*.parquet or .*; .*train-"):
        fetch(COPY, tmp_path / "rows")
    assert not any(key.startswith("GET") for key in hub.asked), "seen before anything is downloaded"


def test_other_content_than_listed_is_refused_until_the_named_file_is_removed(hub: FakeHub, tmp_path: Path) -> None:
    body = bytearray(FILES[TEST])
    body[10] ^= 1
    hub.listed, hub.files[TEST] = {TEST: FILES[TEST]}, bytes(body)
    with pytest.raises(DataError, match="other content than the hub lists; remove '") as refusal:
        fetch(COPY, tmp_path / "rows")
    hub.files[TEST] = FILES[TEST]
    Path(str(refusal.value).partition("remove '")[2].partition("'")[0]).unlink()
    assert fetch(COPY, tmp_path / "rows").startswith("hub: owner/rows")


# Folders that are made whole or not at all ---------------------------------------------------------------------------


def _fetch_here(folder: Path) -> None:
    fetch(COPY, folder)


def test_a_process_killed_half_way_leaves_nothing_that_is_taken_for_rows(hub: FakeHub, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "rows"
    hub.asleep = TRAIN_KEY
    child = multiprocessing.get_context("fork").Process(target=_fetch_here, args=(folder,))
    child.start()
    assert wait_until(lambda: hub.asked[TRAIN_KEY] == 1, 30)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    assert not folder.exists()
    hub.asleep = ""
    fetch(COPY, folder)
    assert names_in(tmp_path / "cache") == ["rows"]
    assert len(names_in(folder)) == 4
    assert hub.asked[TEST_KEY] == 1, "what was downloaded before is used"


def test_of_two_processes_one_fills_the_folder_and_the_other_waits(hub: FakeHub, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "rows"
    hub.asleep = TRAIN_KEY
    children = [multiprocessing.get_context("fork").Process(target=_fetch_here, args=(folder,)) for _ in range(2)]
    for child in children:
        child.start()
    assert wait_until(lambda: hub.asked[TRAIN_KEY] >= 1, 30)
    hub.asleep = ""
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0, 0]
    assert hub.asked["list"] == 1
    assert names_in(tmp_path / "cache") == ["rows"]
    assert len(names_in(folder)) == 4


def test_a_disk_that_refuses_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot write below '.*file' \(.*\); make room, or set BENCH_CACHE"):
        make_folder(tmp_path / "file" / "rows", shutil.rmtree)
