"""Batches: which rows meet in which batch, on which rank, as pure functions of seed, step and split.

The samplers of torch and Lightning repeat rows to fill the ranks, and cannot start in the middle of an epoch.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.base.seeds import seed_of
from bench.tasks.encode.token_store import Array, Encoded, TokenStore

POOL = 32
"""Batches whose rows are sorted by length together: little padding, and still a new mix in every epoch."""


@dataclass(frozen=True, eq=False)
class Order:
    """The order of training rows: one permutation an epoch, epochs joined without a gap.

    With lengths, rows of about one length meet in a batch: each epoch's permutation is cut into pools of `POOL`
    batches, a pool is sorted, and its batches are shuffled. Nothing is repeated, left out or padded with other rows.

    Args:
        rows: rows of the training split.
        batch: rows of one optimiser step, over all ranks and micro-batches.
        seed: the run's seed.
        lengths: of the rows in tokens, [rows]; None to take rows as the permutation has them.
    """

    rows: int
    batch: int
    seed: int
    lengths: Array | None = None
    _epochs: dict[int, Array] = field(default_factory=dict)

    def step(self, step: int) -> Array:
        """Return the rows of an optimiser step, [batch]; the same for a resumed run and for any number of ranks."""
        at, stop = step * self.batch, (step + 1) * self.batch
        parts: list[Array] = []
        while at < stop:
            epoch, first = divmod(at, self.rows)
            parts.append(self.epoch(epoch)[first : first + stop - at])
            at += len(parts[-1])
        return np.concatenate(parts)

    def epoch(self, epoch: int) -> Array:
        """Return the order of an epoch, a permutation of the rows, [rows]."""
        if epoch not in self._epochs:
            if len(self._epochs) > 1:
                self._epochs.clear()
            order = np.random.default_rng(seed_of(self.seed, "order", epoch)).permutation(self.rows)
            begun = -epoch * self.rows % self.batch  # rows that fill the batch the epoch before has begun
            if self.lengths is not None:
                order = self._bucketed(order, begun, self.lengths, epoch)
            self._epochs[epoch] = order
        return self._epochs[epoch]

    def _bucketed(self, order: Array, begun: int, lengths: Array, epoch: int) -> Array:
        """Sort the rows of each pool of batches by length; head and tail, which fill no whole batch, stay."""
        whole = max(0, self.rows - begun) // self.batch * self.batch
        head, middle, tail = order[:begun], order[begun : begun + whole], order[begun + whole :]
        pools = np.arange(whole) // (POOL * self.batch)  # [whole]: the pool of each row
        batches = middle[np.lexsort((lengths[middle], pools))].reshape(-1, self.batch)  # [batches, batch]
        generator = np.random.default_rng(seed_of(self.seed, "batches", epoch))
        mixed = [generator.permutation(batches[at : at + POOL]).ravel() for at in range(0, len(batches), POOL)]
        return np.concatenate((head, *mixed, tail))


class MicroBatches:
    """Item i is micro-batch i of this rank, and carries the target tokens of its whole optimiser step.

    So the loss is divided by one number that needs no communication: 1 GPU x 4 micro-batches = 4 GPUs = one batch.
    """

    def __init__(
        self,
        rows: TokenStore,
        order: Order,
        collate: Callable[[TokenStore, Array], dict[str, Any]],
        *,
        rank: int = 0,
        world: int = 1,
        accumulate: int = 1,
    ) -> None:
        self.rows, self.order, self.collate = rows, order, collate
        self.rank, self.world, self.accumulate = rank, world, accumulate

    def __getitem__(self, item: int) -> dict[str, Any]:
        step, micro = divmod(item, self.accumulate)
        whole = self.order.step(step)
        mine = np.array_split(whole, self.world * self.accumulate)[micro * self.world + self.rank]
        tokens = sum(self.rows.n_target(whole).tolist())
        batch = self.collate(self.rows, mine)
        return {**batch, "item": item, "step": step, "step_rows": len(whole), "step_tokens": tokens}


class Epoch:
    """The micro-batches of one epoch of a trainer, from the step it has reached to the end of the epoch.

    It is no DataLoader, so Lightning does not put a sampler of its own into it. Order and content are a function of the
    item alone, so a training that is resumed asks for the items it would have had.

    Args:
        batches: of this rank.
        steps: optimiser steps of an epoch.
        reached: returns how many steps the training has done.
    """

    def __init__(self, batches: MicroBatches, steps: int, reached: Callable[[], int]) -> None:
        self.batches, self.steps, self.reached = batches, steps, reached

    def __len__(self) -> int:
        return self.steps * self.batches.accumulate

    def __iter__(self) -> Iterator[dict[str, Any]]:
        step = self.reached()
        end = (step // self.steps + 1) * self.steps
        return map(self.batches.__getitem__, range(step * self.batches.accumulate, end * self.batches.accumulate))

    def state_dict(self) -> dict[str, Any]:
        """Return nothing: the trainer's step is the whole state. Lightning asks it of what can be resumed."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take nothing over."""


class EvaluationEpoch:
    """Batches of a split, whole ones in turn for each rank; None where a rank has none left.

    All ranks get the same number of items, so that a loop with a collective at its end ends on all of them.

    Args:
        rows: of the split.
        size: rows of a batch.
        collate: makes a batch.
        rank: this process.
        world: processes.
    """

    def __init__(
        self,
        rows: Sequence[Encoded],
        size: int,
        collate: Callable[[Sequence[Encoded]], dict[str, Any]],
        *,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        self.batches = evaluation_batches(rows, size)
        self.collate, self.rank, self.world = collate, rank, world

    def __len__(self) -> int:
        return -(-len(self.batches) // self.world)

    def __iter__(self) -> Iterator[dict[str, Any] | None]:
        for number in range(self.rank, len(self) * self.world, self.world):
            if number < len(self.batches):
                yield self.collate(self.batches[number])
            else:
                yield None


def evaluation_batches(rows: Sequence[Encoded], size: int) -> list[list[Encoded]]:
    """Cut a split into batches by length, then id: little padding, and the same batches for any number of processes.

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
    kept = set(heapq.nsmallest(n, ids, key=lambda name: (seed_of("evaluation rows", name), name)))
    return [name for name in ids if name in kept]
