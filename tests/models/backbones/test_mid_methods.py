"""Adapters and frozen embeddings: every method of the preset `mid` trains with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from tests.conftest import Ended
from tests.e2e import stores
from tests.models.backbones.folders import save_model

EMBEDDINGS = "model.embed_tokens.weight"
METHODS = [
    "trime.released,histalign.released,f2softmax,mtp",
    pytest.param("all", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model("llama", tmp_path_factory.mktemp("models") / "llama")


def trained(bench: Callable[..., Ended], results: Path, llama: Path, method: str, setting: str) -> list[Path]:
    """Train methods on LogicNLG, whose targets are long enough for all of them; return the folders of the runs."""
    given = stores.arguments(results, "--backbone", str(llama), task="logicnlg", method=method)
    given[given.index("small")] = "mid"
    given = [text for text in given if not text.startswith("backbone.")]
    ended = bench(*given, "--set", setting, "trainer.max_target=24", "trainer.max_source=60")
    assert ended.code == 0, ended.err
    told: dict[str, Any] = json.loads(ended.out)
    assert not told["failed"]
    return [path.parent for path in sorted(results.rglob("trained.json"))]


@pytest.mark.parametrize("method", METHODS)
def test_adapters_are_all_that_is_trained_of_the_model(
    bench: Callable[..., Ended], llama: Path, tmp_path: Path, method: str
) -> None:
    pytest.importorskip("peft")
    folders = trained(bench, tmp_path, llama, method, "backbone.lora_rank=2")
    assert len(folders) >= len(method.split(","))
    for folder in folders:
        for checkpoint in folder.glob("model-*"):
            of_the_model = [name for name in load_file(checkpoint) if name.startswith("backbone.")]
            assert of_the_model, folder
            assert all("lora_" in name for name in of_the_model), folder


@pytest.mark.parametrize("method", METHODS)
def test_frozen_embeddings_stay(bench: Callable[..., Ended], llama: Path, tmp_path: Path, method: str) -> None:
    before = load_file(next(llama.glob("*.safetensors")))[EMBEDDINGS]
    folders = trained(bench, tmp_path, llama, method, "backbone.freeze_embeddings=true")
    seen = 0
    for folder in folders:
        for checkpoint in folder.glob("model-*"):
            stored = load_file(checkpoint)
            (name,) = [name for name in stored if name.endswith("embed_tokens.weight")]
            assert stored[name][: len(before)].equal(before), folder
            assert any(not name.endswith("embed_tokens.weight") for name in stored), folder
            seen += 1
    assert seen >= len(method.split(","))
