"""Seeds of torch: the draws of `torch.manual_seed`, with and without an accelerator."""

import pytest
import torch

from bench.base.seeds import seed_of, seed_torch


@pytest.mark.parametrize("is_available", [False, True])
def test_the_draws_are_those_of_torch(is_available: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: is_available)
    seed = seed_of(0, "step", 1)
    torch.manual_seed(seed)
    expected = torch.rand(3)
    seed_torch(seed)
    assert torch.equal(torch.rand(3), expected)


def test_every_accelerator_is_seeded_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    seeded: list[int] = []
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch, "manual_seed", seeded.append)
    seed_torch(5)
    assert seeded == [5]
