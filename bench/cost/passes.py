"""Passes: what a backbone and a loss hold in memory, from a forward and a backward pass over blank tensors.

Shapes: B rows, S source tokens, T target tokens, E exemplar tokens.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from bench.base.autocast import autocast
from bench.cost.live_bytes import AsOnGPU, LiveBytes
from bench.cost.memory import Lengths, Memory
from bench.models.backbones.backbone import Backbone
from bench.models.core.head import slice_size, sliced_as_on
from bench.models.core.host import moved
from bench.models.core.objective import Objective
from bench.models.core.states import IGNORED, States

__all__ = ["BackbonePass", "Where", "backbone_passes", "batch_of", "traced"]

CPU = torch.device("cpu")
"""Where blank tensors say that they are, whatever device is counted for."""


@dataclass(frozen=True)
class Where:
    """How a pass is computed.

    Args:
        fake: the mode that blank tensors are made in.
        precision: as `trainer.precision` names it.
        kind: of device, `cuda` or `cpu`.
    """

    fake: FakeTensorMode
    precision: str
    kind: str

    @contextmanager
    def counted(self) -> Iterator[LiveBytes]:
        """Compute on blank tensors, as on the device; yield the counter of what they hold."""
        counter = LiveBytes(self.fake)
        with ExitStack() as stack:
            stack.enter_context(sliced_as_on(self.kind))
            stack.enter_context(self.fake)
            if self.kind == "cuda":
                stack.enter_context(AsOnGPU())
            stack.enter_context(counter)
            yield counter

    def cast(self) -> AbstractContextManager[Any]:
        """Compute as the precision says."""
        return autocast(self.precision, CPU)


@dataclass(frozen=True)
class BackbonePass:
    """What a backbone holds at a number of rows.

    Args:
        rows: of the micro-batch.
        states: blank ones, outside the graph.
        forward, activations, backward: bytes, as `Memory` has them.
    """

    rows: int
    states: States
    forward: int
    activations: int
    backward: int


def backbone_passes(backbone: Backbone, where: Where, lengths: Lengths, most: int) -> list[BackbonePass]:
    """Run a backbone forward and backward at the numbers of rows that a line goes through.

    Args:
        backbone: of blank tensors.
        where: how it is computed.
        lengths: the most of the recipe.
        most: rows of the largest micro-batch.
    """
    with sliced_as_on(where.kind), where.fake, where.cast():
        saturated = math.ceil(slice_size(backbone.embedding()) / max(1, int(lengths.target)))
    most = max(2, most)
    rows = sorted({1, min(most, max(2, saturated)), min(most, max(2, 2 * saturated))})
    return [_backbone_pass(backbone, where, lengths, n) for n in rows]


def traced(objective: Objective, where: Where, passes: list[BackbonePass]) -> Memory:
    """Run the loss of an objective over the states of its backbone; return what both hold.

    Args:
        objective: over the backbone of these passes.
        where: how it is computed.
        passes: of its backbone.
    """
    losses = [_loss(objective, where, one.states) for one in passes]
    return Memory(
        rows=tuple(one.rows for one in passes),
        forward=tuple(one.forward for one in passes),
        activations=tuple(one.activations for one in passes),
        backward=tuple(one.backward for one in passes),
        loss=tuple(peak for peak, _ in losses),
        kept=tuple(kept for _, kept in losses),
    )


def batch_of(lengths: Lengths, backbone: Backbone, rows: int) -> dict[str, Any]:
    """Return a batch of rows that are all as long as that, of tokens as frequent as those of text."""
    drawn = np.random.default_rng(0)
    source, target = int(lengths.source), int(lengths.target)
    size = backbone.vocabulary_size

    def tokens(length: int) -> Tensor:
        share = size ** drawn.random((rows, max(1, length)))  # log-uniform ranks, near Zipf's law
        return torch.from_numpy(np.minimum(share.astype(np.int64), size - 1))

    if backbone.architecture == "encoder-decoder":
        batch = {"input_ids": tokens(source), "labels": tokens(target)}
    else:
        ids = tokens(source + target)
        labels = ids.clone()
        labels[:, :source] = IGNORED
        batch = {"input_ids": ids, "labels": labels}
    batch["attention_mask"] = torch.ones_like(batch["input_ids"])
    if lengths.exemplar:
        batch["exemplar_ids"] = tokens(int(lengths.exemplar))
        batch["exemplar_mask"] = torch.ones_like(batch["exemplar_ids"])
    return batch


def _backbone_pass(backbone: Backbone, where: Where, lengths: Lengths, rows: int) -> BackbonePass:
    """Run a backbone over a batch, and back from its states."""
    batch = batch_of(lengths, backbone, rows)
    blank: Any = moved(batch, {name: where.fake.from_tensor(value) for name, value in batch.items()})
    backbone.train()
    backbone.zero_grad()
    with where.counted() as counter:
        with where.cast():
            states = backbone.states(blank)
        forward, activations = counter.peak, counter.live
        outputs = [values for values in states.differentiable if values.requires_grad]
        gradients = [torch.zeros_like(values) for values in outputs]
        counter.live = activations  # these gradients are the loss's, and counted there
        counter.reset_peak()
        torch.autograd.backward(outputs, gradients)
        backward = counter.peak
    backbone.zero_grad()
    return BackbonePass(rows, _outside(states), forward, activations, backward)


def _outside(states: States) -> States:
    """Return states outside the graph of their backbone, to be differentiated by."""
    copying = states.copying
    if copying is not None:
        copying = copying.detach().requires_grad_()
    hidden, memory = states.hidden.detach().requires_grad_(), states.memory.detach().requires_grad_()
    return replace(states, hidden=hidden, memory=memory, copying=copying)


def _loss(objective: Objective, where: Where, states: States) -> tuple[int, int]:
    """Return the peak of a loss, and what it keeps for the backward pass."""
    objective.train()
    with where.counted() as counter, where.cast():
        loss = objective.loss(states)
        peak, kept = counter.peak, counter.live
        del loss
    return peak, kept
