"""Batches: which rows meet in which batch, on which rank, as pure functions of seed, step and split."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from torch.utils.data import Dataset

from bench.seeds import seed_of
from bench.tasks.codec import Encoded


@dataclass(frozen=True)
class Order:
    """The order of training rows: one permutation an epoch, epochs joined without a gap.

    Args:
        rows: rows of the training split.
        batch: rows of one optimiser step, over all ranks and micro-batches.
        seed: the run's seed.
    """

    rows: int
    batch: int
    seed: int

    def step(self, step: int) -> list[int]:
        """Return the rows of an optimiser step; a resumed run or another world size asks for the same ones."""
        places = range(step * self.batch, (step + 1) * self.batch)
        return [int(permutation(self.rows, self.seed, at // self.rows)[at % self.rows]) for at in places]


@lru_cache(maxsize=4)
def permutation(rows: int, seed: int, epoch: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the order of an epoch."""
    return np.random.default_rng(seed_of(seed, "order", epoch)).permutation(rows)


def share(rows: Sequence[int], part: int, parts: int) -> Sequence[int]:
    """Return one of `parts` neighbouring shares whose sizes differ by at most one.

    >>> [list(share([1, 2, 3, 4, 5], part, 2)) for part in (0, 1)]
    [[1, 2, 3], [4, 5]]
    """
    size, extra = divmod(len(rows), parts)
    start = part * size + min(part, extra)
    return rows[start : start + size + (part < extra)]


class MicroBatches(Dataset[dict[str, Any]]):
    """Item i is micro-batch i of this rank, and carries the target tokens of its whole optimiser step.

    So the loss is divided by one number that needs no communication: 1 GPU x 4 micro-batches = 4 GPUs = one batch.
    """

    def __init__(
        self,
        rows: Sequence[Encoded],
        order: Order,
        steps: int,
        collate: Callable[[Sequence[Encoded]], dict[str, Any]],
        *,
        rank: int = 0,
        world: int = 1,
        accumulate: int = 1,
    ) -> None:
        self.rows, self.order, self.steps, self.collate = rows, order, steps, collate
        self.rank, self.world, self.accumulate = rank, world, accumulate

    def __len__(self) -> int:
        return self.steps * self.accumulate

    def __getitem__(self, item: int) -> dict[str, Any]:
        step, micro = divmod(item, self.accumulate)
        whole = self.order.step(step)
        mine = share(whole, micro * self.world + self.rank, self.world * self.accumulate)
        batch = self.collate([self.rows[i] for i in mine])
        tokens = sum(len(self.rows[i].target) for i in whole)
        return {**batch, "step": step, "step_rows": len(whole), "step_tokens": tokens}


def evaluation_batches(rows: Sequence[Encoded], size: int) -> list[list[Encoded]]:
    """Cut a split into batches by length, then id: little padding, and the same batches whoever evaluates them.

    Ranks take whole batches: regrouping rows would change the last bits of their numbers.
    """
    ordered = sorted(rows, key=lambda row: (-len(row.source) - len(row.target), row.id))
    return [ordered[i : i + size] for i in range(0, len(ordered), size)]


def chosen(ids: Sequence[str], n: int | None) -> list[str]:
    """Choose n ids of a split, the same ones for every run, in split order; all of them for None.

    >>> len(chosen([str(i) for i in range(100)], 10)), chosen(["a"], None)
    (10, ['a'])
    """
    if n is None or n >= len(ids):
        return list(ids)
    kept = set(sorted(ids, key=lambda name: (seed_of("evaluation rows", name), name))[:n])
    return [name for name in ids if name in kept]
