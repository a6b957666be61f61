"""Bringing pretrained models: from a hub on this machine, checked, resumed, and in words where there is no network."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import huggingface_hub.constants
import pytest

from bench.errors import DataError, MissingError
from bench.metrics.requirements import Checkpoint
from bench.models.backbones.pretrained import resolved
from bench.pretrained.catalogue import PretrainedModel, catalogue
from bench.pretrained.download import bring
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
    assert Checkpoint("BENCH_NONE", ("owner/tiny",)).is_there
    assert resolved("owner/tiny", "main").commit == COMMIT


def test_what_is_there_is_not_sent_again(hub: FakeHub) -> None:
    brought(TINY)
    sent = hub.asked["GET pytorch_model.bin"]
    brought(TINY)
    assert hub.asked["GET pytorch_model.bin"] == sent == 1


def test_a_large_file_goes_on_where_an_earlier_process_stopped(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.pretrained.download.LARGE", 1000)
    digest = hashlib.sha256(WEIGHTS).hexdigest()
    partial = Path(huggingface_hub.constants.HF_HUB_CACHE) / "models--owner--tiny" / "blobs" / f"{digest}.partial"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(WEIGHTS[:2000])
    brought(TINY)
    assert hub.asked["GET pytorch_model.bin from 2000"] == hub.asked["GET pytorch_model.bin"] == 1
    assert TINY.is_here
    assert not partial.exists()


def test_a_part_of_another_file_is_thrown_away(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.pretrained.download.LARGE", 1000)
    digest = hashlib.sha256(WEIGHTS).hexdigest()
    partial = Path(huggingface_hub.constants.HF_HUB_CACHE) / "models--owner--tiny" / "blobs" / f"{digest}.partial"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(b"other" * 100)
    with pytest.raises(DataError, match="other content than the hub lists; say it again"):
        brought(TINY)
    assert "pytorch_model.bin" in brought(TINY)


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


@pytest.mark.usefixtures("offline")
def test_an_archive_has_an_exact_command_that_can_be_said_again() -> None:
    with pytest.raises(MissingError) as said:
        brought(ZIPPED)
    command = f"curl -L -C - -o '{ZIPPED.folder}/zipped.zip' https://publisher.example/files/zipped.zip"
    assert command in str(said.value)
    assert f"put config.json and vocab.txt of https://huggingface.co/owner/tiny in '{ZIPPED.folder}'" in str(said.value)
    assert "with a browser" in catalogue()["dae"].fetch


def test_an_archive_is_unpacked_beside_the_files_of_the_hub(hub: FakeHub) -> None:
    folder = ZIPPED.folder
    assert folder is not None
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "zipped.zip", "w") as archive:
        archive.writestr("models/model.pt", WEIGHTS)
        archive.writestr("models/vocab.txt", "of the archive\n")
        archive.writestr("models/other.pt", "not needed")
    said = brought(ZIPPED)
    assert ZIPPED.is_here
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.json",
        "pytorch_model.bin",
        "vocab.txt",
        "zipped.zip",
    ]
    assert (folder / "pytorch_model.bin").read_bytes() == WEIGHTS
    assert (folder / "config.json").read_bytes() == FILES["config.json"]
    assert (folder / "vocab.txt").read_text() == "of the archive\n"
    assert f"export BENCH_ZIPPED={folder}" in said


@pytest.mark.usefixtures("offline")
def test_an_archive_cut_short_says_how_to_go_on() -> None:
    folder = ZIPPED.folder
    assert folder is not None
    folder.mkdir(parents=True)
    (folder / "zipped.zip").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(DataError, match="to go on where a download stopped: mkdir -p .* && curl -L -C - "):
        brought(ZIPPED)
    assert [path.name for path in folder.iterdir()] == ["zipped.zip"]


def test_the_command_goes_on_after_a_model_that_fails(bench, tmp_path: Path) -> None:
    ended = bench("models", "get", "tapas", "en_core_web_lg")
    assert ended.code == 3
    assert [line[:30] for line in ended.complaints] == [
        "bench: the hub cannot give goo",
        "bench: en_core_web_lg has a co",
    ]
