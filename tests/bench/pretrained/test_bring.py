"""Bringing pretrained models: from a hub and a server on this machine, checked, or refused with what to do by hand."""

from __future__ import annotations

import hashlib
import http.server
import shutil
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.base.files import hash_of
from bench.errors import BenchError, DataError, MissingError
from bench.metrics.requirements import Checkpoint
from bench.models.backbones.pretrained import resolved
from bench.pretrained.bring import bring
from bench.pretrained.catalogue import PretrainedModel, catalogue
from tests.tasks.fake_hub import COMMIT, FakeHub, serving

WEIGHTS = b"w" * 5000
FILES = {
    "config.json": b'{"model_type": "bert"}',
    "vocab.txt": b"[PAD]\n",
    "pytorch_model.bin": WEIGHTS,
    "tf_model.h5": b"not needed",
    "onnx/model.json": b"not needed",
}
TINY = PretrainedModel("tiny", ("metric tiny",), COMMIT[:7], "MIT", "5 kB", "here", repository="owner/tiny")
ZIPPED = PretrainedModel("zipped", ("metric zipped",), "unknown", "MIT", "1 kB", "here", beside="owner/tiny",
                         archive="https://publisher.example/files/zipped.zip", weights="model.pt",
                         kept_as="pytorch_model.bin", variable="BENCH_ZIPPED")  # fmt: skip


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    made = FakeHub(dict(FILES), repository="owner/tiny", kind="models")
    with serving(made, tmp_path / "hf", monkeypatch) as serving_hub:
        yield serving_hub


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def brought(model: PretrainedModel) -> str:
    lines: list[str] = []
    bring(model, lines.append)
    return "\n".join(lines)


def test_a_model_comes_from_the_hub_and_is_found_by_metrics_and_backbones(hub: FakeHub) -> None:
    assert not TINY.is_here
    said = brought(TINY)
    assert TINY.is_here
    assert f"commit {COMMIT} (the known one)" in said
    assert "pytorch_model.bin, 5,000 bytes, sha256 as the hub lists it" in said
    assert "tf_model.h5" not in said
    assert not any("tf_model" in key or "onnx" in key for key in hub.asked)
    assert Checkpoint("BENCH_NONE", ("owner/tiny",)).is_installed
    assert resolved("owner/tiny", "main").commit == COMMIT


def test_what_is_there_is_not_sent_again(hub: FakeHub) -> None:
    brought(TINY)
    sent = hub.asked["GET pytorch_model.bin"]
    brought(TINY)
    assert hub.asked["GET pytorch_model.bin"] == sent == 1


def test_safetensors_are_taken_in_place_of_pickles(hub: FakeHub) -> None:
    hub.files["model.safetensors"] = b"s" * 100
    said = brought(TINY)
    assert "model.safetensors" in said
    assert "pytorch_model.bin" not in said


def test_a_known_hash_is_compared_before_anything_is_downloaded(hub: FakeHub) -> None:
    known = hashlib.sha256(WEIGHTS).hexdigest()
    other = replace(TINY, sha256={"pytorch_model.bin": "0" * 64})
    with pytest.raises(DataError, match="known is 000000000000; nothing was downloaded"):
        brought(other)
    assert hub.asked["GET pytorch_model.bin"] == 0
    assert "pytorch_model.bin, 5,000 bytes, sha256 as known" in brought(
        replace(TINY, sha256={"pytorch_model.bin": known})
    )


def test_other_content_than_the_hub_lists_is_refused(hub: FakeHub) -> None:
    hub.listed["pytorch_model.bin"] = b"v" * 5000
    with pytest.raises(DataError, match="other content than the hub lists, twice"):
        brought(TINY)


def test_a_branch_that_has_moved_is_said(hub: FakeHub) -> None:
    assert "main has moved: fffffff was seen" in brought(replace(TINY, revision="fffffff"))


@pytest.mark.usefixtures("offline")
def test_offline_it_says_what_to_fetch_and_where_to_put_it() -> None:
    with pytest.raises(MissingError) as said:
        brought(replace(TINY, variable="BENCH_TINY"))
    for words in ("HF_HUB_OFFLINE is set", "hf download owner/tiny", "models--owner--tiny", "BENCH_TINY=FOLDER"):
        assert words in str(said.value)
    with pytest.raises(MissingError, match=r"--set backbone\.path=FOLDER"):
        brought(catalogue()["bart-large"])


def lying_there(model: PretrainedModel, content: bytes | dict[str, bytes]) -> Path:
    """Put an archive where a person puts one who has no network."""
    assert model.folder is not None
    model.folder.mkdir(parents=True, exist_ok=True)
    path = model.folder / model.packed
    if isinstance(content, bytes):
        path.write_bytes(content)
        return path
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return path


@pytest.mark.usefixtures("offline")
def test_without_a_network_an_archive_has_an_exact_command() -> None:
    with pytest.raises(MissingError) as caught:
        brought(ZIPPED)
    command = f"curl -L -C - -o '{ZIPPED.folder}/zipped.zip' https://publisher.example/files/zipped.zip"
    assert command in str(caught.value)
    beside = f"put config.json and vocab.txt of https://huggingface.co/owner/tiny in '{ZIPPED.folder}'"
    assert beside in str(caught.value)
    assert "with a browser" in catalogue()["dae"].fetch


def test_an_archive_is_unpacked_beside_the_files_of_the_hub(hub: FakeHub) -> None:
    folder = ZIPPED.folder
    assert folder is not None
    inside = {"models/model.pt": WEIGHTS, "models/vocab.txt": b"of the archive\n", "config.json": b"of another model"}
    lying_there(ZIPPED, inside)
    printed = brought(ZIPPED)
    assert ZIPPED.is_here
    assert names_in(folder) == ["config.json", "pytorch_model.bin", "vocab.txt", "zipped.zip"]
    assert (folder / "pytorch_model.bin").read_bytes() == WEIGHTS
    assert (folder / "config.json").read_bytes() == FILES["config.json"]
    assert (folder / "vocab.txt").read_text() == "of the archive\n"
    assert f"export BENCH_ZIPPED={folder}" in printed


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")


@pytest.fixture
def web(hub: FakeHub, tmp_path: Path) -> Iterator[str]:
    """The address of a folder `web` that a server on this machine offers."""
    (tmp_path / "web").mkdir()
    handler = partial(QuietHandler, directory=str(tmp_path / "web"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def test_an_archive_of_the_web_is_downloaded_compared_and_not_kept(web: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "web" / "zipped.zip", "w") as archive:
        archive.writestr("models/model.pt", WEIGHTS)
    digest = hash_of(tmp_path / "web" / "zipped.zip")
    model = replace(ZIPPED, archive=f"{web}/zipped.zip", sha256={"zipped.zip": "0" * 64})
    assert model.folder is not None
    with pytest.raises(DataError, match="zipped: zipped.zip is not the known archive"):
        brought(model)
    assert not model.is_here
    brought(replace(model, sha256={"zipped.zip": digest}))
    assert model.is_here
    assert names_in(model.folder) == ["config.json", "pytorch_model.bin", "vocab.txt"]
    with pytest.raises(MissingError, match=r"cannot be downloaded \(its server answers 404\); by hand: "):
        brought(replace(model, name="other", archive=f"{web}/gone.zip"))


def test_a_download_that_breaks_off_leaves_nothing(web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(request: http.server.SimpleHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "1000")
        request.end_headers()
        request.wfile.write(b"PK")
        request.close_connection = True

    monkeypatch.setattr(QuietHandler, "do_GET", cut)
    model = replace(ZIPPED, archive=f"{web}/zipped.zip")
    assert model.folder is not None
    with pytest.raises(MissingError, match="zipped.zip cannot be downloaded .*; by hand: mkdir -p .* && curl -L -C - "):
        brought(model)
    assert names_in(model.folder) == ["config.json", "vocab.txt"]


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("content", [b"PK\x03\x04 and no more", b"", {"models/other.pt": b"x"}])
def test_an_archive_that_is_damaged_or_another_is_refused(content: bytes | dict[str, bytes]) -> None:
    path = lying_there(ZIPPED, content)
    with pytest.raises(DataError, match="has no readable model.pt .*; remove it, or go on where a download stopped: "):
        brought(ZIPPED)
    assert names_in(path.parent) == ["zipped.zip"]


@pytest.mark.usefixtures("offline")
def test_a_member_that_leads_out_of_the_folder_goes_nowhere_else(tmp_path: Path) -> None:
    path = lying_there(ZIPPED, {"../../../model.pt": WEIGHTS})
    with pytest.raises(MissingError, match="lacks config.json, vocab.txt"):
        brought(ZIPPED)
    assert names_in(path.parent) == ["pytorch_model.bin", "zipped.zip"]
    assert not list(tmp_path.rglob("model.pt"))


@pytest.mark.usefixtures("offline")
def test_a_disk_without_room_for_the_weights_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    path = lying_there(ZIPPED, {"model.pt": WEIGHTS})
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=4999))
    with pytest.raises(BenchError, match="zipped needs 0.0 GB of disk, and .* has 0.0 GB free; make room"):
        brought(ZIPPED)
    assert names_in(path.parent) == ["zipped.zip"]


def test_the_command_goes_on_after_a_model_that_fails(bench) -> None:
    ended = bench("models", "get", "tapas", "en_core_web_lg")
    assert ended.code == 3
    assert [line[:30] for line in ended.complaints] == [
        "bench: the hub cannot give goo",
        "bench: en_core_web_lg has a co",
    ]
