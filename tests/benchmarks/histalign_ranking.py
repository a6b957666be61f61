"""Time and memory of HistAlign's ranking term: a loop over rank distances against models/functional/ranking.py.

    python tests/benchmarks/histalign_ranking.py [--steps 512] [--batch 1] [--width 768] [--repeats 3]

Every form goes from the states to their gradient: similarities, ranks by cosine, loss, backward; fp32, one CPU thread.
The loop is written in the obvious way from the description of the authors' computation: per rank distance a
margin_ranking_loss over all rows, masked, after cosines and a sort of all T x T positions. The others are called as a
training step calls them: with the rows that have a positive, which share one memory. Forms are interleaved; the median
of the repeats counts. Differences in value are taken with the same ranks, because ties among equal tokens are noise in
a plain sort.

Memory: each form runs once in a forked child before anything was timed (so that no freed block hides its need); printed
is how far ru_maxrss rose above its value at the fork. It contains the similarities, the ranks and both gradients.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from bench.models.functional.cache import scaled_similarity
from bench.models.functional.ranking import cosine_ranks, ranked_hinge, released_ranking
from bench.perf.memory import peak_megabytes

MARGIN = 0.001  # HistAlign's GPT-2 runs
VOCABULARY = 50_257

Loss = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]  # similarity, ranks, positive, readable -> scalar


@dataclass(frozen=True)
class Batch:
    """States and tokens of a decoder-only batch; row t reads the states before it."""

    hidden: Tensor  # [B, T, D]
    embedding: Tensor  # [V, D]
    tokens: Tensor  # [B, T] the token that follows each state
    readable: Tensor  # [B, T, T]

    def run(self, loss: Loss, scope: str, skip: bool = True, plain_ranks: bool = False) -> tuple[float, Tensor]:
        """Loss and its gradient by the states ``[B, T, D]``; ``skip`` leaves out the rows without a positive."""
        hidden = self.hidden.requires_grad_()
        positive = self.readable & (self.tokens[:, None] == self.tokens[:, :, None])
        rows = positive.any(2) if skip else torch.ones_like(positive[:, :, 0])  # [B, T]
        similarity = torch.cat([scaled_similarity(text[kept], text) for text, kept in zip(hidden, rows, strict=True)])
        readable, positive = self.readable[rows], positive[rows]
        if plain_ranks:
            ranks = sorted_ranks(self.tokens, self.embedding)[rows]
        else:
            one = len(self.tokens) == 1
            kept = self.tokens.expand(len(readable), -1) if one else self.tokens[:, None].expand_as(self.readable)[rows]
            ranked = readable if scope == "cache" else torch.ones_like(readable)
            ranks = cosine_ranks(self.tokens[rows], kept, ranked, self.embedding)
        value = loss(similarity, ranks, positive, readable)
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


def hinge_total(
    similarity: Tensor,
    ranks: Tensor,
    positive: Tensor,
    readable: Tensor,
    reduction: Literal["sum", "pair_mean"] = "sum",
) -> Tensor:
    """``ranked_hinge`` over all rows."""
    return ranked_hinge(similarity, ranks, positive, readable, MARGIN, reduction).sum()


# name: loss, rank scope, whether rows without a positive are left out
FORMS: dict[str, tuple[Loss, str, bool]] = {
    "loop over distances": (loop_over_distances, "sequence", False),
    "ranked_hinge sum": (hinge_total, "cache", True),
    "ranked_hinge pair_mean": (partial(hinge_total, reduction="pair_mean"), "cache", True),
    "released_ranking": (partial(released_ranking, margin=MARGIN), "sequence", True),
}


def seconds(batch: Batch, repeats: int) -> dict[str, float]:
    """Median time of each form; one run of each, in turn, per repeat."""
    times: dict[str, list[float]] = {name: [] for name in FORMS}
    for _ in range(repeats):
        for name, form in FORMS.items():
            start = time.perf_counter()
            batch.run(*form, plain_ranks=name.startswith("loop"))
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def differences(batch: Batch) -> list[tuple[str, float, float]]:
    """Each fast form against the loop: name, relative difference in value, and in the gradient's norm."""
    rows = []
    for name, scope, reduction in (("released_ranking", "sequence", "mean"), ("ranked_hinge sum", "cache", "sum")):
        value, gradient = batch.run(FORMS[name][0], scope)
        expected, expected_gradient = batch.run(partial(loop_over_distances, reduction=reduction), scope, False)
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
    for form in FORMS.values():
        warm_up.run(*form)
    memory = {name: peak_megabytes(partial(batch.run, *form)) for name, form in FORMS.items()}
    times = seconds(batch, args.repeats)
    loop = next(iter(FORMS))
    print(f"T={args.steps} B={args.batch} d={args.width} fp32, 1 thread, median of {args.repeats}, forward + backward")
    print(f"{'form':24}{'ms':>10}{'faster':>10}{'peak MB':>10}{'less':>10}")
    for name in FORMS:
        faster, less = times[loop] / times[name], memory[loop] / memory[name]
        print(f"{name:24}{1e3 * times[name]:10.1f}{faster:9.1f}x{memory[name]:10.1f}{less:9.1f}x")
    print("relative difference from the loop (same ranks): value, gradient")
    for name, value, gradient in differences(batch):
        print(f"{name:24}{value:10.1e}{gradient:10.1e}")


if __name__ == "__main__":
    main()
