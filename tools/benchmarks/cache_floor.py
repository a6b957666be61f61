"""Floors of the cache methods: what their losses cannot do without, as plain torch calls, beside what they take.

    python tools/benchmarks/cache_floor.py [--positions 512] [--batch 4] [--width 128] [--vocabulary 8000]

All times are of the CPU's clock, one thread, runs in turn; the median ratio to MLE's head counts. A floor is MLE's head
and, with every index known beforehand and without autograd:

- TRIME: the three products of states and memory, and each pass over the similarities once: mask, largest, difference,
  exponential (of numbers that do not underflow, which would take ten times as long), sum, gradient.
- HistAlign, for positions with a positive only: the same products, the cosines of their targets (fp64), one sort of
  each distinct target's entries, and each pass once: ranks (gather, sum, scatter), margin, mask, a comparison with
  every positive, loss, gradient.
"""

from __future__ import annotations

import argparse
import gc
import math
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from tools.heads import GivenStates, Size, forms, objective_of

Work = Callable[[], object]


def trime(given: GivenStates) -> Work:
    """The unavoidable work of TRIME's memory, row by row."""
    hidden = given.hidden.detach()
    unread = torch.ones(hidden.shape[1], hidden.shape[1], dtype=torch.bool).triu()

    def work() -> None:
        for states in hidden:  # [T, D]
            terms = (states / math.sqrt(states.shape[1]) @ states.T).masked_fill_(unread, -math.inf)
            terms.sub_(terms.amax(1, keepdim=True).clamp_(min=-80.0)).clamp_(min=-80.0).exp_()
            terms.mul_(1 / terms.sum(1, keepdim=True))
            _ = terms @ states, terms.T @ states

    return work


def histalign(given: GivenStates) -> Work:
    """The unavoidable work of HistAlign's ranking term, row by row."""
    rows = [Row(given, row) for row in range(len(given.hidden))]

    def work() -> None:
        for row in rows:
            row.work()

    return work


class Row:
    """One batch row, and what the host can know of it: k positions with a positive, K distinct targets, M entries."""

    def __init__(self, given: GivenStates, row: int) -> None:
        self.states, tokens = given.hidden.detach()[row], given.ids[row, 1:]
        self.table = given.output.weight.detach()
        past = torch.ones(len(tokens), len(tokens), dtype=torch.bool).tril(-1)
        positive = past & (tokens == tokens[:, None])
        n_positive, falling = positive.sum(1).sort(descending=True, stable=True)
        self.at = falling[n_positive > 0]  # [k]
        self.readable, n_positive = past[self.at], n_positive[n_positive > 0]
        self.targets, self.question = tokens[self.at].unique(return_inverse=True)  # [K], [k]
        self.tokens, self.place = tokens.unique(return_inverse=True)  # [U], [M]
        self.entries = (~positive[self.at]).int().argsort(dim=1, stable=True)[:, : n_positive.max()]  # [k, C]
        self.is_positive = positive[self.at].gather(1, self.entries)
        self.reach = [int((n_positive > column).sum()) for column in range(self.entries.shape[1])]

    def work(self) -> tuple[Tensor, Tensor, Tensor]:
        """Loss, and the gradients by queries and memory."""
        query = self.states[self.at] / math.sqrt(self.states.shape[1])
        left, right = (F.normalize(self.table[ids].double(), dim=1) for ids in (self.targets, self.tokens))
        cosines = (left @ right.T).float()[:, self.place]
        order = cosines.sort(dim=1, descending=True, stable=True).indices[self.question]
        among = self.readable.gather(1, order).cumsum(1, dtype=torch.int32)
        scores = (query @ self.states.T).add_(torch.empty_like(among).scatter_(1, order, among), alpha=0.001)
        heads = scores.gather(1, self.entries).masked_fill_(~self.is_positive, torch.inf)
        scores.masked_fill_(~self.readable, -1e30)
        below, above = torch.zeros_like(scores), torch.zeros_like(heads)
        for column, rows in enumerate(self.reach):
            pairs = torch.gt(
                scores[:rows], heads[:rows, column : column + 1], out=scores.new_empty(rows, len(self.place))
            )
            below[:rows] += pairs
            above[:rows, column] = pairs.sum(1)
        loss = (below * scores).sum()
        below.scatter_add_(1, self.entries, -above)
        return loss, below @ self.states, below.T @ query


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    defaults = {"batch": 4, "positions": 512, "width": 128, "vocabulary": 8000, "repeats": 20}
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    torch.set_num_threads(1)
    size = Size(args.batch, args.positions, args.width, args.vocabulary)
    heads = {name: objective_of(name, size, torch.device("cpu")) for name in ("mle", "trime", "histalign")}
    given = GivenStates(size)
    runs: dict[str, Work] = {name: forms(head)["fused"] for name, head in heads.items()}
    runs |= {"floor of trime": trime(given), "floor of histalign": histalign(given)}
    times = in_turn(runs, args.repeats)
    print(f"{size}, CPU time, one thread, median of {args.repeats}")
    for name in runs:
        added = 0.0
        if name.startswith("floor"):
            added = 1.0  # MLE's own head
        ratio = added + statistics.median(a / b for a, b in zip(times[name], times["mle"], strict=True))
        print(f"{name:20}{1e3 * statistics.median(times[name]):9.1f} ms{ratio:8.3f} x MLE's head")


def in_turn(runs: dict[str, Work], repeats: int) -> dict[str, list[float]]:
    """CPU seconds of each run in each turn, after two turns that do not count."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    gc.collect()
    gc.freeze()
    gc.disable()
    for turn in range(repeats + 2):
        for name, run in runs.items():
            started = time.process_time()
            run()
            if turn > 1:
                times[name].append(time.process_time() - started)
    return times


if __name__ == "__main__":
    main()
