"""Time and memory of HistAlign's ranking term: a loop over rank distances against what training runs.

    python tools/benchmarks/histalign_ranking.py [--steps 512] [--batch 1] [--width 768] [--repeats 3]

Every form goes from the states to their gradient: similarities, ranks by cosine, loss, backward; fp32, one CPU thread.
The loop is written in the obvious way from the description of the authors' computation: per rank distance a
margin_ranking_loss over all rows, masked, after cosines and a sort of all T x T positions. The others are
`HistAlign.ranking`, in each of its reductions. Forms are interleaved; the median of the repeats counts. Differences in
value are taken with the same ranks, because ties among equal tokens are noise in a plain sort.

Memory: each form runs once in a forked child before anything was timed (so that no freed block hides its need); printed
is how far ru_maxrss rose above its value at the fork. It contains the similarities, the ranks and both gradients.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from bench.models.backbones.backbone import Backbone, Step
from bench.models.core.states import States, TokenSlice
from bench.models.functional.cache import scaled_similarity
from bench.models.functional.ranking import Distinct, cosine_order, ranks_among, ranks_of
from bench.models.histalign import HistAlign
from tools.memory import peak_megabytes

MARGIN = 0.001  # HistAlign's GPT-2 runs
VOCABULARY = 50_257

Run = Callable[[], tuple[float, Tensor]]
"""From the states to the loss and its gradient by them."""


@dataclass(frozen=True)
class Batch:
    """States and tokens of a decoder-only batch; row t reads the states before it."""

    hidden: Tensor  # [B, T, D]
    embedding: Tensor  # [V, D]
    tokens: Tensor  # [B, T] the token that follows each state
    readable: Tensor  # [B, T, T]

    def in_training(self, reduction: Literal["sum", "pair_mean", "authors"]) -> Run:
        """The ranking term as a training step computes it."""
        scope: Literal["cache", "sequence"] = "cache"
        if reduction == "authors":
            scope = "sequence"
        objective = HistAlign(Given(self.embedding), reduction=reduction, rank_scope=scope, margin=MARGIN)

        def run() -> tuple[float, Tensor]:
            hidden = self.hidden.requires_grad_()
            labelled = torch.ones_like(self.tokens, dtype=torch.bool)
            states = States(hidden, self.tokens, hidden, self.tokens, self.readable, labelled)
            return value_and_gradient(objective.ranking(states), hidden)

        return run

    def in_a_loop(self, reduction: str, ranks: Tensor | None = None) -> Run:
        """One pass over all rows for each distance; by these ranks ``[B*T, T]``, or those of a plain sort."""

        def run() -> tuple[float, Tensor]:
            hidden = self.hidden.requires_grad_()
            positive = self.readable & (self.tokens[:, None] == self.tokens[:, :, None])
            by = ranks
            if by is None:
                by = sorted_ranks(self.tokens, self.embedding).flatten(0, 1)
            rows = [x.flatten(0, 1) for x in (scaled_similarity(hidden, hidden), positive, self.readable)]
            return value_and_gradient(loop_over_distances(rows[0], by, rows[1], rows[2], reduction), hidden)

        return run

    def ranks(self, scope: str) -> Tensor:
        """Ranks of all positions as training has them, ``[B*T, T]``."""
        readable = self.readable.flatten(0, 1)
        ranked = readable if scope == "cache" else torch.ones_like(readable)
        tokens = self.tokens[:, None].expand_as(self.readable).flatten(0, 1)
        return cosine_ranks(self.tokens.flatten(), tokens, ranked, self.embedding)


def cosine_ranks(targets: Tensor, tokens: Tensor, ranked: Tensor, embedding: Tensor) -> Tensor:
    """Rank of each entry ``[n, M]`` for targets ``[n]``; those that are not ranked come last."""
    left, right = (Distinct(*torch.unique(ids, return_inverse=True)) for ids in (targets, tokens))
    ranks = ranks_among(cosine_order(left, right, embedding), ranked)
    return ranks_of(ranks.masked_fill(~ranked, ranks.shape[1]).argsort(dim=1, stable=True))


class Given(Backbone):
    """A backbone that has an embedding and nothing else."""

    architecture = "decoder-only"

    def __init__(self, embedding: Tensor) -> None:
        super().__init__(None, None)
        self.table = embedding

    def embedding(self) -> Tensor:
        """Token vectors."""
        return self.table

    def states(self, batch: Any) -> States:
        """The states are given."""
        raise NotImplementedError

    def extend(self, step: Step) -> TokenSlice:
        """Nothing is generated."""
        raise NotImplementedError


def value_and_gradient(value: Tensor, hidden: Tensor) -> tuple[float, Tensor]:
    """A loss and its gradient by the states, ``[B, T, D]``."""
    return value.item(), torch.autograd.grad(value, hidden)[0]


def make_batch(batch: int, steps: int, width: int, seed: int = 0) -> Batch:
    """Random states under tokens that repeat about as English words do.

    Zipf-Mandelbrot (exponent 1.2, shift 0.8) gives 8 earlier repeats per position at 512 tokens; the words of a paper
    gave 8.2.
    """
    generator = torch.Generator().manual_seed(seed)
    weights = (torch.arange(1, VOCABULARY + 1) + 0.8) ** -1.2
    tokens = torch.multinomial(weights.expand(batch, -1), steps, replacement=True, generator=generator)
    hidden = torch.randn(batch, steps, width, generator=generator)
    readable = torch.ones(steps, steps, dtype=torch.bool).tril(-1).repeat(batch, 1, 1)
    return Batch(hidden, torch.randn(VOCABULARY, width, generator=generator), tokens, readable)


def sorted_ranks(tokens: Tensor, embedding: Tensor) -> Tensor:
    """Ranks ``[B, T, T]`` of all positions by cosine to each position's token, as a plain sort gives them."""
    vectors = F.normalize(embedding[tokens], dim=2)
    order = (vectors @ vectors.mT).argsort(dim=2, descending=True)
    return torch.empty_like(order).scatter_(2, order, torch.arange(order.shape[2]).expand_as(order))


def loop_over_distances(
    similarity: Tensor, ranks: Tensor, positive: Tensor, readable: Tensor, reduction: str = "mean"
) -> Tensor:
    """One pass per rank distance over all rows, left to autograd; ``sum`` adds all pairs, ``mean`` averages twice."""
    order = ranks.argsort(dim=1)
    similarity, positive, readable = (x.gather(1, order) for x in (similarity, positive, readable))
    negative = readable & ~positive
    terms = []
    for distance in range(1, similarity.shape[1]):
        nearer, farther = similarity[:, :-distance], similarity[:, distance:]
        ones = torch.ones_like(nearer)
        hinge = F.margin_ranking_loss(nearer, farther, ones, margin=distance * MARGIN, reduction="none")
        pair = positive[:, :-distance] & negative[:, distance:]
        if pair.any():
            terms.append(hinge[pair].sum() if reduction == "sum" else hinge[pair].mean())
    if not terms:
        return similarity.sum() * 0.0
    return torch.stack(terms).sum() if reduction == "sum" else torch.stack(terms).mean()


def forms(batch: Batch) -> dict[str, Run]:
    """What is timed, by name; the loop comes first."""
    return {
        "loop over distances": batch.in_a_loop("mean"),
        "sum": batch.in_training("sum"),
        "pair_mean": batch.in_training("pair_mean"),
        "authors": batch.in_training("authors"),
    }


def seconds(batch: Batch, repeats: int) -> dict[str, float]:
    """Median time of each form; one run of each, in turn, per repeat."""
    runs = forms(batch)
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.process_time()
            run()
            times[name].append(time.process_time() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def differences(batch: Batch) -> list[tuple[str, float, float]]:
    """Training against the loop with the same ranks: name, relative difference in value, and in the gradient's norm."""
    rows = []
    for name, scope, reduction in (("authors", "sequence", "mean"), ("sum", "cache", "sum")):
        value, gradient = forms(batch)[name]()
        expected, expected_gradient = batch.in_a_loop(reduction, batch.ranks(scope))()
        far = (gradient - expected_gradient).norm() / expected_gradient.norm()
        rows.append((name, abs(value - expected) / abs(expected), far.item()))
    return rows


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("steps", 512), ("batch", 1), ("width", 768), ("repeats", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    torch.set_num_threads(1)
    warm_up, batch = make_batch(1, 16, args.width), make_batch(args.batch, args.steps, args.width)
    for run in forms(warm_up).values():
        run()
    memory = {name: peak_megabytes(run) for name, run in forms(batch).items()}
    times = seconds(batch, args.repeats)
    loop = "loop over distances"
    print(f"T={args.steps} B={args.batch} d={args.width} fp32, 1 thread, median of {args.repeats}, forward + backward")
    print(f"{'form':24}{'ms':>10}{'faster':>10}{'peak MB':>10}{'less':>10}")
    for name in times:
        faster, less = times[loop] / times[name], memory[loop] / memory[name]
        print(f"{name:24}{1e3 * times[name]:10.1f}{faster:9.1f}x{memory[name]:10.1f}{less:9.1f}x")
    print("relative difference from the loop (same ranks): value, gradient")
    for name, value, gradient in differences(batch):
        print(f"{name:24}{value:10.1e}{gradient:10.1e}")


if __name__ == "__main__":
    main()
