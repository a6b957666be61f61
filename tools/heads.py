"""Time and memory of every method's loss over given states, as ratios to maximum likelihood.

    python -m tools.heads [--method mle,trime] [--memory] [--device cuda]

Each method's loss is computed in three forms over the same states, which take turns in one process:

- `fused`: what training runs;
- `generic`: the path of a method with a `token_loss` alone, slice by slice, with gradients made in the forward pass;
- `plain`: ordinary autograd over all positions at once, which keeps tensors of [B*T, V].

Beside them stand torch's own `linear` with `cross_entropy`, and its `linear_cross_entropy` where torch has it.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.base.registry import split_names
from bench.base.seeds import seed_torch
from bench.config.resolve import find_method, method_names, reference_of
from bench.leaderboards.render.text_table import aligned
from bench.models import METHODS
from bench.models.backbones.backbone import Backbone, Batch, LinearHead, Step
from bench.models.backbones.causal import strictly_past
from bench.models.core.objective import Objective
from bench.models.core.run_context import RunContext
from bench.models.core.sliced_loss import summed
from bench.models.core.states import States, TokenSlice, slice_indices, slice_of

Run = Callable[[], tuple[Tensor, list[Tensor]]]
"""One forward and backward pass -> the loss, and the gradients of the states and of every parameter of the head."""


@dataclass(frozen=True)
class Size:
    """What is measured: `batch` rows (B) of `positions` tokens (T), states of `width` (D), `vocabulary` tokens (V)."""

    batch: int = 4
    positions: int = 256
    width: int = 512
    vocabulary: int = 30000


class GivenStates(Backbone):
    """A backbone that answers every batch with the same states, and has a softmax head."""

    architecture = "decoder-only"
    vocabulary_size = property(lambda self: self.output.out_features)
    width = property(lambda self: self.output.in_features)

    def __init__(self, size: Size, seed: int = 0) -> None:
        super().__init__(None, None)
        generator = torch.Generator().manual_seed(seed)
        self.output = nn.Linear(size.width, size.vocabulary, bias=False)
        nn.init.normal_(self.output.weight, std=0.02, generator=generator)
        self.ids = zipf_ids((size.batch, size.positions + 1), size.vocabulary, generator)
        self.hidden = nn.Parameter(torch.randn(size.batch, size.positions, size.width, generator=generator))

    def states(self, batch: Batch) -> States:
        targets = self.ids[:, 1:]
        past = strictly_past(torch.ones_like(self.ids))
        return States(self.hidden, targets, self.hidden, targets, past, torch.ones_like(targets, dtype=torch.bool))

    def extend(self, step: Step) -> TokenSlice:
        raise NotImplementedError("the states are given, so nothing can be continued")

    def head(self, hidden: Tensor) -> Tensor:
        return self.output(hidden)

    def linear_head(self) -> LinearHead:
        return LinearHead(self.output.weight)

    def embedding(self) -> Tensor:
        return self.output.weight

    def head_parameters(self) -> list[nn.Parameter]:
        return [self.output.weight]


def zipf_counts(vocabulary: int) -> Tensor:
    """Return a count for each token id, int64 [V], near the law of Zipf and Mandelbrot."""
    return (10**8 / (torch.arange(vocabulary) + 3.0)).long()


def zipf_ids(shape: tuple[int, int], vocabulary: int, generator: torch.Generator) -> Tensor:
    """Draw token ids with frequencies like those of running text."""
    weights = zipf_counts(vocabulary).double()
    return torch.multinomial(weights, shape[0] * shape[1], replacement=True, generator=generator).view(shape)


def has_head(name: str) -> bool:
    """Return whether a method computes a loss over a softmax head of its own backbone's states."""
    method = find_method(name)
    entry = METHODS.get(method.base)
    return entry is None or not (entry.baseline or method.own_backbone)


def objective_of(name: str, size: Size, device: torch.device) -> Objective:
    """Return a method over given states; a reference model has other states with the same targets."""
    seed_torch(0)
    method = find_method(name)
    given = GivenStates(size)
    objective = method.objective(given)
    reference = reference_of(method)
    if reference is not None:
        other = GivenStates(size, seed=1)
        other.ids = given.ids
        objective.setup_run(RunContext(reference=reference.objective(other)))
    if objective.uses_token_counts:
        objective.prepare(zipf_counts(size.vocabulary))
    return objective.to(device)


def forms(objective: Objective) -> dict[str, Run]:
    """Return the three forms of a method's loss by name."""
    parameters = [each for each in dict.fromkeys(objective.head_parameters()) if each.requires_grad]
    wanted: list[Tensor] = [objective.backbone.hidden, *parameters]

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
        (index,) = slice_indices(states, limit=states.targets.numel())
        total = objective.position_loss(slice_of(states, index))[0].sum()
        return total + sum(objective.batch_terms(states).values())

    return {"fused": run(lambda states: objective.loss(states).total), "generic": run(generic), "plain": run(plain)}


def peers(objective: Objective) -> dict[str, Run]:
    """Return torch's own forms of the cross-entropy over the same states."""
    given = objective.backbone

    def run(loss: Callable[..., Tensor]) -> Run:
        def once() -> tuple[Tensor, list[Tensor]]:
            total = loss(given.hidden.flatten(0, 1), given.output.weight, given.ids[:, 1:].flatten())
            return total.detach(), list(torch.autograd.grad(total, [given.hidden, given.output.weight]))

        return once

    def naive(hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
        return functional.cross_entropy(functional.linear(hidden, weight), targets, reduction="sum")

    runs = {"linear + cross_entropy": run(naive)}
    if hasattr(functional, "linear_cross_entropy"):
        options = nn.LinearCrossEntropyOptions(batch_chunk_size=256)  # the best chunk that was found on a CPU
        chunked = partial(functional.linear_cross_entropy, reduction="sum", options=options)
        runs["linear_cross_entropy (256 rows)"] = run(chunked)
    return runs


def interleaved(runs: dict[str, Run], repeats: int) -> dict[str, float]:
    """Return the shortest time of each run in seconds, after one warm-up; all take turns in this process.

    Garbage collection is done between the runs, over what they made alone.
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
    """Wait for the GPU where there is one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def differences(measured: tuple[Tensor, list[Tensor]], expected: tuple[Tensor, list[Tensor]]) -> tuple[float, float]:
    """Return the relative difference in loss, and the largest one in a gradient over that gradient's largest entry."""
    ratios = []
    for gradient, wanted in zip(measured[1], expected[1], strict=True):
        ratios.append(float((gradient - wanted).abs().max() / wanted.abs().max().clamp_min(1e-12)))
    return float((measured[0] - expected[0]).abs() / expected[0].abs().clamp_min(1e-12)), max(ratios)


def peak_above_gradients(run: Run) -> float:
    """Return the most memory that a run holds beyond its gradients, in MB.

    On a CPU it is that of this process (Linux alone), exact where freed memory goes back to the system at once: set
    MALLOC_MMAP_THRESHOLD_=65536.
    """
    before = _peak_bytes(reset=True)
    _, gradients = run()
    return (_peak_bytes() - before - sum(gradient.nbytes for gradient in gradients)) / 2**20


def _peak_bytes(reset: bool = False) -> int:
    if torch.cuda.is_available():
        if reset:
            torch.cuda.reset_peak_memory_stats()
        return torch.cuda.max_memory_allocated()
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["VmHWM"].split()[0]) * 1024


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that both measurements have."""
    parser.add_argument("--method", default="all", metavar="NAMES", help="default: all")
    for name, default in vars(Size()).items():
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"default {default}")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="default 5; the shortest time counts")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="default: cuda where there is one")


def names_and_size(given: argparse.Namespace) -> tuple[list[str], Size, torch.device]:
    """Return the methods with a head to measure, maximum likelihood first, the size and the device."""
    names = [name for name in method_names(split_names([given.method]), controls=False) if has_head(name)]
    device = given.device or ("cuda" if torch.cuda.is_available() else "cpu")
    size = Size(given.batch, given.positions, given.width, given.vocabulary)
    return list(dict.fromkeys(["mle", *names])), size, torch.device(device)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tools.heads", description=__doc__.splitlines()[0])
    arguments(parser)
    parser.add_argument("--memory", action="store_true", help="peak memory above the gradients in place of times")
    given = parser.parse_args()
    torch.set_num_threads(1)
    names, size, device = names_and_size(given)
    runs: dict[str, Run] = {}
    for name in names:
        objective = objective_of(name, size, device)
        found = forms(objective) | (peers(objective) if name == "mle" else {})
        runs |= {f"{name} {form}": run for form, run in found.items()}
    unlike = {label: differences(run(), runs[f"{label.partition(' ')[0]} plain"]()) for label, run in runs.items()}
    measured, unit = interleaved(runs, given.repeats), "s"
    if given.memory:
        measured, unit = {label: peak_above_gradients(run) for label, run in runs.items()}, "MB"
    print(f"{size}, {device.type}; loss, gradient: relative difference to the method's plain form")
    rows = [
        [label, f"{measured[label]:.4g}", f"{measured[label] / measured['mle fused']:.2f}"]
        + [f"{difference:.0e}" for difference in unlike[label]]
        for label in runs
    ]
    print("\n".join(aligned(("", unit, "x mle", "loss", "gradient"), rows)))


if __name__ == "__main__":
    main()
