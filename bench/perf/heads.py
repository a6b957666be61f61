"""Perf: time and memory of every method's head and step, as ratios in one process, with differences in value beside.

Four forms of the same loss over the same states:

- `fused`: what training runs;
- `generic`: the path a newcomer's `row_loss` takes, slice by slice, gradients made in the forward pass;
- `plain`: ordinary autograd over all positions at once, which keeps [B*T, V] tensors;
- peers: `linear` and `cross_entropy` of torch, and its `linear_cross_entropy`.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.base.seeds import seed_torch
from bench.config.resolve import find_method
from bench.config.second import second_of
from bench.cost.zipf import zipf_counts
from bench.models.backbones.backbone import Backbone, Batch, Step
from bench.models.backbones.causal import strictly_past
from bench.models.core.chunks import summed
from bench.models.core.objective import Objective
from bench.models.core.run_context import RunContext
from bench.models.core.states import Rows, States, blocks, rows_of

Run = Callable[[], tuple[Tensor, list[Tensor]]]
"""One forward and backward pass -> loss, and gradients of states and of every parameter of the head."""


@dataclass(frozen=True)
class Size:
    """What is measured: B rows of T positions, width D, V tokens."""

    batch: int = 4
    positions: int = 256
    width: int = 512
    vocabulary: int = 30000


class Given(Backbone):
    """A backbone that answers every batch with the same states and has a softmax head."""

    architecture = "decoder-only"

    def __init__(self, size: Size, seed: int = 0) -> None:
        super().__init__(None, None)
        generator = torch.Generator().manual_seed(seed)
        self.output = nn.Linear(size.width, size.vocabulary, bias=False)
        nn.init.normal_(self.output.weight, std=0.02, generator=generator)
        shape = (size.batch, size.positions + 1)
        self.ids = zipf(shape, size.vocabulary, generator)
        self.hidden = nn.Parameter(torch.randn(size.batch, size.positions, size.width, generator=generator))

    def states(self, batch: Batch) -> States:
        """The states, whatever the batch."""
        targets = self.ids[:, 1:]
        mask = torch.ones_like(self.ids)
        labelled = torch.ones_like(targets, dtype=torch.bool)
        return States(self.hidden, targets, self.hidden, targets, strictly_past(mask), labelled)

    def extend(self, step: Step) -> Rows:
        """Nothing is generated here."""
        raise NotImplementedError("states are given, so nothing can be continued")

    def head(self, hidden: Tensor) -> Tensor:
        """Logits."""
        return self.output(hidden)

    def linear_head(self) -> Any:
        """The head as one matrix product."""
        from bench.models.backbones.backbone import LinearHead

        return LinearHead(self.output.weight)

    def embedding(self) -> Tensor:
        """Token vectors."""
        return self.output.weight

    def head_parameters(self) -> list[nn.Parameter]:
        """The weight."""
        return list(self.output.parameters())

    @property
    def vocabulary_size(self) -> int:
        """V."""
        return self.output.out_features

    @property
    def width(self) -> int:
        """D."""
        return self.output.in_features


def zipf(shape: tuple[int, ...], vocabulary: int, generator: torch.Generator) -> Tensor:
    """Draw token ids with the frequencies of running text."""
    weights = zipf_counts(vocabulary).double()
    return torch.multinomial(weights, shape[0] * shape[1], replacement=True, generator=generator).view(shape)


def objective_of(name: str, size: Size, device: torch.device) -> Objective:
    """Return a method over given states; its second model has states of its own, of the same size and targets."""
    seed_torch(0)
    method = find_method(name)
    given = Given(size)
    objective = method.objective(given)
    second = second_of(method)
    if second is not None:
        other = Given(size, seed=1)
        other.ids = given.ids
        objective.setup_run(RunContext(second=second.objective(other)))
    if objective.uses_token_counts:
        objective.prepare(zipf_counts(size.vocabulary))
    return objective.to(device)


def forms(objective: Objective) -> dict[str, Run]:
    """Return the forms of a method's loss by name."""
    parameters = [p for p in [*dict.fromkeys(objective.head_parameters())] if p.requires_grad]
    backbone = objective.backbone
    assert isinstance(backbone, Given)
    wanted: list[Tensor] = [backbone.hidden, *parameters]

    def run(loss: Callable[[States], Tensor]) -> Run:
        def once() -> tuple[Tensor, list[Tensor]]:
            total = loss(objective.states({}))
            return total.detach(), list(torch.autograd.grad(total, wanted))

        return once

    def unfused(states: States) -> Tensor:
        objective.fused_head = lambda states: None  # type: ignore[method-assign]
        try:
            return objective.loss(states).total
        finally:
            del objective.fused_head

    def generic(states: States) -> Tensor:
        if objective.two_passes:
            return unfused(states)
        total = summed(states, objective.position_loss, parameters, objective.slice_size).total
        return total + sum(objective.batch_terms(states).values())

    def plain(states: States) -> Tensor:
        if objective.two_passes:
            return unfused(states)
        (block,) = blocks(states.targets, limit=states.targets.numel())
        total = objective.position_loss(rows_of(states, block))[0].sum()
        return total + sum(objective.batch_terms(states).values())

    return {"fused": run(lambda states: objective.loss(states).total), "generic": run(generic), "plain": run(plain)}


def peers(objective: Objective) -> dict[str, Run]:
    """Return torch's own forms of the cross-entropy over the same states."""
    backbone = objective.backbone
    assert isinstance(backbone, Given)

    def run(loss: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Run:
        def once() -> tuple[Tensor, list[Tensor]]:
            total = loss(backbone.hidden.flatten(0, 1), backbone.output.weight, backbone.ids[:, 1:].flatten())
            return total.detach(), list(torch.autograd.grad(total, [backbone.hidden, backbone.output.weight]))

        return once

    def naive(hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
        return functional.cross_entropy(functional.linear(hidden, weight), targets, reduction="sum")

    runs = {"linear + cross_entropy": run(naive)}
    if hasattr(functional, "linear_cross_entropy"):
        for label, options in lce_options():
            chunked = partial(functional.linear_cross_entropy, reduction="sum", options=options)
            runs[f"linear_cross_entropy {label}"] = run(chunked)
    return runs


def lce_options() -> list[tuple[str, Any]]:
    """Return settings of torch's chunked cross-entropy: its own choice and the best chunk found on CPU."""
    options = nn.LinearCrossEntropyOptions
    return [("(default)", options()), ("(256 rows)", options(batch_chunk_size=256))]


def interleaved(runs: dict[str, Run], repeats: int) -> dict[str, float]:
    """Return the shortest time of each run in seconds, after one warm-up; all take turns in this process.

    What was there before is left out of the search for garbage, which would cost more than the runs. What a caller has
    left out of it stays left out.
    """
    best = dict.fromkeys(runs, float("inf"))
    frozen_before = gc.get_freeze_count()
    gc.collect()
    gc.freeze()
    try:
        for turn in range(repeats + 1):
            for name, run in runs.items():
                gc.collect()
                synchronise()
                started = time.perf_counter()
                run()
                synchronise()
                if turn:
                    best[name] = min(best[name], time.perf_counter() - started)
    finally:
        if not frozen_before:
            gc.unfreeze()
    return best


def synchronise() -> None:
    """Wait for the device."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def differences(measured: tuple[Tensor, list[Tensor]], expected: tuple[Tensor, list[Tensor]]) -> tuple[float, float]:
    """Return the relative difference in loss, and the largest one in a gradient over that gradient's largest entry."""
    loss, gradients = measured
    expected_loss, expected_gradients = expected
    ratios = [
        float((gradient - wanted).abs().max() / wanted.abs().max().clamp_min(1e-12))
        for gradient, wanted in zip(gradients, expected_gradients, strict=True)
    ]
    return float((loss - expected_loss).abs() / expected_loss.abs().clamp_min(1e-12)), max(ratios)


def peak_above_gradients(run: Run) -> float:
    """Return the most memory a run holds beyond its gradients, in MB: on CPU of this process, which should be fresh."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        _, gradients = run()
        return (torch.cuda.max_memory_allocated() - before - size_of(gradients)) / 2**20
    before = high_water(reset=True)
    _, gradients = run()
    return (high_water() - before - size_of(gradients)) / 2**20


def size_of(tensors: Sequence[Tensor]) -> int:
    """Return the bytes of tensors."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def high_water(reset: bool = False) -> int:
    """Return the most bytes this process has had in memory, of late if the mark was reset; Linux only."""
    if reset:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    with open("/proc/self/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields["VmHWM"].split()[0]) * 1024
