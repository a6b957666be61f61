"""Time and memory of the F2-Softmax head, both ways: the full softmax against models/functional/class_head.py.

    python tools/benchmarks/f2_head.py [--positions 1024] [--vocabulary 30000] [--width 512] [--repeats 7]

Every form goes from the states to the gradients of states and weights; fp32, one CPU thread, targets drawn from a Zipf
distribution whose counts MefMax has cut. Forms are interleaved in one process and the fastest repeat counts. `slicing`
and `split` are the obvious ways to the same loss under autograd. Differences are taken from autograd through the whole
posterior. Also timed: MefMax itself.

Memory: each form runs once in a forked child before anything was timed; printed is how far ru_maxrss rose above its
value at the fork, less the gradients that every form has to make.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from bench.models.functional.class_head import ClassHead, class_head_loss, posterior_log_probs
from bench.models.functional.mefmax import mefmax
from tools.memory import peak_megabytes

MEGABYTE = 2**20


@dataclass(frozen=True)
class Case:
    """States, targets by rank of frequency, and the head."""

    hidden: Tensor  # [N, D]
    ranks: Tensor  # [N]
    head: ClassHead

    def run(self, loss: Callable[[Case], Tensor]) -> tuple[float, list[Tensor | None]]:
        """Summed loss and the gradients of states, token and class weights."""
        inputs = [self.hidden, self.head.token_weight, self.head.class_weight]
        for tensor in inputs:
            tensor.grad = None
        value = loss(self)
        value.backward()  # type: ignore[no-untyped-call]
        return value.item(), [tensor.grad for tensor in inputs]


def make_case(positions: int, vocabulary: int, width: int, seed: int = 0) -> tuple[Case, Tensor]:
    """A random head over Zipf counts, and the counts."""
    generator = torch.Generator().manual_seed(seed)
    counts = (1e7 / torch.arange(1, vocabulary + 1)).long()
    ends = torch.tensor([0, *mefmax(counts).boundaries, vocabulary])
    sizes = tuple(ends.diff().tolist())
    token_weight = (0.02 * torch.randn(vocabulary, width, generator=generator)).requires_grad_()
    class_weight = (0.02 * torch.randn(len(sizes), width, generator=generator)).requires_grad_()
    hidden = torch.randn(positions, width, generator=generator).requires_grad_()
    ranks = torch.multinomial(counts.double(), positions, replacement=True, generator=generator)
    return Case(hidden, ranks, ClassHead(token_weight, class_weight, sizes)), counts


def full_softmax(case: Case) -> Tensor:
    """The usual head: another model, the same vocabulary."""
    return F.cross_entropy(F.linear(case.hidden, case.head.token_weight), case.ranks, reduction="sum")


def by_class(case: Case, parts: list[Tensor]) -> Tensor:
    """Positions sorted by class, autograd over each class's weights."""
    classes = case.head.classes(case.ranks)
    total = F.cross_entropy(F.linear(case.hidden, case.head.class_weight), classes, reduction="sum")
    for c, ((start, _), weight) in enumerate(zip(case.head.spans, parts, strict=True)):
        rows = (classes == c).nonzero().squeeze(1)
        if len(rows):
            scores = F.linear(case.hidden[rows], weight)
            total = total + F.cross_entropy(scores, case.ranks[rows] - start, reduction="sum")
    return total


def slicing(case: Case) -> Tensor:
    """Each class's weights are a slice, whose gradient is a whole matrix."""
    return by_class(case, [case.head.token_weight[start:stop] for start, stop in case.head.spans])


def splitting(case: Case) -> Tensor:
    """All slices are cut at once, and their gradients joined at once."""
    return by_class(case, list(case.head.token_weight.split(case.head.sizes)))


def ours(case: Case) -> Tensor:
    """What the objective trains with."""
    return class_head_loss(case.hidden, case.ranks, case.head)[0]


def whole_posterior(case: Case) -> Tensor:
    """The definition, eq. 2."""
    return -posterior_log_probs(case.hidden, case.head).gather(1, case.ranks[:, None]).sum()


FORMS: dict[str, Callable[[Case], Tensor]] = {
    "full softmax": full_softmax,
    "whole posterior": whole_posterior,
    "class by slicing": slicing,
    "class by split": splitting,
    "class_head_loss": ours,
}


def seconds(case: Case, repeats: int) -> dict[str, float]:
    """Least time of each form; one run of each, in turn, per repeat."""
    times: dict[str, list[float]] = {name: [] for name in FORMS}
    for _ in range(repeats):
        for name, form in FORMS.items():
            start = time.perf_counter()
            case.run(form)
            times[name].append(time.perf_counter() - start)
    return {name: min(values) for name, values in times.items()}


def differences(case: Case, name: str) -> tuple[float, float]:
    """Relative difference of a form from the definition: value, and the largest of the gradients'."""
    expected, right = case.run(whole_posterior)
    value, found = case.run(FORMS[name])
    pairs = [(f, r) for f, r in zip(found, right, strict=True) if f is not None and r is not None]
    return abs(value - expected) / abs(expected), max(float((f - r).norm() / r.norm()) for f, r in pairs)


def mefmax_milliseconds(counts: Tensor) -> float:
    """Least of twenty runs."""
    spent = []
    for _ in range(20):
        start = time.perf_counter()
        mefmax(counts)
        spent.append(time.perf_counter() - start)
    return 1e3 * min(spent)


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("positions", 1024), ("vocabulary", 30_000), ("width", 512), ("repeats", 7)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    torch.set_num_threads(1)
    warm_up, _ = make_case(16, 100, args.width)
    case, counts = make_case(args.positions, args.vocabulary, args.width)
    for form in FORMS.values():
        warm_up.run(form)
    gradients = sum(t.numel() * 4 for t in (case.hidden, case.head.token_weight)) / MEGABYTE
    memory = {name: peak_megabytes(partial(case.run, form)) - gradients for name, form in FORMS.items()}
    times = seconds(case, args.repeats)
    print(f"N={args.positions} V={args.vocabulary} d={args.width} fp32, 1 thread, least of {args.repeats}, both ways")
    print(f"MefMax: {len(case.head.sizes)} classes of {case.head.sizes} tokens in {mefmax_milliseconds(counts):.1f} ms")
    print(f"{'form':20}{'ms':>9}{'of full':>9}{'net MB':>9}{'|dloss|':>10}{'|dgrad|':>10}")
    for name in FORMS:
        far = "" if name == "full softmax" else "".join(f"{value:10.1e}" for value in differences(case, name))
        share = times[name] / times["full softmax"]
        print(f"{name:20}{1e3 * times[name]:9.1f}{share:8.3f}x{memory[name]:9.1f}{far}")


if __name__ == "__main__":
    main()
