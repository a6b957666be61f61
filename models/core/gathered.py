"""Gathered: what every rank has noted in a step, of any length, joined on all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def gathered(parts: Sequence[Tensor], reduce: Callable[[Tensor], Tensor], rank: int, world: int) -> Tensor:
    """Join what each rank has noted, in the order in which one process alone would have noted it.

    A step has as many micro-batches on every rank; the rows of one are shared out over the ranks in order. With one
    rank nothing is asked of a device; with several, each waits for the others.

    Args:
        parts: of this rank, one tensor [any length] for each of its micro-batches; all ranks have as many.
        reduce: sums a tensor over ranks, as `end_of_step` is given it.
        rank, world: this process, and how many there are.

    Returns:
        [total length], the same on every rank.

    >>> gathered([torch.tensor([1.0, 2.0]), torch.tensor([3.0])], lambda tensor: tensor, 0, 1)
    tensor([1., 2., 3.])
    """
    if world == 1:
        return torch.cat(list(parts))
    lengths = torch.zeros(len(parts), world, dtype=torch.int64, device=parts[0].device)
    lengths[:, rank] = torch.tensor([len(part) for part in parts])
    ends = reduce(lengths).flatten().cumsum(0).tolist()  # micro-batch by micro-batch, rank by rank
    joined = parts[0].new_zeros(ends[-1])
    for micro, part in enumerate(parts):
        end = ends[micro * world + rank]
        joined[end - len(part) : end] = part  # each rank writes what no other writes
    return reduce(joined)
