"""LLaMA-2, end to end on a tiny model of its architecture: read without training, and trained."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import LlamaForCausalLM

from bench.store.store import CellFolder, Store
from tests.conftest import Bench
from tests.e2e import stores
from tests.models.backbones.folders import save_model

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


def of_method(results: Path, method: str) -> CellFolder:
    """The only run of a method."""
    (found,) = (cell for cell in Store(results).cells() if cell.path.parent.name == method)
    return found


def values(results: Path, method: str) -> dict[str, float]:
    """Its scores by column."""
    every = of_method(results, method).all_scores()
    return {value["name"]: value["value"] for scores in every for value in scores["values"]}


def test_a_model_is_read_without_training(bench: Bench, folder: Path, tmp_path: Path) -> None:
    """Head, cache and both are ranked; the head's best tokens are those of the library, on the whole prompt."""
    ended = bench(*arguments(tmp_path, folder, sets=ZERO_SHOT))
    assert ended.code == 0, ended.err
    trained = (of_method(tmp_path, "mle").trained() or {})["train"]
    assert (trained["steps"], trained["tokens"], trained["curve"]) == (0, 0, [])
    library = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    (path,) = tmp_path.rglob("mle/*/model-*")
    for name, weight in load_file(path).items():
        assert torch.equal(weight, library.state_dict()[name.removeprefix("backbone.model.")]), name
    found = values(tmp_path, "mle")
    assert {f"acc@{k}{mode}" for k in (2, 5, 10) for mode in ("/full", "/cache", "/head")} <= set(found)
    cell, _, codec = stores.loaded(arguments(tmp_path, folder, sets=ZERO_SHOT))
    prompts = {row.id: row.source for row in cell.task.encode(cell.task.split("test").examples, codec)}
    (rows,) = (rows.rows for rows in of_method(tmp_path, "mle").all_rows() if rows.content["kind"] == "probe")
    assert len(rows) == len({tuple(prompt) for prompt in prompts.values()})
    for row in rows:
        with torch.no_grad():
            logits = library(torch.tensor([prompts[row["id"]]])).logits[0, -1]
        best = logits.topk(5).indices.tolist()
        assert row["head"][:5] == best
