"""models/loss_truncation.py: what ranks have noted, in the order of one process."""

from __future__ import annotations

import pytest
import torch

from bench.models.loss_truncation import gathered
from tests.models.together import together

NOTED = {
    "one micro-batch": [[[1.0, 2.0]], [[3.0]]],
    "two micro-batches": [[[1.0, 2.0], [4.0]], [[3.0], [5.0, 6.0]]],
    "nothing of one rank": [[[], []], [[1.0], [2.0]]],
    "three ranks": [[[1.0]], [[2.0]], [[3.0]]],
}
"""By rank and micro-batch."""


@pytest.mark.parametrize("name", NOTED)
def test_order_of_one_process(name: str) -> None:
    noted = NOTED[name]
    parts = [[torch.tensor(part) for part in of_rank] for of_rank in noted]
    found = together(lambda rank, reduce: gathered(parts[rank], reduce, rank, len(noted)), len(noted))
    total = max(max(part, default=0.0) for of_rank in noted for part in of_rank)
    for joined in found:
        assert joined.tolist() == [float(number + 1) for number in range(int(total))]


def test_one_rank_asks_nobody() -> None:
    def reduce(tensor: torch.Tensor) -> torch.Tensor:
        raise AssertionError("there is nobody to ask")

    assert gathered([torch.tensor([2.0]), torch.tensor([1.0])], reduce, 0, 1).tolist() == [2.0, 1.0]
