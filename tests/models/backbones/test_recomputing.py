"""Activations that are computed again in the backward pass: the same losses and gradients, in every bit."""

from typing import Any

import pytest
import torch
from torch import Tensor

from bench.errors import UsageError
from bench.models.backbones.backbone import Backbone, Batch
from bench.models.backbones.recomputing import recomputed
from bench.models.core.continuations import without_dropout
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import LossSum
from bench.models.histalign import HistAlign
from bench.models.mle import MLE
from tests.bench.generation import tiny_decoders as tiny
from tests.models import still, tiny_bilstm

DROPOUT: dict[str, dict[str, Any]] = {"gpt2": {"attn_pdrop": 0.2}, "bart": {"dropout": 0.2}, "llama": {}}
LAYERS = {"GPT2Block", "LlamaDecoderLayer", "BartEncoderLayer", "BartDecoderLayer"}


class WithoutDropout(MLE):
    """Scores texts as a loss over the model's own does: in training mode again when the backward pass comes."""

    def step_loss(self, batch: Batch) -> LossSum:
        with without_dropout(self):
            return super().step_loss(batch)


def layers(backbone: Backbone) -> list[Any]:
    return [module for module in backbone.modules() if type(module).__name__ in LAYERS]


def differentiated(objective: Objective, kind: str, is_training: bool) -> tuple[Tensor, list[Tensor], int]:
    """Loss, gradients, and how often layers were run."""
    runs: list[Any] = []
    inner = [module for layer in layers(objective.backbone) for module in layer.children()]
    hooks = [module.register_forward_pre_hook(lambda module, given: runs.append(module)) for module in inner]
    torch.manual_seed(5)
    loss = objective.train(is_training).step_loss(still.batch(kind)).total
    found = still.gradients(objective, loss)
    for hook in hooks:
        hook.remove()
    return loss.detach(), found, len(runs)


@pytest.mark.parametrize("method", [MLE, HistAlign, WithoutDropout])
@pytest.mark.parametrize("kind", sorted(DROPOUT))
@pytest.mark.parametrize(("is_training", "is_frozen"), [(True, False), (True, True), (False, False)])
def test_losses_and_gradients_are_the_same_bits(
    kind: str, method: type[Objective], is_training: bool, is_frozen: bool
) -> None:
    """With dropout and without: a pretrained model comes in evaluation mode."""
    objective = method(tiny.backbone(kind, **DROPOUT[kind]))
    objective.backbone.embedding().requires_grad_(not is_frozen)
    kinds = [type(module) for module in objective.modules()]
    loss, gradients, runs = differentiated(objective, kind, is_training)
    with recomputed(objective.backbone):
        loss_again, gradients_again, runs_again = differentiated(objective, kind, is_training)
    assert torch.equal(loss, loss_again)
    assert all(map(torch.equal, gradients, gradients_again))
    assert any(bool(gradient.any()) for gradient in gradients)
    assert runs_again == 2 * runs
    assert differentiated(objective, kind, is_training)[2] == runs
    assert kinds == [type(module) for module in objective.modules()]


def test_a_model_that_cannot_is_refused_by_name() -> None:
    with (
        pytest.raises(UsageError, match="BiLSTMModel has none, so leave the setting out"),
        recomputed(tiny_bilstm.tiny()),
    ):
        pass
