"""Time of the adaptive LSTM of AdaDec: per-row matrices and nn.LSTM against models/functional/adaptive_lstm.py.

    OMP_NUM_THREADS=1 python tools/benchmarks/adaptive_lstm.py [--batch 64] [--steps 9] [--width 256] [--repeats 5]

Forward and backward pass over whole rows, fp32, one CPU thread, for an input as wide as the state and one twice as wide
(input feeding has that one). The per-row form builds U diag(lambda) V for every row, once per row and not once per
step, as the authors' code does, and leaves the rest to autograd. Forms are interleaved; each run follows one of the
same form that does not count, so that none pays for memory another has given back; the least time of the repeats
counts. Differences are taken against the per-row form: largest in the states, relative norm in each gradient.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from bench.models.functional.adaptive_lstm import FORGET, AdaptiveWeights, adaptive_lstm, orthogonal_columns

FORMS = ("per-row matrices", "adaptive_lstm", "nn.LSTM")


def materialised(
    inputs: Tensor, coefficients: Tensor, hidden: Tensor, cell: Tensor, weights: AdaptiveWeights
) -> tuple[Tensor, Tensor]:
    """The same function by the matrices of every row, [B, I + D, 4D]."""

    def built(u: Tensor, v: Tensor) -> Tensor:
        parts = zip(u.chunk(4, dim=1), v, strict=True)
        return torch.cat([(one * coefficients[:, None]) @ other for one, other in parts], dim=2)

    matrices = torch.cat([built(weights.u_input, weights.v_input), built(weights.u_hidden, weights.v_hidden)], dim=1)
    bias = coefficients @ weights.bias
    states, cells = [], []
    for step in inputs.unbind(1):
        i, j, f, o = (torch.cat([step, hidden], 1)[:, None].bmm(matrices)[:, 0] + bias).chunk(4, dim=1)
        cell = (f + FORGET).sigmoid() * cell + i.sigmoid() * j.tanh()
        hidden = o.sigmoid() * cell.tanh()
        states.append(hidden)
        cells.append(cell)
    return torch.stack(states, 1), torch.stack(cells, 1)


def random_weights(inputs: int, width: int, rank: int) -> AdaptiveWeights:
    """Weights as a model starts with, and a bias that is not zero."""
    return AdaptiveWeights(
        torch.cat([orthogonal_columns(inputs, rank) for _ in range(4)], 1),
        torch.stack([orthogonal_columns(width, rank).mT for _ in range(4)]),
        torch.cat([orthogonal_columns(width, rank) for _ in range(4)], 1),
        torch.stack([orthogonal_columns(width, rank).mT for _ in range(4)]),
        0.1 * torch.randn(rank, 4 * width),
    )


def forms(batch: int, steps: int, inputs: int, width: int) -> dict[str, Callable[[], list[Tensor]]]:
    """Each form as a call that gives its states and then its gradients."""
    torch.manual_seed(0)
    values = torch.randn(batch, steps, inputs, requires_grad=True)
    coefficients = (nn.functional.normalize(torch.randn(batch, width), dim=1) * width**0.5).requires_grad_()
    zeros, weights = torch.zeros(batch, width), [w.requires_grad_() for w in random_weights(inputs, width, width)]
    plain = nn.LSTM(inputs, width, batch_first=True)

    def adaptive(function: Callable[..., tuple[Tensor, Tensor]]) -> list[Tensor]:
        states, _ = function(values, coefficients, zeros, zeros, AdaptiveWeights(*weights))
        return [states.detach(), *torch.autograd.grad(states.square().sum(), [values, coefficients, *weights])]

    def recurrent() -> list[Tensor]:
        states, _ = plain(values)
        return [states.detach(), *torch.autograd.grad(states.square().sum(), [values, *plain.parameters()])]

    calls = (lambda: adaptive(materialised), lambda: adaptive(adaptive_lstm), recurrent)
    return dict(zip(FORMS, calls, strict=True))


def seconds(calls: dict[str, Callable[[], list[Tensor]]], repeats: int) -> dict[str, float]:
    """Least time of each form; in each repeat, every form in turn, once to warm up and once to count."""
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(repeats):
        for name, call in calls.items():
            call()
            start = time.perf_counter()
            call()
            least[name] = min(least[name], time.perf_counter() - start)
    return least


def differences(calls: dict[str, Callable[[], list[Tensor]]]) -> tuple[float, float]:
    """Of `adaptive_lstm` from the per-row form: largest in the states, largest relative norm among the gradients."""
    (expected, *theirs), (found, *ours) = calls[FORMS[0]](), calls[FORMS[1]]()
    far = [(a - b).norm() / b.norm() for a, b in zip(ours, theirs, strict=True)]
    return (found - expected).abs().max().item(), torch.stack(far).max().item()


def main() -> None:
    """Print one table for each width of the input."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("batch", 64), ("steps", 9), ("width", 256), ("repeats", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    torch.set_num_threads(1)
    for inputs in (args.width, 2 * args.width):
        calls = forms(args.batch, args.steps, inputs, args.width)
        times, (states, gradients) = seconds(calls, args.repeats), differences(calls)
        print(f"B={args.batch} T={args.steps} d=r={args.width} input={inputs} fp32, 1 thread, forward + backward, "
              f"least of {args.repeats}")  # fmt: skip
        for name in FORMS:
            print(f"  {name:18}{1e3 * times[name]:9.1f} ms")
        ours = times["adaptive_lstm"]
        print(f"  {times['per-row matrices'] / ours:.1f}x faster than per-row matrices, "
              f"{ours / times['nn.LSTM']:.2f}x an nn.LSTM")  # fmt: skip
        print(f"  difference: states {states:.1e}, gradients {gradients:.1e} relative")


if __name__ == "__main__":
    main()
