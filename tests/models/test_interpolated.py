"""models/interpolated.py, mle_cache.py, mle_knn.py: what is chosen, what is kept, and that nothing is trained."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import bench
from bench.errors import UsageError
from bench.models.backbones.backbone import Batch
from bench.models.core.rebuild import rebuilt
from bench.models.core.states import TokenSlice, slices
from bench.models.interpolated import MLEKNN, WEIGHTS, Interpolated
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", METHODS)
def test_parts_are_those_of_its_own_mixture(name: str, kind: str) -> None:
    """Not the model's scores beside its states, as of a method without a mixture."""
    objective = mixed(name, kind)
    given = batches(kind)
    targets = [token for batch in given for part in slices(objective.states(batch)) for token in part.targets.tolist()]
    if name == "mle.knn":
        objective.prepare(torch.bincount(torch.tensor(targets), minlength=300))
    n_reading = 0
    with torch.no_grad():
        objective.after_training(given, given)
        objective.chosen.copy_(torch.tensor([0.3, objective.sharpnesses[1]]))
        for part in slices(objective.states(given[0])):
            found = objective.components(part)
            assert torch.equal(found["full"], objective.log_probs(part))
            torch.testing.assert_close(torch.logaddexp(found["head"], found["cache"]), found["full"])
            reads = (found["cache"] > -torch.inf).any(1)
            n_reading += int(reads.sum())
            shares = found["cache"][reads].exp().sum(1)
            torch.testing.assert_close(shares, torch.full_like(shares, 0.3), rtol=1e-6, atol=0)
    assert n_reading


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


def neighbours(kind: str = "small-causal", **options: int) -> MLEKNN:
    objective = made(kind, "mle.knn", **{"keys": 40, "k": 6, **options}).eval()
    assert isinstance(objective, MLEKNN)
    return objective


def rows_of_a_batch(objective: Interpolated, number: int, kind: str = "small-causal") -> TokenSlice:
    return next(iter(slices(objective.states(batches(kind)[number]))))


def fill(objective: MLEKNN, n: int) -> TokenSlice:
    """Put the first n states of a batch into the datastore; its other places are empty."""
    rows = rows_of_a_batch(objective, 0)
    objective.values.fill_(-1)
    objective.keys[:n], objective.values[:n] = rows.hidden[:n], rows.targets[:n]
    objective.index()
    return rows


@torch.no_grad()
def test_empty_places_take_no_part_in_a_search() -> None:
    """They lie at the origin, which is nearer to a state than most of the keys."""
    objective = neighbours()
    fill(objective, 10)
    rows = rows_of_a_batch(objective, 1)
    scores, tokens, readable = objective.entries(rows)
    every = (rows.hidden.float()[:, None] - objective.keys[:10].float()).square().sum(2)
    torch.testing.assert_close(-scores * objective.mean_distance, every.sort(1).values[:, :6].to(scores.dtype))
    assert readable.all()
    assert torch.equal(tokens, objective.values[every.argsort(1)[:, :6]])
    fill(objective, 0)
    torch.testing.assert_close(objective.log_probs(rows), objective.logits(rows).log_softmax(1))


def scaled(states: Any, factor: float) -> Any:
    return replace(states, hidden=factor * states.hidden)


@torch.no_grad()
def test_states_too_large_for_a_key_are_refused() -> None:
    objective = neighbours()
    objective.keys = objective.keys.half()
    states = objective.states
    objective.states = lambda batch: scaled(states(batch), 1e6)  # type: ignore[method-assign]
    with pytest.raises(UsageError, match=r"up to 65,504; a state of this model has larger ones.*leave mle.knn out"):
        objective.after_training(batches("small-causal"), batches("small-causal"))


@torch.no_grad()
def test_a_checkpoint_alone_is_enough() -> None:
    objective = neighbours()
    fill(objective, 10)
    again = rebuilt(MLEKNN, {"state_dict": objective.state_dict(), "objective": {}}, "objective", objective.backbone,
                   None, {"keys": 40, "k": 6})  # fmt: skip
    assert torch.equal(again.values, objective.values)
    assert torch.equal(again.keys, objective.keys.half())


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
