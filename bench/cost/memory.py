"""Memory: the peak of a training step, from what a few micro-batches were seen to hold (`bench.cost.passes`).

More rows are on the line through those that were seen. A loss works on slices that stop growing at some number of rows,
so that its line has a bend there, which is one of the points. Lengths are the recipe's own: attention makes memory grow
faster than length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.cost.parameters import Parameters

__all__ = ["MARGIN", "Lengths", "Memory", "Shares", "forward_bytes", "largest_micro_batch", "peak_bytes"]

MARGIN = 1.15
"""What a peak is multiplied with before it is said to fit."""

HEAP = 0.5
"""Share of the activations that a CPU's allocator holds besides: what is freed between live blocks it does not give
back. Measured for GPT-2 small by `tools/benchmarks/cost.py`; a GPU's allocator gives blocks out again. With shares it
holds the buffers that weights came in, too."""


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


@dataclass(frozen=True)
class Shares:
    """How weights, gradients and moments lie in shares (FSDP), one on each rank.

    Before a layer runs, its weights are gathered, and those of the next one meanwhile. What lies outside of layers, as
    embeddings and head, is gathered for a whole micro-batch. Gradients are gathered as their weights are, and then cut.

    Args:
        ranks: number of shares; 1 where nothing is shared.
        layer: parameters of one layer.
        layers: number of layers.
    """

    ranks: int = 1
    layer: int = 0
    layers: int = 0

    def gathered(self, parameters: int, total: int) -> float:
        """Return how many of `parameters`, of a model with `total` ones, are whole on a rank at a time."""
        if self.ranks == 1:
            return 0.0
        whole = total - max(0, self.layers - 2) * self.layer
        return whole * parameters / total * (1 - 1 / self.ranks)  # the rank's own share is counted with the shares


NOT_SHARED = Shares()


def peak_bytes(
    memory: Memory, parameters: Parameters, rows: int, accumulate: int, kind: str, shares: Shares = NOT_SHARED
) -> dict[str, float]:
    """Return the bytes of each phase of a training step; the largest is the peak.

    Gradients of the step before are freed only when the backward pass begins, as a Lightning trainer does it, and stay
    through the step where there are several micro-batches.

    Args:
        memory: of the micro-batch.
        parameters: of the objective.
        rows: of a micro-batch.
        accumulate: micro-batches of a step.
        kind: of device, `cuda` or `cpu`.
        shares: how weights, gradients and moments lie on several ranks.
    """
    size = parameters.item_bytes
    gradients = size * parameters.trained / shares.ranks
    held = size * (parameters.total + 2 * parameters.trained) / shares.ranks  # weights and both moments
    gathered = size * shares.gathered(parameters.total, parameters.total)
    forward, activations = memory.at("forward", rows), memory.at("activations", rows)
    backward, kept = memory.at("backward", rows), memory.at("kept", rows)
    if accumulate > 1 or shares.ranks > 1:  # beside the sums come gradients of a tensor, or whole ones and what is sent
        coming = size * max(parameters.largest, 2 * shares.gathered(parameters.trained, parameters.total))
        backward = gradients + max(activations, backward - size * parameters.trained) + coming
    copies, heap = 2 * size * parameters.largest / shares.ranks, HEAP * activations + gathered
    if kind == "cuda":  # AdamW over all tensors at once keeps a copy of the second moments
        copies, heap = gradients, 0.0
    return {
        "forward": held + gathered + gradients + forward + heap,
        "loss": held + gathered + gradients + activations + memory.at("loss", rows) + heap,
        "backward": held + gathered + kept + backward + heap,
        "optimiser": held + gradients + copies,
    }


def forward_bytes(memory: Memory, parameters: Parameters, rows: int, kind: str) -> dict[str, float]:
    """Return the bytes of reading a batch with weights that are not trained, as `peak_bytes` those of a step."""
    heap = 0.0
    if kind == "cpu":
        heap = HEAP * memory.at("activations", rows)
    return {"forward": parameters.item_bytes * parameters.total + memory.at("forward", rows) + heap}


def largest_micro_batch(
    batch_size: int, world: int, peak: Callable[[int, int], float], available: float, least: int = 1
) -> int | None:
    """Return the fewest micro-batches of a step that fit, or None where not even one row does.

    Args:
        batch_size: rows of a step.
        world: processes that share it.
        peak: bytes, given rows of a micro-batch and micro-batches of a step.
        available: bytes.
        least: fewest micro-batches of a step.
    """
    accumulate = least
    while accumulate * world <= batch_size:
        rows = math.ceil(batch_size / (accumulate * world))
        if MARGIN * peak(rows, accumulate) <= available:
            return accumulate
        accumulate *= 2
    return None
