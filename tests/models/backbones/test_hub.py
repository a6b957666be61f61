"""Pretrained backbones from a folder: tiny random models, saved as a publisher would."""

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from bench.base.network import hub_reachable
from bench.errors import DataError, MissingError
from bench.models.backbones import BACKBONES, HUB, BackboneEntry, is_pretrained
from bench.models.backbones.hub import architecture, hub, identity
from bench.models.backbones.pretrained import tensors_sha256
from tests.models.backbones.folders import Texts, save_model

WORDS = Texts("<cell>", "</cell>")
SIZES = {"gpt2": "decoder-only", "llama": "decoder-only", "bart": "encoder-decoder"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    return {name: save_model(name, root / name, dtype=torch.bfloat16) for name in SIZES}


@pytest.mark.parametrize("name", SIZES)
def test_a_folder_gives_states_logits_and_its_architecture(name: str, folders: dict[str, Path]) -> None:
    backbone = hub(str(folders[name]), WORDS, 0)
    assert backbone.architecture == SIZES[name] == architecture(str(folders[name]))
    ids = torch.tensor([[5, 6, 7, 8], [5, 6, 0, 0]])
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
    states = backbone.states({"input_ids": ids, "attention_mask": mask, "labels": ids.masked_fill(mask == 0, -100)})
    assert states.hidden.dtype == torch.float32, "a bf16 checkpoint is trained in float32"
    logits = backbone.head(states.hidden)
    assert logits.shape[-1] == backbone.vocabulary_size == len(backbone.tokenizer)
    assert backbone.embedding().shape == (backbone.vocabulary_size, backbone.width)


def test_markers_become_one_token_each(folders: dict[str, Path]) -> None:
    backbone = hub(str(folders["bart"]), WORDS, 0)
    ids = backbone.tokenizer("<cell> the </cell>", add_special_tokens=False)["input_ids"]
    assert backbone.tokenizer.convert_tokens_to_ids("<cell>") in ids
    assert backbone.model.final_logits_bias.shape[-1] == backbone.vocabulary_size


def test_vectors_of_markers_come_from_the_seed(folders: dict[str, Path]) -> None:
    """Whatever was drawn before; those of the model's own tokens are as they were."""
    found = []
    for seed in (0, 0, 1):
        torch.rand(3)
        found.append(hub(str(folders["gpt2"]), WORDS, seed).embedding().detach())
    first, again, other = found
    assert torch.equal(first, again)
    added = len(WORDS.markers)
    assert torch.equal(first[:-added], other[:-added])
    assert not torch.equal(first[-added:], other[-added:])


@pytest.mark.parametrize("name", SIZES)
def test_it_is_trained_with_its_dropout(name: str, folders: dict[str, Path]) -> None:
    """The library gives models in evaluation mode, in which none would be drawn."""
    backbone = hub(str(folders[name]), WORDS, 0)
    assert all(part.training for part in backbone.modules())


@pytest.mark.parametrize("name", SIZES)
def test_freezing_fixes_input_and_output_embeddings_and_nothing_else(name: str, folders: dict[str, Path]) -> None:
    backbone = hub(str(folders[name]), WORDS, 0, freeze_embeddings=True)
    assert not backbone.embedding().requires_grad
    assert not any(p.requires_grad for p in backbone.head_parameters())
    assert any(p.requires_grad for p in backbone.parameters())


def test_a_folder_is_known_by_its_content_and_not_by_its_place(folders: dict[str, Path], tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    for file in folders["gpt2"].iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    assert identity(str(copy), "", "main") == identity(str(folders["gpt2"]), "", "main")
    (copy / "config.json").write_text((copy / "config.json").read_text().replace("128", "127"))
    assert identity(str(copy), "", "main") != identity(str(folders["gpt2"]), "", "main")
    (copy / "config.json").write_bytes((folders["gpt2"] / "config.json").read_bytes())
    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[-3000:] = bytes(3000)
    (copy / "model.safetensors").write_bytes(weights)
    assert identity(str(copy), "", "main") != identity(str(folders["gpt2"]), "", "main")
    found = set()
    for number in (0, 1):  # of a megabyte, as where only biases were trained
        (copy / "model.safetensors").write_bytes(bytes(2**19 + 5000) + bytes([number]) + bytes(2**19))
        found.add(identity(str(copy), "", "main")["folder_sha256"])
    assert len(found) == 2
    assert identity("gpt2", "", "main") == {"hub": "openai-community/gpt2", "revision": "main"}


@pytest.mark.parametrize("endpoint", ["", "http://127.0.0.1:9"])
def test_without_folder_cache_or_hub_it_says_so(endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_ENDPOINT", endpoint) if endpoint else monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert not hub_reachable()
    with pytest.raises(MissingError, match="backbone.path=FOLDER"):
        hub("nobody/has-this-model", WORDS, 0)
    with pytest.raises(MissingError, match="nobody/has-this-model"):
        architecture("nobody/has-this-model")


def test_a_folder_without_a_model_is_no_name_of_the_hub(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=f"^'{tmp_path}' has no model that can be read: ") as refused:
        architecture(str(tmp_path))
    assert "hf download" not in str(refused.value)


@pytest.fixture
def converted(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A converted model in the cache, under the name `tiny`; returns its file."""
    cache = folders["llama"].parent / "cache"
    monkeypatch.setenv("BENCH_CACHE", str(cache))
    folder = cache / "models" / "tiny"
    shutil.copytree(folders["llama"], folder, dirs_exist_ok=True)
    file = folder / "model.safetensors"
    entry = BackboneEntry(HUB, "a tiny LLaMA", converted=True, tensors_sha256=tensors_sha256(file))
    monkeypatch.setitem(BACKBONES, "tiny", entry)
    return file


def test_a_converted_model_is_a_backbone_by_its_name(converted: Path) -> None:
    assert is_pretrained("tiny")
    assert identity("tiny", "", "main") == {"tensors_sha256": tensors_sha256(converted)}
    assert hub("tiny", WORDS, 0).architecture == "decoder-only"


def test_the_key_of_a_converted_model_does_not_need_its_weights(converted: Path) -> None:
    pinned = identity("tiny", "", "main")
    shutil.rmtree(converted.parent)
    assert identity("tiny", "", "main") == pinned
    with pytest.raises(MissingError, match="backbone 'tiny' is not on this machine; get it with"):
        hub("tiny", WORDS, 0)


def test_a_converted_model_with_other_tensors_is_refused(converted: Path) -> None:
    tensors = load_file(converted)
    name = max(tensors)
    tensors[name][..., 0] += 1
    save_file(tensors, converted, metadata={"format": "pt"})
    with pytest.raises(DataError, match="expected"):
        hub("tiny", WORDS, 0)
