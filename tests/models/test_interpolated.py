"""models/interpolated.py, mle_cache.py, mle_knn.py: what is chosen, what is kept, and that nothing is trained."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import bench
from bench.errors import UsageError
from bench.models.backbones.backbone import Batch
from bench.models.core.states import slices
from bench.models.interpolated import WEIGHTS, Interpolated
from bench.models.mle_knn import MLEKNN
from tests.conftest import Ended
from tests.models.test_objectives import codec, made, rows

METHODS = ("mle.cache", "mle.knn")
KINDS = ("small-causal", "small-encdec")


def batches(kind: str) -> list[Batch]:
    """Two batches of four rows."""
    return [codec(kind).train_batch(list(rows(kind)[at : at + 4])) for at in (0, 4)]  # type: ignore[misc]


def mixed(name: str, kind: str) -> Interpolated:
    objective = made(kind, name, **({"keys": 40, "k": 6} if name == "mle.knn" else {}))
    assert isinstance(objective, Interpolated)
    return objective.eval()


def nll(objective: Interpolated, given: list[Batch]) -> float:
    """Nats of all targets, by the distribution over the whole vocabulary."""
    total = 0.0
    for batch in given:
        for part in slices(objective.states(batch)):
            total -= float(objective.log_probs(part).gather(1, part.targets[:, None]).sum())
    return total


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", METHODS)
def test_the_best_of_the_grid_is_chosen(name: str, kind: str) -> None:
    """By the distribution itself, setting by setting."""
    objective = mixed(name, kind)
    with torch.no_grad():
        found = objective.after_training(batches(kind)[:1], batches(kind)[1:])
        chosen = objective.chosen.clone()
        every = {}
        for sharpness in objective.sharpnesses:
            for weight in WEIGHTS:
                objective.chosen.copy_(torch.tensor([weight, sharpness]))
                every[weight, sharpness] = nll(objective, batches(kind)[1:])
    assert found["weight"] == pytest.approx(float(chosen[0]))
    assert every[found["weight"], found["sharpness"]] == pytest.approx(min(every.values()), rel=1e-6)
    n_tokens = sum(int((batch["labels"] != -100).sum()) for batch in batches(kind)[1:])
    assert found["nll"] * n_tokens == pytest.approx(min(every.values()), rel=1e-6)
    assert found["nll_alone"] * n_tokens == pytest.approx(every[0.0, objective.sharpnesses[0]], rel=1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_before_anything_is_chosen_it_is_the_model(name: str) -> None:
    objective, plain = mixed(name, "small-causal"), made("small-causal", "mle").eval()
    plain.load_state_dict({key: value for key, value in objective.state_dict().items() if "backbone" in key})
    for part, other in zip(
        slices(objective.states(batches("small-causal")[0])),
        slices(plain.states(batches("small-causal")[0])),
        strict=True,
    ):
        torch.testing.assert_close(objective.log_probs(part), plain.log_probs(other))


def test_batches_that_are_read_are_spread_evenly_over_the_training_text() -> None:
    """With room for a third of the targets, every third of nine equal batches is read."""
    objective = mixed("mle.knn", "small-encdec")
    assert isinstance(objective, MLEKNN)
    given, read = [batches("small-encdec")[0]] * 9, []
    targets = [token for part in slices(objective.states(given[0])) for token in part.targets.tolist()]
    objective.most_keys = 3 * len(targets) - 2
    objective.prepare(torch.bincount(torch.tensor(9 * targets), minlength=300))
    states = objective.states
    objective.states = lambda batch: read.append(batch) or states(batch)  # type: ignore[method-assign]
    with torch.no_grad():
        found = objective.after_training(given, [])
    assert found["keys"] == len(objective.values) == objective.most_keys
    assert len(read) == 3
    assert objective.values.tolist() == (3 * targets)[: objective.most_keys]
    assert objective.keys.abs().sum(1).gt(0).all()


def test_all_targets_are_kept_where_there_is_room() -> None:
    objective = mixed("mle.knn", "small-causal")
    assert isinstance(objective, MLEKNN)
    given = batches("small-causal")
    targets = [token for batch in given for part in slices(objective.states(batch)) for token in part.targets.tolist()]
    objective.most_keys = 10_000
    objective.prepare(torch.bincount(torch.tensor(targets), minlength=300))
    with torch.no_grad():
        objective.after_training(given, given)
    assert objective.values.tolist() == targets


def test_cells_take_the_weights_of_mle_as_they_are(bench: Callable[..., Ended], tmp_path: Path) -> None:
    """Whatever number of steps a run asks for; the record says what was chosen."""
    small = ("trainer.steps=3", "backbone.width=16", "backbone.layers=1", "trainer.batch_size=4", "method.keys=50")
    ended = bench("run", "--task", "logicnlg", "--method", ",".join(("mle", *METHODS)), "--limit", "12", "--quiet",
                  "--set", *small, "--results", str(tmp_path))  # fmt: skip
    assert ended.code == 0, ended.err
    for name in METHODS:
        (file,) = (tmp_path / "logicnlg" / name).glob("*/trained.json")
        record = json.loads(file.read_text())
        content = record.get("content", record)
        assert content["train"]["steps"] == 0
        assert content["train"]["after_training"]["nll"] <= content["train"]["after_training"]["nll_alone"]
        assert content["start"]["config"]["method"] == "mle"


def test_there_is_nothing_to_train(tmp_path: Path, sample_data: None) -> None:
    with pytest.raises(UsageError, match="takes the weights of 'mle' as they are"):
        bench.make("logicnlg", "mle.cache", results=tmp_path)
