"""Memory: the peak of a training step, from one forward and backward pass over blank tensors.

Peaks of the backbone grow on a line with the rows of a micro-batch; those of the loss on a line through three points,
because its slices stop growing at some number of rows. Lengths are the recipe's own: attention makes memory grow faster
than length.

Shapes: B rows, S source tokens, T target tokens, E exemplar tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from bench.cost.live_bytes import AsOnGPU, LiveBytes
from bench.cost.parameters import Parameters
from bench.models.backbones.backbone import Backbone, Batch
from bench.models.core.head import sliced_as_on
from bench.models.core.host import moved
from bench.models.core.objective import Objective
from bench.models.core.states import IGNORED, States

__all__ = ["MARGIN", "Lengths", "Memory", "largest_micro_batch", "peak_bytes", "traced"]

MARGIN = 1.15
"""What a peak is multiplied with before it is said to fit."""

MIXED = {"bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}


@dataclass(frozen=True)
class Lengths:
    """Tokens of one row: the most of a recipe, or the average of a data set.

    Args:
        source: of the source, or of the prompt.
        target: of the target; positions that carry a loss.
        exemplar: of the exemplar, 0 where a method reads none.
    """

    source: float
    target: float
    exemplar: float = 0.0


@dataclass(frozen=True)
class Memory:
    """Bytes of a micro-batch beside weights, by how many rows it has.

    Args:
        rows: numbers of rows that were traced, from 1 on.
        forward: peak of the backbone's forward pass.
        activations: what is kept of it for the backward pass.
        backward: peak of the backbone's backward pass, with activations and gradients.
        loss: peak of the loss over what it starts with.
        kept: what the loss keeps for the backward pass: gradients of states and head.
    """

    rows: tuple[int, ...]
    forward: tuple[int, ...]
    activations: tuple[int, ...]
    backward: tuple[int, ...]
    loss: tuple[int, ...]
    kept: tuple[int, ...]

    @staticmethod
    def of(content: Mapping[str, Sequence[int]]) -> Memory:
        """Return it from plain content."""
        return Memory(**{name: tuple(values) for name, values in content.items()})

    def at(self, name: str, rows: int) -> float:
        """Return one of its bytes at a number of rows, on the line through the two nearest that were traced."""
        values = getattr(self, name)
        if len(self.rows) == 1:
            return float(values[0])
        right = next((at for at, known in enumerate(self.rows) if at and known >= rows), len(self.rows) - 1)
        (low, high), (first, second) = self.rows[right - 1 : right + 1], values[right - 1 : right + 1]
        return float(first + (second - first) * (rows - low) / (high - low))


def peak_bytes(memory: Memory, parameters: Parameters, rows: int, accumulate: int, kind: str) -> dict[str, float]:
    """Return the bytes of each phase of a training step; the largest is the peak.

    Gradients of the step before are freed only when the backward pass begins, as a Lightning trainer does it, and stay
    through the step where there are several micro-batches.

    Args:
        memory: of the micro-batch.
        parameters: of the objective.
        rows: of a micro-batch.
        accumulate: micro-batches of a step.
        kind: of device, `cuda` or `cpu`.
    """
    size = parameters.item_bytes
    gradients = size * parameters.trained
    held = size * parameters.total + 2 * size * parameters.trained  # weights and both moments
    forward, activations = memory.at("forward", rows), memory.at("activations", rows)
    backward, kept = memory.at("backward", rows), memory.at("kept", rows)
    if accumulate > 1:  # gradients of one tensor at a time beside those of the micro-batches before
        backward = gradients + max(activations, backward - gradients) + size * parameters.largest
    copies = 2 * size * parameters.largest
    if kind == "cuda":  # AdamW over all tensors at once keeps a copy of the second moments
        copies = gradients
    return {
        "forward": held + gradients + forward,
        "loss": held + gradients + activations + memory.at("loss", rows),
        "backward": held + kept + backward,
        "optimiser": held + gradients + copies,
    }


def largest_micro_batch(batch_size: int, world: int, peak: Callable[[int, int], float], available: float) -> int | None:
    """Return the fewest micro-batches of a step that fit, or None where not even one row does.

    Args:
        batch_size: rows of a step.
        world: processes that share it.
        peak: bytes, given rows of a micro-batch and micro-batches of a step.
        available: bytes.
    """
    accumulate = 1
    while accumulate * world <= batch_size:
        rows = math.ceil(batch_size / (accumulate * world))
        if MARGIN * peak(rows, accumulate) <= available:
            return accumulate
        accumulate *= 2
    return None


# Tracing --------------------------------------------------------------------------------------------------------


def traced(
    objective: Objective, fake: FakeTensorMode, lengths: Lengths, most: int, precision: str, kind: str
) -> Memory:
    """Count the live bytes of a training step's forward pass, loss and backward pass.

    Args:
        objective: over a backbone, all of blank tensors.
        fake: the mode they were made in.
        lengths: the most of the recipe.
        most: rows of the largest micro-batch.
        precision: as `trainer.precision` names it.
        kind: of device, `cuda` or `cpu`.
    """
    objective.train()
    with sliced_as_on(kind):
        saturated = math.ceil(objective.slice_size / max(1, int(lengths.target)))
        rows = sorted({1, min(max(most, 2), saturated), min(max(most, 2), 2 * saturated), 2 if most == 1 else 1})
        points = [_pass(objective, fake, batch_of(lengths, objective.backbone, n), precision, kind) for n in rows]
    columns = {name: tuple(point[name] for point in points) for name in points[0]}
    return Memory(tuple(rows), **columns)


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


def _pass(
    objective: Objective, fake: FakeTensorMode, batch: dict[str, Tensor], precision: str, kind: str
) -> dict[str, int]:
    """Return the bytes of one forward pass, loss and backward pass."""
    blank: Any = moved(batch, {name: fake.from_tensor(value) for name, value in batch.items()})
    objective.zero_grad()
    found: dict[str, int] = {}
    counter = LiveBytes(fake)
    with ExitStack() as stack:
        stack.enter_context(fake)
        if kind == "cuda":
            stack.enter_context(AsOnGPU())
        stack.enter_context(counter)
        with ExitStack() as forward:
            if precision in MIXED:
                forward.enter_context(torch.autocast("cpu", MIXED[precision]))
            states = objective.backbone.states(blank)
            found |= {"forward": counter.peak, "activations": counter.live}
            found |= _loss(objective, counter, states, blank)
        outputs = [values for values in states.differentiable if values.requires_grad]
        before = counter.live
        gradients = [torch.zeros_like(values) for values in outputs]
        counter.live = before  # these are the loss's, and counted there
        counter.reset_peak()
        torch.autograd.backward(outputs, gradients)
        found["backward"] = counter.peak
    objective.zero_grad()
    return found


def _loss(objective: Objective, counter: LiveBytes, states: States, batch: Batch) -> dict[str, int]:
    """Return the bytes of a loss over states outside the graph of the backbone."""
    copying = states.copying
    if copying is not None:
        copying = copying.detach().requires_grad_(copying.requires_grad)
    leaf = replace(
        states,
        hidden=states.hidden.detach().requires_grad_(),
        memory=states.memory.detach().requires_grad_(),
        copying=copying,
    )
    before = counter.live
    counter.reset_peak()
    loss = objective.loss(leaf)
    peak, kept = counter.peak - before, counter.live - before
    del loss
    return {"loss": peak, "kept": kept}
