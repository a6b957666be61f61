"""What comes from the hub: whole, as it was promised, or not at all, and never after a long wait."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pyarrow as pa
import pytest

from bench.base.files import signature
from bench.errors import DataError, MissingError
from bench.tasks.fetch import downloads, folders
from bench.tasks.fetch.hub import HubCopy, fetch, write_lines
from tests.shipped import ROOT
from tests.tasks.fake_hub import COMMIT, FakeHub, parquet, serving
from tests.waiting import wait_until

COPY = HubCopy(
    repository="owner/rows",
    revision=COMMIT,
    files={"train": ("data/train-*.parquet",), "test": ("data/test-*.parquet", "elsewhere/*")},
    columns={"document": "text", "id": "id"},
    note="https://publisher.example/rows",
)
TRAIN = [{"text": f"row {i} \u2028 é\n", "id": str(i), "more": i} for i in range(1500)]
FILES = {
    "data/train-00000-of-00002.parquet": parquet(TRAIN[:1000], row_group=300),
    "data/train-00001-of-00002.parquet": parquet(TRAIN[1000:]),
    "data/test-00000-of-00001.parquet": parquet([{"id": "t", "text": "only"}]),
    "README.md": b"# rows",
}
TRAIN_KEY, TEST_KEY = "GET data/train-00000-of-00002.parquet", "GET data/test-00000-of-00001.parquet"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with serving(FakeHub(dict(FILES)), tmp_path / "hf", monkeypatch) as made:
        yield made


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(file.read_bytes()).split(b"\n")[:-1]]


def left(folder: Path) -> list[str]:
    return sorted(os.listdir(folder)) if folder.exists() else []


def test_rows_come_under_our_names_with_their_origin(hub: FakeHub, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "rows"
    assert fetch(COPY, folder) == f"hub: owner/rows at {COMMIT[:12]}, kept in {folder}"
    assert left(tmp_path / "cache") == ["rows"]
    assert left(folder) == ["origin.json", "test.jsonl.gz", "train.jsonl.gz"]
    assert lines(folder / "train.jsonl.gz") == [{"document": row["text"], "id": row["id"]} for row in TRAIN]
    assert lines(folder / "test.jsonl.gz") == [{"document": "only", "id": "t"}]
    origin = json.loads((folder / "origin.json").read_text())
    assert (origin["repository"], origin["commit"]) == ("owner/rows", COMMIT)
    assert {split: said["rows"] for split, said in origin["splits"].items()} == {"train": 1500, "test": 1}
    first = origin["splits"]["train"]["files"][0]
    body = FILES[first["path"]]
    assert (first["bytes"], first["sha256"]) == (len(body), hashlib.sha256(body).hexdigest())
    asked = dict(hub.asked)
    assert fetch(COPY, folder).startswith("hub: owner/rows")
    assert hub.asked == asked, "what is there is not asked for"


def test_the_same_rows_give_the_same_bytes(hub: FakeHub, tmp_path: Path) -> None:
    for name in ("a", "b"):
        fetch(COPY, tmp_path / name / "rows")
    assert (tmp_path / "a/rows/train.jsonl.gz").read_bytes()[4:8] == bytes(4), "the time of writing"
    for file in ("origin.json", "train.jsonl.gz"):
        assert (tmp_path / "a/rows" / file).read_bytes() == (tmp_path / "b/rows" / file).read_bytes()


def test_a_branch_is_resolved_and_what_is_read_is_its_commit(hub: FakeHub, tmp_path: Path) -> None:
    moved = "f" * 40
    hub.branches = {"refs/convert/parquet": moved}
    assert "ffffffffffff" in fetch(replace(COPY, revision="refs/convert/parquet"), tmp_path / "rows")
    assert json.loads((tmp_path / "rows" / "origin.json").read_text())["commit"] == moved


def test_records_and_lists_keep_their_shape(hub: FakeHub, tmp_path: Path) -> None:
    box = {"table": {"head": ["a", "b"], "content": ["1", "2"], "row": [1, 1]}, "context": "who"}
    hub.files = {"data/train-0.parquet": parquet([{"in": box, "out": "he"}, {"in": None, "out": None}])}
    copy = replace(COPY, files={"train": ("data/train-*",)}, columns={
        "input.table.head": "in.table.head[]", "input.table.content": "in.table.content[]", "target": "out",
    })  # fmt: skip
    fetch(copy, tmp_path / "rows")
    assert lines(tmp_path / "rows" / "train.jsonl.gz") == [
        {"input": {"table": {"head": ["a", "b"], "content": ["1", "2"]}}, "target": "he"},
        {"input": {"table": {"head": None, "content": None}}, "target": None},
    ]


REFUSALS = {
    "no such data set": ("list", 404, "RepoNotFound", "no such data set"),
    "unauthorised": ("list", 401, "RepoNotFound", "no such data set, or it is private"),
    "no revision": ("list", 404, "RevisionNotFound", "no revision 0123"),
    "down": ("list", 503, "", "it answers 503"),
    "gated": ("HEAD", 403, "GatedRepo", "hf auth login"),
    "file down": ("HEAD", 500, "", "it answers 500"),
    "download refused": ("GET", 403, "", "it answers 403"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_hub_that_refuses_is_understood_within_five_seconds(name: str, hub: FakeHub, tmp_path: Path) -> None:
    kind, status, error, expected = REFUSALS[name]
    hub.refuse = {kind: (status, error)}
    missing_soon(tmp_path, expected)


def missing_soon(tmp_path: Path, expected: str) -> None:
    started = time.monotonic()
    with pytest.raises(MissingError, match=expected) as caught:
        fetch(COPY, tmp_path / "cache" / "rows")
    assert time.monotonic() - started < 5
    assert not isinstance(caught.value, DataError)
    said = str(caught.value)
    assert "\n" not in said
    assert "owner/rows" in said
    assert "https://publisher.example/rows" in said
    assert "--data-dir DIR` from DIR/rows/" in said
    assert not (tmp_path / "cache" / "rows").exists()


def test_offline_is_said_at_once(hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)  # as it was when the library was imported
    missing_soon(tmp_path, "HF_HUB_OFFLINE is set")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    missing_soon(tmp_path, "HF_HUB_OFFLINE is set")
    assert not hub.asked


def test_a_closed_port_is_said_at_once(hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    missing_soon(tmp_path, "ConnectError|does not answer")


@pytest.mark.parametrize("seconds", [0.3, pytest.param(downloads.ANSWER_S, marks=pytest.mark.slow)])
def test_a_socket_that_accepts_and_never_answers(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(downloads, "ANSWER_S", seconds)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        missing_soon(tmp_path, "it does not answer")


def test_one_that_answers_a_byte_a_second(hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte ends the wait of the client, so that only a limit on the whole helps."""
    code = """if True:
        import socket, time
        with socket.create_server(("127.0.0.1", 0)) as server:
            print(server.getsockname()[1], flush=True)
            while True:
                client, _ = server.accept()
                try:
                    for byte in b"HTTP/1.1 200 OK\\r\\nX-Long: " + b"x" * 60:
                        client.send(bytes([byte]))
                        time.sleep(0.2)
                except OSError:
                    pass
    """
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as slow:
        try:
            assert slow.stdout is not None
            monkeypatch.setattr(downloads, "ANSWER_S", 0.8)
            monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{slow.stdout.readline().strip()}")
            missing_soon(tmp_path, "it does not answer")
        finally:
            slow.kill()


def test_a_download_that_stands_still_is_given_up(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(downloads, "STALL_S", 0.5)
        hub.asleep = TRAIN_KEY
        missing_soon(tmp_path, "nothing has come for")
    hub.asleep = ""
    fetch(COPY, tmp_path / "cache" / "rows")
    assert hub.asked[TEST_KEY] == 1, "what came before is used"


@pytest.mark.parametrize("kind", ["list", "HEAD"])
def test_questions_without_an_answer_end(
    kind: str, hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "ANSWER_S", 0.4)
    hub.asleep = kind
    missing_soon(tmp_path, "it does not answer")


BAD = {
    "no column": (parquet([{"body": "x", "id": "1"}]), "no column 'text'; there is body, id"),
    "a number": (parquet([{"text": 3, "id": "1"}]), "column 'text' holds int64, expected text"),
    "a list": (parquet([{"text": ["a"], "id": "1"}]), "column 'text' holds list<.*>, expected text"),
    "only nulls": (parquet([{"text": None, "id": "1"}]), "column 'text' holds null, expected text"),
    "no rows": (parquet(pa.table({"text": pa.array([], pa.string()), "id": pa.array([], pa.string())})), "has no rows"),
    "no parquet": (b"version https://git-lfs.github.com/spec/v1", "cannot be read as parquet"),
    "cut": (FILES["data/test-00000-of-00001.parquet"][:-100], "cannot be read as parquet"),
}


@pytest.mark.parametrize("name", BAD)
def test_files_that_are_not_what_they_should_be_are_refused(name: str, hub: FakeHub, tmp_path: Path) -> None:
    hub.files["data/test-00000-of-00001.parquet"], expected = BAD[name]
    with pytest.raises(DataError, match=expected) as caught:
        fetch(COPY, tmp_path / "cache" / "rows")
    assert "\n" not in str(caught.value)
    assert "data/test-00000-of-00001.parquet" in str(caught.value)
    assert left(tmp_path / "cache") == []


def test_a_split_without_files_is_named_with_what_there_is(hub: FakeHub, tmp_path: Path) -> None:
    del hub.files["data/test-00000-of-00001.parquet"]
    with pytest.raises(
        DataError, match=r"no file for split test, expected data/test-\*.parquet or elsewhere/\*; .*train-"
    ):
        fetch(COPY, tmp_path / "rows")
    assert not any(key.startswith("GET") for key in hub.asked), "seen before anything is downloaded"


def test_other_content_than_listed_is_asked_for_again_and_then_refused(hub: FakeHub, tmp_path: Path) -> None:
    body = bytearray(FILES["data/test-00000-of-00001.parquet"])
    body[10] ^= 1
    hub.listed = {"data/test-00000-of-00001.parquet": bytes(body)}
    with pytest.raises(DataError, match="other content than the hub lists"):
        fetch(COPY, tmp_path / "rows")
    assert hub.asked[TEST_KEY] == 2


def test_a_damaged_file_in_the_cache_is_downloaded_again(hub: FakeHub, tmp_path: Path) -> None:
    fetch(COPY, tmp_path / "a" / "rows")
    for blob in (tmp_path / "hf" / "hub" / "datasets--owner--rows" / "blobs").iterdir():
        blob.write_bytes(blob.read_bytes()[:-1] + b"x")
    fetch(COPY, tmp_path / "b" / "rows")
    assert hub.asked[TRAIN_KEY] == 2
    assert (tmp_path / "a/rows/train.jsonl.gz").read_bytes() == (tmp_path / "b/rows/train.jsonl.gz").read_bytes()


def test_a_run_stopped_between_splits_goes_on_after_the_last_one(hub: FakeHub, tmp_path: Path) -> None:
    written = []

    def interrupted(rows: Iterator[dict[str, Any]], folder: Path, split: str) -> None:
        written.append(split)
        if split == "train" and len(written) < 3:
            (folder / ".train.jsonl.gz.torn.tmp").write_bytes(b"half")
            raise KeyboardInterrupt
        write_lines(rows, folder, split)

    folder = tmp_path / "cache" / "rows"
    with pytest.raises(KeyboardInterrupt):
        fetch(COPY, folder, write=interrupted)
    assert not folder.exists()
    fetch(COPY, folder, write=interrupted)
    assert written == ["test", "train", "train"]
    assert left(folder) == ["origin.json", "test.jsonl.gz", "train.jsonl.gz"]
    assert (hub.asked[TEST_KEY], hub.asked[TRAIN_KEY]) == (1, 1)


def test_splits_of_two_commits_are_never_mixed(hub: FakeHub, tmp_path: Path) -> None:
    hub.branches = {"main": "a" * 40}
    copy = replace(COPY, revision="main")
    hub.refuse = {TRAIN_KEY: (403, "")}
    with pytest.raises(MissingError):
        fetch(copy, tmp_path / "rows")
    hub.refuse, hub.branches = {}, {"main": "b" * 40}
    hub.files["data/test-00000-of-00001.parquet"] = parquet([{"id": "new", "text": "other"}])
    fetch(copy, tmp_path / "rows")
    assert lines(tmp_path / "rows" / "test.jsonl.gz") == [{"document": "other", "id": "new"}]
    assert json.loads((tmp_path / "rows" / "origin.json").read_text())["commit"] == "b" * 40


CHILD = """
import sys, time
from pathlib import Path
from bench.tasks.fetch.hub import fetch
from tests.tasks.fetch.test_hub import COPY
print("ready", flush=True)
sys.stdin.readline()
print(fetch(COPY, Path(sys.argv[1])))
"""


@contextlib.contextmanager
def child(folder: Path) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen([sys.executable, "-W", "error", "-c", CHILD, str(folder)], stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_a_process_killed_half_way_is_taken_over(hub: FakeHub, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "rows"
    hub.asleep = TRAIN_KEY
    with child(folder) as process:
        go(process)
        assert wait_until(lambda: hub.asked[TRAIN_KEY] == 1, 30)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not folder.exists()
    (unfinished,) = (tmp_path / "cache").iterdir()
    written = (unfinished / "test.jsonl.gz").stat().st_ino
    hub.asleep = ""
    fetch(COPY, folder)
    assert (folder / "test.jsonl.gz").stat().st_ino == written
    assert left(tmp_path / "cache") == ["rows"]
    assert lines(folder / "train.jsonl.gz")[-1] == {"document": TRAIN[-1]["text"], "id": "1499"}
    assert hub.asked[TEST_KEY] == 1, "the finished split was neither downloaded nor written again"


@pytest.mark.slow
def test_two_processes_at_once_leave_one_whole_folder(hub: FakeHub, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "rows"
    hub.asleep = TRAIN_KEY
    with child(folder) as one, child(folder) as two:
        go(one)
        go(two)
        assert wait_until(lambda: hub.asked[TRAIN_KEY.replace("GET", "HEAD")] >= 3, 30)
        assert len(left(tmp_path / "cache")) == 2, "both are at work"
        hub.asleep = ""
        said = [process.communicate(timeout=60) for process in (one, two)]
        assert [one.returncode, two.returncode] == [0, 0], said
    assert left(tmp_path / "cache") == ["rows"]
    assert left(folder) == ["origin.json", "test.jsonl.gz", "train.jsonl.gz"]
    assert len(lines(folder / "train.jsonl.gz")) == 1500


def test_two_at_once_leave_one_whole_folder(hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One begins while the other is at work: here, in the name of the parent of this process, which lives too."""
    folder, seen = tmp_path / "cache" / "rows", []
    own = signature()
    monkeypatch.setattr(folders, "signature", lambda: f"{own.partition('-')[0]}-{os.getppid()}")

    def write_beside(rows: Iterator[dict[str, Any]], into: Path, split: str) -> None:
        write_lines(rows, into, split)
        seen.append(left(tmp_path / "cache"))

    def write_first(rows: Iterator[dict[str, Any]], into: Path, split: str) -> None:
        write_lines(rows, into, split)
        if not seen:
            monkeypatch.setattr(folders, "signature", lambda: own)
            fetch(COPY, folder, write=write_beside)

    fetch(COPY, folder, write=write_first)
    assert [len(names) for names in seen] == [2, 2], "both are at work"
    assert left(tmp_path / "cache") == ["rows"]
    assert left(folder) == ["origin.json", "test.jsonl.gz", "train.jsonl.gz"]
    assert len(lines(folder / "train.jsonl.gz")) == 1500


def test_the_one_that_comes_second_leaves_the_first_as_it_is(hub: FakeHub, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "rows"

    def overtaken(rows: Iterator[dict[str, Any]], into: Path, split: str) -> None:
        write_lines(rows, into, split)
        if split == "train":
            folder.mkdir()
            (folder / "theirs").write_text("whole")

    fetch(COPY, folder, write=overtaken)
    assert (left(tmp_path / "cache"), left(folder)) == (["rows"], ["theirs"])
