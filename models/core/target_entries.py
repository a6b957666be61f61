"""Target entries: which entries of the memory hold the target of a position, without a comparison of all with all.

Most tokens stand in a memory a few times, so that C, the most entries of one target, is far below M.

Shapes: B batch rows, M memory entries, N positions of a batch that carry a target, n of them in a slice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from torch import Tensor

from bench.models.core.history import IGNORED
from bench.models.core.host import Array, HostTokens, to_device
from bench.models.core.states import Rows

__all__ = ["EntryTable", "entries_of_targets", "positive_entries", "target_entries"]


class EntryTable(NamedTuple):
    """The memory entries of a batch in the order of their tokens, and where those of each target begin."""

    order: Tensor  # [B, M] entries of each row in the order of their tokens; those of one token as in the memory
    start: Tensor  # [N] place of the target's first entry in the order of its row
    holding: Tensor  # [N] number of its entries
    places: Tensor  # [M] 0, 1, 2, ...
    known: Array  # `holding` on the host

    @classmethod
    def of(cls, host: HostTokens) -> EntryTable:
        """Make the table of a batch."""
        order, start, count = entries_of_targets(host)
        columns = {"order": order, "start": start, "holding": count, "places": np.arange(order.shape[1])}
        return cls(**to_device(columns, host.device), known=count)


def entries_of_targets(host: HostTokens) -> tuple[Array, Array, Array]:
    """Return `order`, `start` and `holding` of an `EntryTable` as arrays; made once for a batch."""
    return host.once(_entries_of_targets)


def _entries_of_targets(host: HostTokens) -> tuple[Array, Array, Array]:
    order = host.memory_tokens.argsort(axis=1, kind="stable")
    in_order = np.take_along_axis(host.memory_tokens, order, 1)
    starts, stops = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for tokens, targets in zip(in_order, host.targets, strict=True):
        real = targets[targets != IGNORED]
        starts.append(np.searchsorted(tokens, real, "left"))
        stops.append(np.searchsorted(tokens, real, "right"))
    start = np.concatenate(starts)
    return order, start, np.concatenate(stops) - start


def positive_entries(host: HostTokens) -> tuple[Array, Array]:
    """Return the entries that hold the target of each position, [N, C], and which of them it can read, [N, C] bool.

    They stand in the order of the memory; behind those of a target is filling.
    """
    order, start, count = entries_of_targets(host)
    row, position = np.nonzero(host.targets != IGNORED)  # [N]
    places = np.arange(count.max(initial=0))
    wanted = np.minimum(start[:, None] + places, max(order.shape[1] - 1, 0))  # [N, C]
    entries = order[row[:, None], wanted]
    return entries, (places < count[:, None]) & host.readable[row[:, None], position[:, None], entries]


def target_entries(rows: Rows) -> tuple[Tensor, Tensor]:
    """Return the memory entries that hold the target of each position of a slice: [n, C], and which count, [n, C] bool.

    An entry counts where the position can read it; other places are filling.
    """
    assert rows.block is not None
    assert rows.host is not None
    table, span = rows.host.once(EntryTable.of), rows.block.span
    most = int(table.known[span].max(initial=0))
    places = table.places[:most]
    wanted = (table.start[span, None] + places).clamp_(max=max(table.order.shape[1] - 1, 0))  # [n, C]
    entries = rows.of_group(table.order[rows.block.batch]).gather(1, wanted)
    return entries, (places < table.holding[span, None]) & rows.readable.gather(1, entries)
