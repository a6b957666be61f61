"""How many kernels a slice of a loss starts, and that nothing in a loss waits for the device."""

import copy
from typing import Any
from unittest import mock

import pytest
import torch

from bench.config.resolve import find_method, method_names, reference_of
from bench.models.backbones.backbone import Backbone, Batch
from bench.models.core.cpu_copy import kept_arrays, moved
from bench.models.core.objective import Objective
from bench.models.core.run_context import RunContext
from bench.models.core.states import IGNORED
from tests.models import still
from tests.operations import counted
from tools.heads import Size, has_head, objective_of

KERNELS = {"mle": 17, "histalign": 17, "ul_token": 49, "trime": 55, "face": 29, "simctg": 17, "ct": 55}
"""Most operations of a slice, views left out. A ranking term has slices of its own, over the memory."""

NAMES = [name for name in method_names(["all"], controls=False) if has_head(name)]
VARIANTS = ["ul_token.released", "trime.released", "face.released", "histalign.released", "simctg.released"]


def kernels(name: str, monkeypatch: pytest.MonkeyPatch, rows: int) -> int:
    """Count the operations of a loss over some rows of one slice each."""
    monkeypatch.setattr(Objective, "slice_size", 64)
    size = Size(batch=rows, positions=64, width=16, vocabulary=300)
    objective = objective_of(name, size, torch.device("cpu")).train()
    states = objective.backbone.states({})
    with counted() as operations:
        objective.loss(states)
    return operations.kernels.total()


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_of_a_slice(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What two more slices add, the first of which may also be another form of a sum."""
    two_slices = kernels(name, monkeypatch, 6) - kernels(name, monkeypatch, 4)
    assert 0 < two_slices <= 2 * KERNELS[name]


def objective_over(name: str, backbone: Backbone) -> Objective:
    """A method, with the token counts and the reference model it may ask for."""
    method = find_method(name)
    objective = method.objective(backbone)
    reference = reference_of(method)
    if reference is not None:
        objective.setup_run(RunContext(reference=reference.objective(copy.deepcopy(backbone))))
    if objective.uses_token_counts:
        objective.prepare(torch.arange(backbone.vocabulary_size) + 1)
    return objective.train()


def known(batch: Batch) -> Any:
    """The batch as a trainer hands it on."""
    return moved(batch, batch)


@pytest.mark.parametrize("name", [*NAMES, *VARIANTS])
@pytest.mark.parametrize("kind", still.KINDS)
def test_no_loss_waits(kind: str, name: str) -> None:
    """Neither value nor gradient asks a tensor for what it holds, or for a shape that hangs on it."""
    objective = objective_over(name, still.backbone(kind, dtype=torch.float32))
    states = objective.states(known(still.batch(kind)))
    with counted() as operations:
        objective.loss(states).total.backward()
    assert dict(operations.waits) == {}


@pytest.mark.parametrize("kind", still.KINDS)
def test_a_batch_that_nobody_moved_is_read(kind: str) -> None:
    """The loss is the same; targets are copied from the device once, and the memory where a method asks for it."""
    objective, batch = objective_over("histalign", still.backbone(kind)), still.batch(kind)
    with counted() as operations:
        bare = objective.loss(objective.backbone.states(batch))
    assert operations.waits["numpy"] > 0
    assert torch.equal(objective.loss(objective.backbone.states(known(batch))).total, bare.total)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("kind", [*still.KINDS, "llama"])
def test_no_body_waits(kind: str, padded: bool) -> None:
    """Neither for a mask that is all ones nor for one that is not; and the states are those of a plain mask."""
    backbone, batch = still.backbone(kind, dtype=torch.float32), still.batch(kind)
    if not padded:
        batch["attention_mask"] = torch.ones_like(batch["attention_mask"])
    given = known(batch)
    with counted() as operations:
        found = backbone.states(given)
    assert dict(operations.waits) == {}
    config = backbone.model.config
    with mock.patch.object(config, "model_type", "another"):
        expected = backbone.states(batch)
    real = batch["attention_mask"][:, : found.hidden.shape[1]] > 0
    if kind == "bart":
        real = batch["labels"] != IGNORED
    assert torch.equal(found.hidden[real], expected.hidden[real])


class TestKeptArrays:
    def test_only_of_the_tensor_that_was_copied(self) -> None:
        """Labels that were changed after the batch was moved are read from their tensor."""
        batch = known(still.batch("gpt2"))
        assert kept_arrays(batch, "labels", "input_ids") is not None
        batch["labels"] = batch["labels"].clone()
        assert kept_arrays(batch, "labels", "input_ids") is None
        assert kept_arrays(still.batch("gpt2"), "labels") is None

    def test_a_trainer_keeps_them(self) -> None:
        """Whoever makes the batches: what Lightning moves keeps its arrays."""
        objective, batch = objective_over("mle", still.backbone("gpt2")), still.batch("gpt2")
        found = objective.transfer_batch_to_device(batch, torch.device("cpu"), 0)
        assert found.keys() == {*batch, "cpu"}
        arrays = kept_arrays(found, "labels", "input_ids", "attention_mask")
        assert arrays is not None
        assert (arrays[0] == batch["labels"].numpy()).all()
        assert objective.transfer_batch_to_device(None, torch.device("cpu"), 0) is None
