"""Perf of whole training steps: a GPT-2 body, the method's loss, its backward pass and AdamW; and of plain torch's."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.base.autocast import autocast
from bench.base.seeds import seed_torch
from bench.config.resolve import find_method
from bench.config.second import second_of
from bench.cost.flops import flops_of_row, products_of
from bench.cost.memory import Lengths
from bench.cost.zipf import zipf_counts
from bench.models.backbones.causal import Causal
from bench.models.core.objective import Objective
from bench.models.core.run_context import Optimiser, RunContext
from bench.perf.heads import Run, Size, zipf

__all__ = ["PEERS", "Place", "objective_over_body", "peer_step", "step_flops", "step_of"]

HEAD_WIDTH = 64
"""Width of one head of attention, as in every GPT-2."""


@dataclass(frozen=True)
class Place:
    """Where and how a step is computed.

    Args:
        device: of the weights.
        precision: `32-true` or `bf16-mixed`, as the trainer has it.
    """

    device: torch.device
    precision: str = "32-true"


def step_of(name: str, size: Size, layers: int, place: Place) -> Run:
    """Return one training step of a method; one that makes its own texts takes such a step."""
    objective = objective_over_body(name, size, layers, place)
    batch = objective.transfer_batch_to_device(_batch(size), place.device, 0)
    optimiser = objective.configure_optimizers()["optimizer"]

    def once() -> tuple[Tensor, list[Tensor]]:
        with autocast(place.precision, place.device):
            loss = objective.training_step({**batch, "step": 0}, 0)  # type: ignore[typeddict-item]
        loss.backward()
        objective.end_of_step(lambda tensor: tensor)
        optimiser.step()
        optimiser.zero_grad()
        return loss.detach(), []

    return once


def peer_step(name: str, size: Size, layers: int, place: Place) -> Run:
    """Return one training step of the same body by plain torch, or by a library's loss.

    Args:
        name: of `PEERS`.
    """
    model = _body(size, layers, seed=0).model.to(place.device)
    loss_of = PEERS[name](model)
    batch = _batch(size)
    ids = batch["input_ids"].to(place.device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def once() -> tuple[Tensor, list[Tensor]]:
        with autocast(place.precision, place.device):
            loss = loss_of(ids)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        return loss.detach(), []

    return once


Loss = Callable[[Tensor], Tensor]
"""Token ids [B, T+1] -> mean cross-entropy of the T tokens that follow."""


def _plain(model: nn.Module) -> Loss:
    """Cross-entropy over all logits at once; the model does not look for padding, which there is none of."""
    model.config.pad_token_id = None  # type: ignore[union-attr]

    def loss(ids: Tensor) -> Tensor:
        logits = model(input_ids=ids[:, :-1], use_cache=False).logits
        return functional.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())

    return loss


def _compiled(model: nn.Module) -> Loss:
    """The same, body and loss compiled as one."""
    return torch.compile(_plain(model))


def _liger(model: nn.Module) -> Loss:
    """Liger's fused linear cross-entropy over the same body."""
    from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss  # type: ignore[import-not-found]

    fused = LigerFusedLinearCrossEntropyLoss()
    body: Any = model.base_model
    head: Any = model.get_output_embeddings()  # type: ignore[operator]

    def loss(ids: Tensor) -> Tensor:
        hidden = body(input_ids=ids[:, :-1], use_cache=False).last_hidden_state
        return fused(head.weight, hidden.flatten(0, 1), ids[:, 1:].flatten())

    return loss


PEERS: dict[str, Callable[[nn.Module], Loss]] = {"plain torch": _plain, "torch.compile": _compiled}
"""What computes the same step of MLE, by name: from a model to its loss."""
if importlib.util.find_spec("liger_kernel"):
    PEERS["Liger"] = _liger


def step_flops(size: Size, layers: int) -> float:
    """Return the floating-point operations of one forward and backward pass of MLE, as costs of cells count them."""
    with torch.device("meta"):
        products = products_of(_body(size, layers, seed=0))
    return size.batch * flops_of_row(products, Lengths(source=0, target=size.positions))


def objective_over_body(name: str, size: Size, layers: int, place: Place) -> Objective:
    """Return a method over a new model; its second model has as many layers."""
    from bench.cells.build import continue_with

    method = find_method(name)
    objective = method.objective(_body(size, layers, seed=0))
    context = RunContext(optimiser=Optimiser(steps=1000), continue_greedily=continue_with(objective))
    second = second_of(method)
    if second is not None:
        context = replace(context, second=second.objective(_body(size, layers, seed=1)))
    objective.setup_run(context)
    if objective.uses_token_counts:
        objective.prepare(zipf_counts(size.vocabulary))
    return objective.to(place.device)


def _body(size: Size, layers: int, seed: int) -> Causal:
    """Return a GPT-2 with new weights and without dropout."""
    from transformers import GPT2Config, GPT2LMHeadModel

    seed_torch(seed)
    config = GPT2Config(
        vocab_size=size.vocabulary,
        n_positions=size.positions + 1,
        n_embd=size.width,
        n_layer=layers,
        n_head=max(1, size.width // HEAD_WIDTH),
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
    return Causal(GPT2LMHeadModel(config), None)


def _batch(size: Size) -> dict[str, Any]:
    """Return a batch of rows without padding, whose every token but the first is a target."""
    ids = zipf((size.batch, size.positions + 1), size.vocabulary, torch.Generator().manual_seed(0))
    labels = ids.clone()
    labels[:, 0] = -100
    return {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "labels": labels,
        "step_tokens": size.batch * size.positions,
        "step_rows": size.batch,
    }
