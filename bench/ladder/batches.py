"""Batches: methods of a rung that are searched and run together, before the next ones are begun.

What has no weights any more, as all cells of a kept board, can be neither evaluated nor trained further. So methods
that need each other's weights share a batch, and a batch is no larger than it must be to keep all workers busy: a
ladder that goes on from a board repeats at most the batch that it was stopped in.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.cells.search.trials import trained_before
from bench.config.resolve import find_method
from bench.ladder.rates import FACTORS

__all__ = ["batches"]


def batches(methods: Sequence[str], jobs: int) -> list[tuple[str, ...]]:
    """Return methods in batches: those that start from, or read, one model, and as many more as workers want trials.

    Args:
        methods: of a ladder, in the order in which they matter.
        jobs: workers.

    >>> batches(["mle", "f2softmax", "mle.continued", "trime"], jobs=2)
    [('mle', 'mle.continued'), ('f2softmax',), ('trime',)]
    >>> batches(["mle", "f2softmax", "mle.continued", "trime"], jobs=8)
    [('mle', 'mle.continued', 'f2softmax', 'trime')]
    """
    families: dict[str, list[str]] = {}
    for name in methods:
        families.setdefault(root_of(name), []).append(name)
    found: list[tuple[str, ...]] = []
    for family in families.values():
        if found and trials_of(found[-1]) < jobs:
            found[-1] = (*found[-1], *family)
        else:
            found.append(tuple(family))
    return found


def root_of(name: str) -> str:
    """Return the first method on whose weights a method rests, or its own name as it is trained.

    >>> root_of("tailr.power"), root_of("mle.decoupled"), root_of("trime")
    ('mle', 'mle', 'trime')
    """
    method = find_method(name)
    return (*trained_before(method), method.trained_name)[0]


def trials_of(methods: Sequence[str]) -> int:
    """Return how many trials methods have that can be trained at once: none of those that go on from others."""
    return len(FACTORS) * sum(root_of(name) == name for name in methods)
