"""Lookup of the tokens that a loss compares a target with: earlier targets of its row, and its memory entries.

`earlier_targets` gives all targets before a position, each token once, `preceding_targets` those of a window, the
nearest first, `target_entries` the memory entries of the target itself, and `paired` the positions that have such an
entry. All are found on the CPU, so that a loss does not wait for the device.

Shapes: n positions of a slice, N of its batch, M preceding targets or memory entries, U distinct targets of a row, B
batch rows, K most targets of a row, C most entries of one target; in `paired`, k positions with a pair.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from torch import Tensor

from bench.models.core.cpu_copy import Array, CpuTokens, to_device
from bench.models.core.states import IGNORED, TokenSlice
from bench.models.functional.ranking import Distinct
from bench.models.functional.unlikelihood import candidates


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
        ids, before = candidates(cpu.targets)
        before = before[cpu.targets != IGNORED]
        columns = {"tokens": ids, "before": before, "places": np.arange(ids.shape[1])}
        return cls(**to_device(columns, cpu.device), most=before)


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
        for of_row, count, next_of_row in zip(tokens, counts, again, strict=True):
            order = of_row[:count].argsort(kind="stable")  # equal tokens are adjacent, in order
            same = np.flatnonzero(of_row[order][1:] == of_row[order][:-1])
            next_of_row[order[same]] = order[same + 1]
        steps = np.arange(tokens.shape[1])
        columns = {"tokens": tokens, "again": again, "counts": counts, "number": number, "steps": steps}
        return cls(**to_device(columns, cpu.device), most=number)


def positive_entries(cpu: CpuTokens) -> tuple[Array, Array, Array]:
    """Return the memory entries that hold the target of each position, [N, C], and which of them it can read, bool.

    They are in the order of the memory; rows with fewer than C entries are padded. The third array is how
    many entries hold it, [N].
    """
    order = cpu.memory_tokens.argsort(axis=1, kind="stable")
    in_order = np.take_along_axis(cpu.memory_tokens, order, 1)
    row, position = np.nonzero(cpu.targets != IGNORED)  # [N]
    starts, stops = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for tokens, targets in zip(in_order, cpu.targets, strict=True):
        real = targets[targets != IGNORED]
        starts.append(np.searchsorted(tokens, real, "left"))
        stops.append(np.searchsorted(tokens, real, "right"))
    start = np.concatenate(starts)
    count = np.concatenate(stops) - start
    places = np.arange(count.max(initial=0))
    wanted = np.minimum(start[:, None] + places, max(order.shape[1] - 1, 0))  # [N, C]
    entries = order[row[:, None], wanted]
    return entries, (places < count[:, None]) & cpu.readable[row[:, None], position[:, None], entries], count


def target_entries(tokens: TokenSlice) -> tuple[Tensor, Tensor]:
    """Return the memory entries that hold the target of each position of a slice: [n, C], and which count, [n, C] bool.

    An entry counts where the position can read it; other places are filling.
    """
    assert tokens.index is not None
    assert tokens.cpu is not None
    entries, positive, count = (of_batch[tokens.index.span] for of_batch in tokens.cpu.once(positive_entries))
    most = int(count.max(initial=0))
    copied = to_device({"entries": entries[:, :most], "positive": positive[:, :most]}, tokens.cpu.device)
    return copied["entries"], copied["positive"].bool()


@dataclass(frozen=True)
class Paired:
    """The positions of a slice that can read an entry with their target, found on the CPU.

    Positions of one batch row with the same target rank the memory alike. So entries are ordered once for each of the K
    distinct pairs of a batch row and a target.
    """

    at: Tensor  # [k] positions in the slice; falling in `stops`
    kept: Tensor  # [k] place of each in a rectangle of these positions only
    width: int  # places of each batch row in that rectangle
    question: Tensor  # [k] which of the K orders each position uses
    targets: Distinct  # of [K] targets
    memory: Distinct  # of [K, M] memory tokens
    entries: Tensor  # [k, C] entries that may hold the target
    positive: Tensor  # [k, C] bool, which of them do and can be read
    stops: list[int]  # [k] behind the last positive of each position in `entries`

    def of(self, tokens: TokenSlice) -> TokenSlice:
        """Return these positions of the slice they were found in."""
        return replace(tokens.take(self.at), kept=self.kept, width=self.width)


def paired(tokens: TokenSlice) -> Paired:
    """Find the positions of a slice that have a positive."""
    assert tokens.index is not None
    assert tokens.cpu is not None
    cpu, batch = tokens.cpu, tokens.index.batch
    row, position = np.divmod(tokens.index.places, cpu.targets.shape[1])  # [n]
    entries, positive, _ = (of_batch[tokens.index.span] for of_batch in cpu.once(positive_entries))  # [n, C]
    stops = (positive * np.arange(1, positive.shape[1] + 1)).max(1, initial=0)
    at = np.flatnonzero(stops)
    at = at[np.argsort(-stops[at], kind="stable")]
    row, targets, stops = row[at], cpu.targets[row[at], position[at]], stops[at]  # [k]
    most = int(stops.max(initial=0))
    vocabulary = int(targets.max(initial=0)) + 1
    questions, question = np.unique(row * vocabulary + targets, return_inverse=True)  # [K], [k]
    target_tokens, target_place = np.unique(questions % vocabulary, return_inverse=True)
    memory_tokens, memory_place = np.unique(cpu.memory_tokens[batch], return_inverse=True)
    place, width = numbered(row)
    copied = to_device(
        {
            "at": at,
            "kept": (row - batch.start) * width + place,
            "question": question,
            "group": questions // vocabulary - batch.start,
            "target_tokens": target_tokens,
            "target_place": target_place,
            "memory_tokens": memory_tokens,
            "memory_place": memory_place.reshape(cpu.memory_tokens[batch].shape),  # [G, M]
            "entries": entries[at, :most],
            "positive": positive[at, :most],
        },
        cpu.device,
    )
    return Paired(
        copied["at"],
        copied["kept"],
        width,
        copied["question"],
        Distinct(copied["target_tokens"], copied["target_place"]),
        Distinct(copied["memory_tokens"], copied["memory_place"].index_select(0, copied["group"])),
        copied["entries"],
        copied["positive"].bool(),
        stops.tolist(),
    )


def numbered(row: Array) -> tuple[Array, int]:
    """Number the positions of each batch row, [k] -> [k], and return how many a row has at the most.

    >>> numbered(np.array([1, 0, 1]))
    (array([0, 0, 1]), 2)
    """
    sorted_by_row = np.argsort(row, kind="stable")
    starts = np.searchsorted(row[sorted_by_row], row)  # number of positions in earlier batch rows
    place = np.empty_like(row)
    place[sorted_by_row] = np.arange(len(row))
    return place - starts, int((place - starts).max(initial=-1)) + 1
