"""models/functional/interpolation.py against golden vectors, obvious loops, and rows without entries."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from bench.models.functional.interpolation import interpolated, nearest_keys, shares_of, spread

GOLDEN = Path(__file__).parents[2] / "golden" / "modern"
CACHE = {"continuous_cache_0": (0.3, 0.2), "continuous_cache_1": (0.2886751345948129, 0.1)}  # theta, lam; pad is 0
NEIGHBOURS = {"knn_lm_0": (3, 1.0), "knn_lm_1": (8, 10.0)}  # k, temperature; lam is .25


def golden(name: str) -> dict[str, Tensor]:
    with np.load(GOLDEN / f"{name}.npz") as file:
        found = {key: torch.from_numpy(file[key]) for key in file}
    return {key: value.double() if value.is_floating_point() else value for key, value in found.items()}


@pytest.mark.parametrize("name", CACHE)
def test_a_continuous_cache(name: str) -> None:
    """Position t reads the states i < t, whose tokens are the ones that followed them."""
    theta, weight = CACHE[name]
    case = golden(name)
    for logits, hidden, ids, expected in zip(
        case["logits"], case["hidden"], case["input_ids"], case["log_probs_linear"], strict=True
    ):
        steps = torch.arange(len(hidden))
        tokens = ids[1:].expand(len(hidden), -1)
        is_text = (ids[1:] != 0) & (ids[:-1] != 0)
        readable = (steps[None] < steps[:, None]) & is_text
        shares = shares_of(hidden @ hidden.T, readable, theta)
        mixed = spread(shares, tokens, logits.shape[1])
        found = interpolated(logits.log_softmax(1), mixed, weight, readable.any(1))
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", NEIGHBOURS)
@pytest.mark.parametrize("at_once", [5, 65_536])
def test_nearest_neighbours(name: str, at_once: int) -> None:
    k, temperature = NEIGHBOURS[name]
    case = golden(name)
    distances, found = nearest_keys(case["hidden"], case["keys"], k, at_once)
    assert [set(row) for row in found.tolist()] == [set(row) for row in case["neighbours"].tolist()]
    everywhere = torch.ones_like(found, dtype=torch.bool)
    mixed = spread(shares_of(-distances, everywhere, 1 / temperature), case["values"][found], case["logits"].shape[1])
    log_probs = interpolated(case["logits"].log_softmax(1), mixed, 0.25, everywhere.any(1))
    torch.testing.assert_close(log_probs, case["log_probs"], rtol=1e-9, atol=1e-10)


@given(st.integers(0, 2**31), st.integers(1, 40), st.integers(1, 50), st.integers(1, 12))
def test_neighbours_are_those_of_an_obvious_search(seed: int, n_keys: int, k: int, at_once: int) -> None:
    torch.manual_seed(seed)
    states, keys = torch.randn(3, 4, dtype=torch.float64), torch.randn(n_keys, 4, dtype=torch.float64)
    distances, found = nearest_keys(states, keys, k, at_once)
    for state, row, numbers in zip(states, distances, found, strict=True):
        every = sorted((float(((state - key) ** 2).sum()), number) for number, key in enumerate(keys))[:k]
        assert [number for _, number in every] == numbers.tolist()
        assert [distance for distance, _ in every] == pytest.approx(row.tolist())


def test_distances_are_not_lowered_by_autocast() -> None:
    """Products of states that share a large part cancel: in bfloat16 a third of the neighbours were other ones."""
    torch.manual_seed(0)
    common = 3 * torch.randn(64)
    states, keys = common + torch.randn(8, 64), (common + torch.randn(500, 64)).half()
    expected, neighbours = nearest_keys(states, keys, 16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        distances, found = nearest_keys(states, keys, 16)
        of_lowered, _ = nearest_keys(states.bfloat16(), keys, 16)
    assert torch.equal(found, neighbours)
    assert torch.equal(distances, expected)
    assert of_lowered.dtype == torch.float32


def test_a_row_without_entries_is_the_model_alone() -> None:
    log_probs = torch.randn(2, 5, dtype=torch.float64).log_softmax(1).requires_grad_()
    readable = torch.tensor([[False, False], [True, False]])
    mixed = spread(shares_of(torch.zeros(2, 2, dtype=torch.float64), readable, 1.0), torch.tensor([[1, 2], [3, 4]]), 5)
    found = interpolated(log_probs, mixed, 0.25, readable.any(1))
    torch.testing.assert_close(found[0], log_probs[0])
    torch.testing.assert_close(found.exp().sum(1), torch.ones(2, dtype=torch.float64))
    assert found[1, 3] > log_probs[1, 3]
    found.sum().backward()
    assert log_probs.grad is not None
    assert torch.isfinite(log_probs.grad).all()
