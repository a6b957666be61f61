"""MefMax: golden partitions of both variants, and a plain loop over Algorithm 1."""

import itertools
import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from bench.models.functional.mefmax import fixed_eq_freq, fixed_eq_token, mefmax, released_cuts

FOLDER = Path(__file__).parents[2] / "golden" / "f2"
CASES = sorted(path.stem for path in FOLDER.glob("mefmax_*.json"))
ROUNDING = {"mefmax_uniform50", "mefmax_uniform97"}
"""Several K score exactly 1 there, so that the authors' choice is one of rounding; ours is the smallest."""


def load(name: str) -> tuple[Tensor, dict[str, Any]]:
    case = json.loads((FOLDER / f"{name}.json").read_text())
    given, size = case["inputs"]["frequencies"], case["inputs"]["n"]
    if given is not None:
        return torch.tensor(given, dtype=torch.float64), case["outputs"]
    rank = torch.arange(1, size + 1, dtype=torch.float64)
    if "mandelbrot" in name:
        return (1e6 / (rank + 2.7) ** 1.1).floor(), case["outputs"]
    return 1e7 / rank ** float(name.rpartition("_s")[2]), case["outputs"]


def uniformity(masses: list[float]) -> float:
    """Eq. 6."""
    total = sum(masses)
    if len(masses) == 1:
        return 1.0
    return -sum(m / total * math.log(m / total) for m in masses if m) / math.log(len(masses))


def plain(counts: list[int]) -> list[int]:
    """Algorithm 1 as it is printed, with whole targets and eq. 5 as the score."""
    counts = sorted(counts, reverse=True)
    total, best, chosen = sum(counts), 0.0, []
    for classes in range(1, total // counts[0] + 1):
        boundaries: list[int] = []
        cumulative = 0
        for place, count in enumerate(counts, start=1):
            cumulative += count
            if cumulative * classes > (len(boundaries) + 1) * total and cumulative < total:
                boundaries.append(place)
        parts = [counts[a:b] for a, b in zip([0, *boundaries], [*boundaries, len(counts)], strict=True)]
        score = uniformity([sum(part) for part in parts]) + sum(map(uniformity, parts)) / len(parts)
        if score > best + 1e-12:
            best, chosen = score, boundaries
    return chosen


@pytest.mark.parametrize("name", CASES)
def test_golden_paper(name: str) -> None:
    counts, expected = load(name)
    assert list(mefmax(counts).boundaries) == expected["alg1_intbounds_Usingle1_sum"]["boundaries"]


@pytest.mark.parametrize("name", [name for name in CASES if name not in ROUNDING])
def test_golden_released(name: str) -> None:
    counts, expected = load(name)
    found = list(mefmax(counts, "released").boundaries)
    if expected["code_ideal_cutoffs"] is not None:
        assert found == expected["code_ideal_cutoffs"]
    elif name == "mefmax_with_zeros":  # their logarithm of zero is nan; a token never seen counts once here
        assert found == list(mefmax(counts.clamp_min(1), "released").boundaries)
    else:  # their program fails
        assert found == []


@pytest.mark.parametrize("name", CASES)
def test_golden_released_cuts(name: str) -> None:
    counts, expected = load(name)
    shares = (counts / counts.sum()).cumsum(0).tolist()
    for classes, boundaries in expected["code_compute_cutoffs"].items():
        assert released_cuts(shares, int(classes)) == boundaries


@pytest.mark.parametrize(
    ("counts", "classes", "expected"),
    [
        # 1/4 is not beyond 1/3, 1/2 is; then 3/8 of the mass each: 1/4 is not beyond it, 1/2 is
        ([2, 2, 2, 2], 3, [1, 2]),
        # 3/8 are left for each of two classes: 2 + 1 is that exactly
        ([2, 2, 1, 1, 1, 1], 3, [1, 3]),
        # the first token is half exactly, and so a class; the next two are half of the rest
        ([8, 2, 2, 2, 2], 2, [1]),
        ([1, 1, 1, 1, 1, 1, 1, 1], 4, [2, 4, 6]),
    ],
)
def test_released_cuts_where_a_class_has_its_part_exactly(counts: list[int], classes: int, expected: list[int]) -> None:
    """By hand from the authors' rule, `if cluster_cumprob > cut_prob`; shares are exact powers of two."""
    total = sum(counts)
    shares = [sum(counts[:end]) / total for end in range(1, len(counts) + 1)]
    assert released_cuts(shares, classes) == expected


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_plain_loop_on_all_small_tables(size: int) -> None:
    """Many of them reach j/K of the total exactly."""
    for counts in itertools.combinations_with_replacement([5, 4, 2, 1, 0], size):
        if any(counts):
            assert list(mefmax(torch.tensor(counts)).boundaries) == plain(list(counts)), counts


def test_tokens_never_seen_are_in_the_last_class() -> None:
    counts = torch.tensor([0, 50, 0, 30, 20, 10, 5, 5, 2, 1])
    found = mefmax(counts)
    assert (found.of_token[counts == 0] == len(found.boundaries)).all()
    assert mefmax(torch.tensor([3, 3, 0, 0])).boundaries == ()


@pytest.mark.parametrize(
    "counts", [[9, 0, 0, 0, 0, 0], [1] * 6, [50, 3, 2, 1, 1, 1], [5, 4, 4, 4, 2, 0], [7, 6, 1, 1, 1, 1]]
)
@pytest.mark.parametrize("number", range(1, 7))
@pytest.mark.parametrize("cut", [fixed_eq_freq, fixed_eq_token])
def test_fixed_gives_every_class_a_token(cut: Any, number: int, counts: list[int]) -> None:
    """Also where one token has more than a class's share, or there are as many classes as tokens."""
    found = cut(torch.tensor(counts), number)
    assert len(found.boundaries) == number - 1
    assert len(found.of_token.unique()) == number
    assert list(found.boundaries) == sorted(set(found.boundaries))
