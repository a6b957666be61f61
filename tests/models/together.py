"""Several ranks in one process: each ends its step in a thread, and what one of them sums, all have given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from torch import Tensor

Found = TypeVar("Found")


def together(act: Callable[[int, Callable[[Tensor], Tensor]], Found], world: int) -> Sequence[Found]:
    """Call a function on every rank at once, with its number and a sum over ranks; return what each found."""
    given: dict[int, Tensor] = {}
    barrier = Barrier(world, timeout=60)

    def on(rank: int) -> Found:
        def reduce(tensor: Tensor) -> Tensor:
            given[rank] = tensor
            barrier.wait()
            total: Tensor = sum(given[other] for other in range(world))  # type: ignore[assignment]
            barrier.wait()
            return total

        return act(rank, reduce)

    with ThreadPoolExecutor(world) as pool:
        return list(pool.map(on, range(world)))
