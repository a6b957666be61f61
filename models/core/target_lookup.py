"""Lookup of the tokens that a loss compares a target with: earlier targets of its row, and its memory entries.

`earlier_targets` gives all targets before a position, each token once, `preceding_targets` those of a window, the
nearest first, and `target_entries` the memory entries of the target itself. All are found on the CPU, so that a loss
does not wait for the device.

Shapes: n positions of a slice, N of its batch, M preceding targets or memory entries, U distinct targets of a row, B
batch rows, K most targets of a row, C most entries of one target.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from torch import Tensor

from bench.models.core.cpu_copy import Array, CpuTokens, to_device
from bench.models.core.states import IGNORED, TokenSlice
from bench.models.functional.unlikelihood import Candidates, candidates


def earlier_targets(tokens: TokenSlice) -> tuple[Tensor, Tensor]:
    """Find the targets before each position of a slice, each token once.

    U is the most earlier targets of one of the positions.

    Returns:
        Distinct targets of the position's row [n, U], in the order of their first occurrence, and which of them came
        before the position, [n, U] bool.
    """
    assert tokens.index is not None
    assert tokens.cpu is not None
    table, span = tokens.cpu.once(DistinctTable.of), tokens.index.span
    most = int(table.most[span].max(initial=0))
    ids = table.tokens[tokens.index.batch, :most]
    return tokens.of_group(ids), table.places[:most] < table.before[span, None]


class DistinctTable(NamedTuple):
    """The distinct targets of a batch on its device, and of each of its N positions how many came before it."""

    tokens: Tensor  # [B, U]
    before: Tensor  # [N] how many of its row's tokens are earlier targets
    places: Tensor  # [U] 0, 1, 2, ...
    most: Array  # [N] `before` on the CPU

    @classmethod
    def of(cls, cpu: CpuTokens) -> DistinctTable:
        """Make the table of a batch."""
        found = cpu.once(distinct_targets)
        before = found.before[cpu.targets != IGNORED]
        columns = {"tokens": found.tokens, "before": before, "places": np.arange(found.tokens.shape[1])}
        return cls(**to_device(columns, cpu.device), most=before)


def distinct_targets(cpu: CpuTokens) -> Candidates:
    """Return the distinct targets of each row, and which of them each position has."""
    return candidates(cpu.targets)


class Preceding(NamedTuple):
    """The preceding targets of each position of a slice."""

    tokens: Tensor  # [n, M] the nearest first
    left_out: Tensor  # [n, M] bool: no such target, or equal to the position's own, or a repetition if `distinct`
    number: Tensor  # [n] number of targets before each position in its row
    n_targets: Tensor  # [n] how many targets its row has


def preceding_targets(tokens: TokenSlice, window: int, *, distinct: bool) -> Preceding:
    """Find the targets before each position of a slice that are not its own.

    M is the window, or less where no position of the slice has as many before it.

    Args:
        tokens: a slice of a training batch.
        window: how many targets before a position are looked at.
        distinct: whether a token that occurs several times in the window counts once.
    """
    assert tokens.index is not None
    assert tokens.cpu is not None
    table, span = tokens.cpu.once(TargetTable.of), tokens.index.span
    number = table.number[span]  # [n]
    most = min(window, int(table.most[span].max(initial=0)))
    places = number[:, None] - 1 - table.steps[:most]  # [n, M]
    row, inside = (tokens.start + tokens.group)[:, None], places.clamp_min(0)  # [n, 1], [n, M]
    ids = table.tokens[row, inside]
    left_out = (places < 0) | (ids == tokens.targets[:, None])
    if distinct:
        left_out = left_out | (table.again[row, inside] < number[:, None])
    return Preceding(ids, left_out, number, table.counts[row.squeeze(1)])


class TargetTable(NamedTuple):
    """The targets of a batch without ignored positions, on its device, and counts for each of its N positions."""

    tokens: Tensor  # [B, K]
    again: Tensor  # [B, K] number of the next target of the row with the same token; K where there is none
    counts: Tensor  # [B] targets of each row
    number: Tensor  # [N] number of targets before each in its row
    steps: Tensor  # [K] 0, 1, 2, ...
    most: Array  # [N] `number` on the CPU

    @classmethod
    def of(cls, cpu: CpuTokens) -> TargetTable:
        """Make the table of a batch."""
        real = cpu.targets != IGNORED
        row, counts = np.nonzero(real)[0], real.sum(1)
        number = (real.cumsum(1) - 1)[real]
        tokens = np.zeros((len(counts), counts.max(initial=0)), np.int64)
        tokens[row, number] = cpu.targets[real]
        again = np.full_like(tokens, tokens.shape[1])
        group = row * tokens.shape[1] + cpu.once(distinct_targets).own[real]  # [N] one for each distinct target
        in_groups = group.argsort(kind="stable")  # equal tokens of a row are adjacent, in order
        first, second = in_groups[:-1], in_groups[1:]
        same = group[first] == group[second]
        again[row[first[same]], number[first[same]]] = number[second[same]]
        steps = np.arange(tokens.shape[1])
        columns = {"tokens": tokens, "again": again, "counts": counts, "number": number, "steps": steps}
        return cls(**to_device(columns, cpu.device), most=number)


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

    They are in the order of the memory; rows with fewer than C entries are padded.
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
