"""Preceding targets: the targets that stand before each position in its own row, as columns for a head.

`earlier_targets` gives all of them, each token once. `preceding_targets` gives those of a window, the nearest first.
Both are found on the CPU, so that a loss does not wait for the device.

Shapes: n positions of a slice, N of its batch, M preceding targets, U distinct targets of a row, B batch rows, K most
targets of a row.
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
    left_out: Tensor  # [n, M] bool: where there is none, or it is the position's own target or, if asked, a repetition
    number: Tensor  # [n] how many targets stand before each position in its row
    n_targets: Tensor  # [n] how many targets its row has


def preceding_targets(tokens: TokenSlice, window: int, *, distinct: bool) -> Preceding:
    """Find the targets before each position of a slice that are not its own.

    M is the window, or less where no position of the slice has as many before it.

    Args:
        tokens: a slice of a training batch.
        window: how many targets before a position are looked at.
        distinct: whether a token counts once, however often it stands in the window.
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
    """The targets of a batch without what stands between them, on its device, and of each of its N positions."""

    tokens: Tensor  # [B, K]
    again: Tensor  # [B, K] number of the next target of the row with the same token; K where there is none
    counts: Tensor  # [B] targets of each row
    number: Tensor  # [N] how many targets stand before each in its row
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
        in_groups = group.argsort(kind="stable")  # equal tokens of a row stand together, in order
        first, second = in_groups[:-1], in_groups[1:]
        same = group[first] == group[second]
        again[row[first[same]], number[first[same]]] = number[second[same]]
        steps = np.arange(tokens.shape[1])
        columns = {"tokens": tokens, "again": again, "counts": counts, "number": number, "steps": steps}
        return cls(**to_device(columns, cpu.device), most=number)
