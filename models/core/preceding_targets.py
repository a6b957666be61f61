"""Preceding targets: the targets that stand before each position in its own row, as columns for a head.

`earlier_targets` gives all of them, each token once. `preceding_targets` gives those of a window, the nearest first.
Both are found on the host, so that a loss does not wait for the device.

Shapes: n positions of a slice, N of its batch, M preceding targets, U distinct targets of a row, B batch rows, K most
targets of a row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from torch import Tensor

from bench.models.core.host import Array, HostTokens, to_device
from bench.models.core.states import IGNORED, Rows
from bench.models.functional.unlikelihood import Candidates, candidates


def earlier_targets(rows: Rows) -> tuple[Tensor, Tensor]:
    """Find the targets before each position of a slice, each token once.

    U is the most earlier targets of one of the positions.

    Returns:
        Distinct targets of the position's row [n, U], in the order of their first occurrence, and which of them came
        before the position, [n, U] bool.
    """
    assert rows.block is not None
    assert rows.host is not None
    table, span = rows.host.once(DistinctTable.of), rows.block.span
    most = int(table.most[span].max(initial=0))
    tokens = table.tokens[rows.block.batch, :most]
    return rows.of_group(tokens), table.places[:most] < table.before[span, None]


class DistinctTable(NamedTuple):
    """The distinct targets of a batch on its device, and of each of its N positions how many came before it."""

    tokens: Tensor  # [B, U]
    before: Tensor  # [N] how many of its row's tokens are earlier targets
    places: Tensor  # [U] 0, 1, 2, ...
    most: Array  # [N] `before` on the host

    @classmethod
    def of(cls, host: HostTokens) -> DistinctTable:
        """Make the table of a batch."""
        found = host.once(distinct_targets)
        before = found.before[host.targets != IGNORED]
        columns = {"tokens": found.tokens, "before": before, "places": np.arange(found.tokens.shape[1])}
        return cls(**to_device(columns, host.device), most=before)


def distinct_targets(host: HostTokens) -> Candidates:
    """Return the distinct targets of each row, and which of them each position has."""
    return candidates(host.targets)


class Preceding(NamedTuple):
    """The preceding targets of each position of a slice."""

    tokens: Tensor  # [n, M] the nearest first
    left_out: Tensor  # [n, M] bool: where there is none, or it is the position's own target or, if asked, a repetition
    number: Tensor  # [n] how many targets stand before each position in its row
    n_targets: Tensor  # [n] how many targets its row has


def preceding_targets(rows: Rows, window: int, *, distinct: bool) -> Preceding:
    """Find the targets before each position of a slice that are not its own.

    M is the window, or less where no position of the slice has as many before it.

    Args:
        rows: a slice of a training batch.
        window: how many targets before a position are looked at.
        distinct: whether a token counts once, however often it stands in the window.
    """
    assert rows.block is not None
    assert rows.host is not None
    table, span = rows.host.once(TargetTable.of), rows.block.span
    number = table.number[span]  # [n]
    most = min(window, int(table.most[span].max(initial=0)))
    places = number[:, None] - 1 - table.steps[:most]  # [n, M]
    row, inside = (rows.start + rows.group)[:, None], places.clamp_min(0)  # [n, 1], [n, M]
    tokens = table.tokens[row, inside]
    left_out = (places < 0) | (tokens == rows.targets[:, None])
    if distinct:
        left_out = left_out | (table.again[row, inside] < number[:, None])
    return Preceding(tokens, left_out, number, table.counts[row.squeeze(1)])


class TargetTable(NamedTuple):
    """The targets of a batch without what stands between them, on its device, and of each of its N positions."""

    tokens: Tensor  # [B, K]
    again: Tensor  # [B, K] number of the next target of the row with the same token; K where there is none
    counts: Tensor  # [B] targets of each row
    number: Tensor  # [N] how many targets stand before each in its row
    steps: Tensor  # [K] 0, 1, 2, ...
    most: Array  # [N] `number` on the host

    @classmethod
    def of(cls, host: HostTokens) -> TargetTable:
        """Make the table of a batch."""
        real = host.targets != IGNORED
        row, counts = np.nonzero(real)[0], real.sum(1)
        number = (real.cumsum(1) - 1)[real]
        tokens = np.zeros((len(counts), counts.max(initial=0)), np.int64)
        tokens[row, number] = host.targets[real]
        again = np.full_like(tokens, tokens.shape[1])
        group = row * tokens.shape[1] + host.once(distinct_targets).own[real]  # [N] one for each distinct target
        in_groups = group.argsort(kind="stable")  # equal tokens of a row stand together, in order
        first, second = in_groups[:-1], in_groups[1:]
        same = group[first] == group[second]
        again[row[first[same]], number[first[same]]] = number[second[same]]
        steps = np.arange(tokens.shape[1])
        columns = {"tokens": tokens, "again": again, "counts": counts, "number": number, "steps": steps}
        return cls(**to_device(columns, host.device), most=number)
