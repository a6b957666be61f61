"""Transfer, end to end: a cell of one task starts from a cell of another, with its vocabulary."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load

from bench.store.store import TOKENIZER
from tests.conftest import Ended, call, forget_data
from tests.e2e import children, stores

Bench = Callable[..., Ended]
Run = Callable[..., int]

SHARED = ("backbone.context=96", "backbone.embeddings=trained")


def arguments(
    results: Path, *more: str, method: str = "f2softmax", task: str = "logicnlg", sets: tuple[str, ...] = ()
) -> list[str]:
    """A tiny decoder on a task."""
    return stores.arguments(
        results, "--backbone", "small-causal", *more, task=task, method=method, sets=(*SHARED, *sets)
    )


def only(results: Path, task: str, method: str) -> Path:
    (folder,) = results.glob(f"{task}/{method}/*")
    return folder


def weights(folder: Path) -> dict[str, torch.Tensor]:
    (path,) = folder.glob("model-*")
    return load(path.read_bytes())


def record(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "trained.json").read_text())["content"]
    return found


@pytest.fixture(scope="module")
def donors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two methods trained on Ambiguous Template."""
    folder = tmp_path_factory.mktemp("donors")
    with pytest.MonkeyPatch.context() as patch:
        forget_data(patch, folder / "no-cache")
        ended = call(*arguments(folder / "results", task="ambiguous_template", method="f2softmax,mle"))
    assert ended.code == 0, ended.err
    return folder / "results"


@pytest.mark.parametrize("donor", ["f2softmax", "mle"])
def test_a_cell_goes_on_from_another_task(bench: Bench, donors: Path, tmp_path: Path, donor: str) -> None:
    """With a learning rate of zero it is the donor on other rows; run again, nothing is left to do."""
    origin = only(donors, "ambiguous_template", donor)
    sets = (f"trainer.init_from={origin}", "trainer.lr=0")
    assert bench(*arguments(tmp_path, sets=sets)).code == 0
    folder = only(tmp_path, "logicnlg", "f2softmax")
    before, after = weights(origin), weights(folder)
    shared = [name for name in before if donor == "f2softmax" or name.startswith("backbone.")]
    assert all(torch.equal(before[name], after[name]) for name in shared)
    assert (folder / TOKENIZER).read_bytes() == (origin / TOKENIZER).read_bytes()
    assert record(folder)["start"]["key"] == origin.name
    assert {path.name.partition("-")[0] for path in folder.glob("*-*")} == {"model", "rows", "scores", "items"}
    again = bench(*arguments(tmp_path, sets=sets))
    assert len(json.loads(again.out)["stored"]) == 1


def test_the_donor_may_be_moved(bench: Bench, donors: Path, tmp_path: Path) -> None:
    """The same cell, with the same record, wherever its start lies."""
    origin = only(donors, "ambiguous_template", "mle")
    moved = Path(shutil.copytree(origin, tmp_path / "elsewhere"))
    for place in (origin, moved):
        ended = bench(*arguments(tmp_path / "results", method="mle", sets=(f"trainer.init_from={place}",)))
        assert ended.code == 0
    assert len(json.loads(ended.out)["stored"]) == 1
    other = tmp_path / "others"
    assert bench(*arguments(other, method="mle", sets=(f"trainer.init_from={moved}",))).code == 0
    first, second = (only(results, "logicnlg", "mle") for results in (tmp_path / "results", other))
    same = [path.name for path in first.iterdir() if path.name != "config.yaml"]
    assert {name: stores.content_of(first / name) for name in same} == {
        name: stores.content_of(second / name) for name in same
    }
    assert str(moved) in (second / "config.yaml").read_text()


def test_two_devices_start_from_it_too(bench: Bench, run: Run, log: Path, donors: Path, tmp_path: Path) -> None:
    sets = (f"trainer.init_from={only(donors, 'ambiguous_template', 'mle')}", "trainer.lr=0")
    assert bench(*arguments(tmp_path / "one", sets=sets)).code == 0
    two = arguments(tmp_path / "two", "--devices", "2", sets=sets)
    assert run(two, children.ForkedWorkers()) == 0, children.read(log)
    folders = [only(tmp_path / name, "logicnlg", "f2softmax") for name in ("one", "two")]
    assert folders[0].name == folders[1].name
    first, second = (weights(folder) for folder in folders)
    assert all(torch.equal(tensor, second[name]) for name, tensor in first.items())


def test_what_fits_is_better_than_what_is_random(bench: Bench, donors: Path, tmp_path: Path) -> None:
    """On the donor's own rows: the first recorded loss is lower than that of a start from scratch."""
    losses = []
    for sets in ((), (f"trainer.init_from={only(donors, 'ambiguous_template', 'mle')}",)):
        results = tmp_path / str(len(sets))
        assert (
            bench(*arguments(results, task="ambiguous_template", method="mle", sets=(*sets, "trainer.steps=1"))).code
            == 0
        )
        losses.append(record(only(results, "ambiguous_template", "mle"))["train"]["curve"][0][1])
    assert losses[1] < losses[0]
