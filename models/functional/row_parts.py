"""Parts of a matrix: what several passes go over is faster where it stays in a CPU's cache.

Shapes: n positions, V tokens.
"""

from __future__ import annotations

from torch import Tensor

CACHED = 2**19
"""Bytes of a part on a CPU: with two copies of it, what a core's own cache holds."""

PARTS = 8
"""Parts on other devices, where each costs some launches and a copy is as large as one."""


def row_parts(values: Tensor) -> tuple[Tensor, ...]:
    """Split a matrix into parts of some rows.

    Args:
        values: `[n, V]`.

    Returns:
        Views `[m, V]`, in order. How many rows a part has follows from shape, type and kind of device.
    """
    rows = -(-len(values) // PARTS)
    if values.device.type == "cpu":
        rows = CACHED // (values.shape[1] * values.element_size())
    return values.split(max(1, rows))
