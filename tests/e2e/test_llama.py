"""LLaMA-2, end to end on a tiny model of its architecture: read without training, trained, and in shares."""

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

from bench.cells.plan import make_plan
from bench.config.arguments import RunArguments
from bench.errors import UsageError
from tests.conftest import Ended
from tests.e2e import children, stores
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


def weights(results: Path, method: str) -> dict[str, torch.Tensor]:
    """Its weights."""
    (path,) = results.rglob(f"{method}/*/model-*")
    return dict(load_file(path))


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
    for name, weight in weights(tmp_path, "mle").items():
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


def test_no_training_needs_weights(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="backbone small-causal has random weights"):
        make_plan(RunArguments(("ambiguous_template",), ("mle",), preset="small", sets=ZERO_SHOT, limit=8))


def test_the_paper_s_cells_are_planned() -> None:
    """Table 2 of HistAlign: three methods on LLaMA-2 7B, from which nothing is downloaded to plan it."""
    arguments = RunArguments(
        ("ambiguous_template",), ("mle", "trime", "histalign"), backbone="llama2-7b", preset="paper", controls=False
    )
    cells = make_plan(arguments, costs_only=True).cells
    assert [(cell.config.method, cell.config.backbone) for cell in cells] == [
        ("mle", "llama2-7b"), ("trime", "llama2-7b"), ("histalign", "llama2-7b"),
    ]  # fmt: skip
    assert {cell.config.trainer.batch_size for cell in cells} == {256}
    assert {cell.config.trainer.lr for cell in cells} == {1e-5}


@pytest.mark.ddp
@pytest.mark.slow
def test_a_run_in_shares_stores_what_one_process_stores(
    bench: Bench, run: Run, log: Path, folder: Path, tmp_path: Path
) -> None:
    """Weights to rounding, the same files, and rows of both processes; provenance says how."""
    alone, shared = tmp_path / "alone", tmp_path / "shared"
    assert bench(*arguments(alone, folder, method="histalign")).code == 0
    more = ("--devices", "2", "--strategy", "fsdp", "--set", "execution.activation_checkpointing=true")
    assert run(arguments(shared, folder, *more, method="histalign"), children.ForkedWorkers()) == 0, children.read(log)
    provenance = record(shared, "histalign")["provenance"]
    assert (provenance["world"], provenance["strategy"], provenance["activation_checkpointing"]) == (2, "fsdp", True)
    ours, theirs = weights(alone, "histalign"), weights(shared, "histalign")
    assert ours.keys() == theirs.keys()
    for name, weight in ours.items():
        assert float((weight - theirs[name]).abs().max()) <= 1e-5, name
    names = [{path.name.split("-")[0] for path in results.rglob("*.*")} for results in (alone, shared)]
    assert names[0] == names[1]
    assert values(alone, "histalign") == pytest.approx(values(shared, "histalign"), rel=1e-3)


def test_shares_need_processes_and_a_precision(bench: Bench, folder: Path, tmp_path: Path) -> None:
    ended = bench(*arguments(tmp_path, folder, "--strategy", "fsdp"))
    assert (ended.code, "give --devices 2 or more" in ended.err) == (2, True)
    two = ("--strategy", "fsdp", "--devices", "2")
    ended = bench(*arguments(tmp_path, folder, *two, "--set", "trainer.precision=16-mixed"))
    assert (ended.code, "does not go with trainer.precision=16-mixed" in ended.err) == (2, True)


def test_a_method_that_writes_while_it_is_trained_is_left_out(folder: Path) -> None:
    arguments = RunArguments(
        ("ambiguous_template",), ("mle", "ul_seq"), backbone=str(folder), preset="small", limit=8, devices=2,
        strategy="fsdp",
    )  # fmt: skip
    plan = make_plan(arguments)
    assert [cell.config.method for cell in plan.cells] == ["mle"]
    (skip,) = plan.skips
    assert skip.method == "ul_seq"
