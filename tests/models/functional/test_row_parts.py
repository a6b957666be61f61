"""models/functional/row_parts.py: parts are views that make up the whole, and a CPU's fit in its cache."""

from __future__ import annotations

import pytest
import torch

from bench.models.functional.row_parts import CACHED, PARTS, row_parts


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize(("rows", "tokens"), [(0, 5), (1, 5), (21, 7), (100, 30_000), (3, 2_000_000)])
def test_parts_make_up_the_whole(rows: int, tokens: int, device: str) -> None:
    values = torch.empty(rows, tokens, device=device)
    parts = row_parts(values)
    assert sum(map(len, parts)) == rows
    if device == "cpu":
        assert all(len(part) <= 1 or part.numel() * 4 <= CACHED for part in parts)
    else:
        assert len(parts) <= PARTS


def test_they_are_views() -> None:
    values = torch.zeros(20, 30_000)
    for part in row_parts(values):
        part.fill_(1)
    assert values.min() == 1
