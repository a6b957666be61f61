"""LLaMA-2, end to end on a tiny model of its architecture: read without training, and trained."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import LlamaForCausalLM

from tests.conftest import Ended
from tests.e2e import stores
from tests.models.backbones.folders import save_model

Bench = Callable[..., Ended]
Run = Callable[..., int]

ZERO_SHOT = ("trainer.steps=0", "trainer.epochs=0")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model("llama", tmp_path_factory.mktemp("models") / "llama", dtype=torch.bfloat16)


def arguments(results: Path, folder: Path, *more: str, method: str = "mle", sets: tuple[str, ...] = ()) -> list[str]:
    """A run on the folder; options of small backbones are left out."""
    given = stores.arguments(
        results, "--backbone", str(folder), *more, task="ambiguous_template", method=method, sets=sets
    )
    return [text for text in given if not text.startswith("backbone.")]


def record(results: Path, method: str) -> dict[str, Any]:
    """The record of the only cell of a method."""
    (path,) = results.rglob(f"{method}/*/trained.json")
    return dict(json.loads(path.read_text()))


def values(results: Path, method: str) -> dict[str, float]:
    """Its scores by column."""
    found = {}
    for path in results.rglob(f"{method}/*/scores-*.json"):
        for value in json.loads(path.read_text())["content"]["values"]:
            found[value["name"]] = value["value"]
    return found


def probes(results: Path) -> list[dict[str, Any]]:
    """The rankings of the only cell."""
    for path in results.rglob("rows-*.jsonl.gz"):
        rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
        if "wanted" in rows[1]:
            return [row for row in rows if "wanted" in row]
    raise AssertionError("no cell has rankings")


def test_a_model_is_read_without_training(bench: Bench, folder: Path, tmp_path: Path) -> None:
    """Head, cache and both are ranked; the head's best tokens are those of the library, on the whole prompt."""
    ended = bench(*arguments(tmp_path, folder, sets=ZERO_SHOT))
    assert ended.code == 0, ended.err
    trained = record(tmp_path, "mle")["content"]["train"]
    assert (trained["steps"], trained["tokens"], trained["curve"]) == (0, 0, [])
    library = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    (path,) = tmp_path.rglob("mle/*/model-*")
    for name, weight in load_file(path).items():
        assert torch.equal(weight, library.state_dict()[name.removeprefix("backbone.model.")]), name
    found = values(tmp_path, "mle")
    assert {f"acc@{k}{mode}" for k in (2, 5, 10) for mode in ("/full", "/cache", "/head")} <= set(found)
    cell, _, codec = stores.loaded(arguments(tmp_path, folder, sets=ZERO_SHOT))
    prompts = {row.id: row.source for row in cell.task.encode(cell.task.split("test").examples, codec)}
    rows = probes(tmp_path)
    assert len(rows) == len({tuple(prompt) for prompt in prompts.values()})
    for row in rows:
        with torch.no_grad():
            logits = library(torch.tensor([prompts[row["id"]]])).logits[0, -1]
        best = logits.topk(5).indices.tolist()
        assert row["head"][:5] == best
