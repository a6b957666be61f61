"""Target entries: which entries of the memory hold the target of a position, without a comparison of all with all.

Most tokens stand in a memory a few times, so that C, the most entries of one target, is far below M.

Shapes: B batch rows, M memory entries, N positions of a batch that carry a target, n of them in a slice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from torch import Tensor

from bench.models.core.cpu_copy import Array, CpuTokens, to_device
from bench.models.core.history import IGNORED
from bench.models.core.states import TokenSlice

__all__ = ["EntryTable", "entries_of_targets", "positive_entries", "target_entries"]


class EntryTable(NamedTuple):
    """The memory entries of a batch in the order of their tokens, and where those of each target begin."""

    order: Tensor  # [B, M] entries of each row in the order of their tokens; those of one token as in the memory
    start: Tensor  # [N] place of the target's first entry in the order of its row
    holding: Tensor  # [N] number of its entries
    places: Tensor  # [M] 0, 1, 2, ...
    known: Array  # `holding` on the CPU

    @classmethod
    def of(cls, cpu: CpuTokens) -> EntryTable:
        """Make the table of a batch."""
        order, start, count = entries_of_targets(cpu)
        columns = {"order": order, "start": start, "holding": count, "places": np.arange(order.shape[1])}
        return cls(**to_device(columns, cpu.device), known=count)


def entries_of_targets(cpu: CpuTokens) -> tuple[Array, Array, Array]:
    """Return `order`, `start` and `holding` of an `EntryTable` as arrays; made once for a batch."""
    return cpu.once(_entries_of_targets)


def _entries_of_targets(cpu: CpuTokens) -> tuple[Array, Array, Array]:
    order = cpu.memory_tokens.argsort(axis=1, kind="stable")
    in_order = np.take_along_axis(cpu.memory_tokens, order, 1)
    starts, stops = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for tokens, targets in zip(in_order, cpu.targets, strict=True):
        real = targets[targets != IGNORED]
        starts.append(np.searchsorted(tokens, real, "left"))
        stops.append(np.searchsorted(tokens, real, "right"))
    start = np.concatenate(starts)
    return order, start, np.concatenate(stops) - start


def positive_entries(cpu: CpuTokens) -> tuple[Array, Array]:
    """Return the entries that hold the target of each position, [N, C], and which of them it can read, [N, C] bool.

    They stand in the order of the memory; behind those of a target is filling.
    """
    order, start, count = entries_of_targets(cpu)
    row, position = np.nonzero(cpu.targets != IGNORED)  # [N]
    places = np.arange(count.max(initial=0))
    wanted = np.minimum(start[:, None] + places, max(order.shape[1] - 1, 0))  # [N, C]
    entries = order[row[:, None], wanted]
    return entries, (places < count[:, None]) & cpu.readable[row[:, None], position[:, None], entries]


def target_entries(tokens: TokenSlice) -> tuple[Tensor, Tensor]:
    """Return the memory entries that hold the target of each position of a slice: [n, C], and which count, [n, C] bool.

    An entry counts where the position can read it; other places are filling.
    """
    assert tokens.index is not None
    assert tokens.cpu is not None
    table, span = tokens.cpu.once(EntryTable.of), tokens.index.span
    most = int(table.known[span].max(initial=0))
    places = table.places[:most]
    wanted = (table.start[span, None] + places).clamp_(max=max(table.order.shape[1] - 1, 0))  # [n, C]
    entries = tokens.of_group(table.order[tokens.index.batch]).gather(1, wanted)
    return entries, (places < table.holding[span, None]) & tokens.readable.gather(1, entries)
