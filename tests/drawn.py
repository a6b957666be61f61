"""Grids of parameters of which `make test` runs a part and `make test-long` everything."""

from collections.abc import Sequence
from typing import Any

import pytest


def in_turn(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    """All pairs of two lists; slow but for those that take the lists in turn, so that each value comes every day."""
    daily = {(at % len(first), at % len(second)) for at in range(max(len(first), len(second)))}
    pairs = []
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            marks = [] if (i, j) in daily else [pytest.mark.slow]
            pairs.append(pytest.param(one, other, marks=marks))
    return pairs
