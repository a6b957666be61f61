"""Samplers: which tokens they keep, what they draw, and what a draw may depend on."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import (
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from bench.config.decoding import parse
from bench.decodings.core.draws import PREFILTER, inverse_cdf, nucleus_candidates
from bench.decodings.core.sampler import Sampler
from bench.decodings.samplers import Nucleus
from bench.generation.generation import SeededSampler

GOLDEN = Path(__file__).parents[2] / "golden" / "modern"
CUTS = [{"min_p": 0.1, "typical": 0.9}, {"min_p": 0.05, "typical": 0.5}]
SAMPLERS = [
    "topk=7", "nucleus=0.8", "nucleus=0.8+temperature=2.0", "sample", "min_p=0.05", "min_p=0.3+temperature=2.0",
    "typical=0.2", "typical=0.9",
]  # fmt: skip


def one(text: str) -> Sampler:
    decoding = parse(text)[0]
    assert isinstance(decoding, Sampler)
    return decoding


def scores_of(rows: int, vocabulary: int, scale: float, seed: int = 0) -> Tensor:
    return (scale * torch.randn(rows, vocabulary, generator=torch.Generator().manual_seed(seed))).log_softmax(1)


def kept(decoding: str, scores: Tensor) -> tuple[Tensor, Tensor]:
    """Which tokens a sampler draws from, [B, V], and which rows of a nucleus needed the whole vocabulary, [B]."""
    settings = one(decoding)
    if not isinstance(settings, Nucleus):
        return settings.kept(scores), torch.zeros(len(scores), dtype=torch.bool)
    _, ids, inside, settled = nucleus_candidates(scores, settings.p)
    found = torch.zeros_like(scores, dtype=torch.bool).scatter_(1, ids, inside)
    if not settled.all():
        found[~settled] = settings.kept(scores[~settled])
    return found, ~settled


def sampled(decoding: str, scores: Tensor, seeds: Any) -> Tensor:
    return SeededSampler(one(decoding), seeds, 1)(scores)


def golden(family: str, number: int) -> dict[str, Tensor]:
    with np.load(GOLDEN / f"{family}_{number}.npz") as arrays:
        return {name: torch.from_numpy(arrays[name]) for name in arrays.files}


# Cuts ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("name", ["min_p", "typical"])
def test_golden_cuts(name: str, number: int) -> None:
    arrays, decoding = golden("truncation_samplers", number), one(f"{name}={CUTS[number][name]}")
    inside = decoding.kept(arrays["logits"])
    assert torch.equal(inside, arrays[f"{name}_keep"])
    probs = arrays["logits"].double().masked_fill(~inside, -math.inf).softmax(1)
    torch.testing.assert_close(probs, arrays[f"{name}_probs"], rtol=0, atol=1e-12)
    assert torch.equal(decoding.draw(arrays["logits"], arrays["uniforms"]), arrays[f"{name}_token"])


@pytest.mark.parametrize("decoding", ["topk=40", "nucleus=0.5", "nucleus=0.9"])
@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_ties_go_to_the_lowest_ids(decoding: str, scale: float) -> None:
    """Scores of a bf16 head tie by the dozen. Which of them the library's nucleus keeps is its sort's choice."""
    scores, settings = scores_of(64, 6000, scale).bfloat16().float(), one(decoding)
    warper = TopPLogitsWarper(settings.p) if isinstance(settings, Nucleus) else TopKLogitsWarper(40)
    found, theirs = kept(decoding, scores)[0], warper(None, scores) > -math.inf
    assert torch.equal(found.sum(1), theirs.sum(1))
    floor = scores.masked_fill(~found, math.inf).amin(1, keepdim=True)
    assert torch.equal(found & (scores > floor), theirs & (scores > floor))
    for row, tied in zip(found, scores == floor, strict=True):
        assert row[tied].tolist() == sorted(row[tied].tolist(), reverse=True)


@pytest.mark.parametrize("scale", [1.0, 1.2, 1.5])
def test_a_nucleus_is_exact(scale: float) -> None:
    """Against float64 over the whole vocabulary; float32 sums are off by a token now and then."""
    scores = scores_of(256, 1000, scale, seed=1)
    falling = scores.double().sort(dim=1, descending=True).values
    size = (falling.softmax(1).cumsum(1) < 0.999).sum(1) + 1
    assert torch.equal(kept("nucleus=0.999", scores)[0].sum(1), size)


def test_a_flat_nucleus_reaches_beyond_the_prefilter() -> None:
    scores, theirs = torch.cat([scores_of(1, 6000, 0.1), scores_of(2, 6000, 8.0)]), TopPLogitsWarper(0.9)
    found, whole = kept("nucleus=0.9", scores)
    assert whole.tolist() == [True, False, False]
    assert int(found[0].sum()) > PREFILTER
    assert torch.equal(found, theirs(None, scores) > -math.inf)
    draws, best = 400, scores[0].topk(PREFILTER)
    tokens = sampled("nucleus=0.9", scores[:1].expand(draws, -1), range(draws))
    share, expected = torch.isin(tokens, best.indices).float().mean(), best.values.exp().sum() / 0.9
    assert abs(share - expected) < 5 * (0.25 / draws) ** 0.5
    assert found[0][tokens].all()


# Draws --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_draws_have_the_distribution(temperature: float) -> None:
    """20,000 rows with the same scores, each with a seed of its own; five standard deviations are allowed."""
    scores, draws = scores_of(1, 97, 1.5, seed=3), 20000
    tokens = sampled(f"sample+temperature={temperature}", scores.expand(draws, -1), range(draws))
    counts = torch.bincount(tokens, minlength=97)
    expected = (scores[0].double() / temperature).softmax(0) * draws
    assert float(((counts - expected) ** 2 / expected).sum()) < 96 + 5 * math.sqrt(2 * 96)


@pytest.mark.parametrize("decoding", SAMPLERS)
def test_a_row_is_its_own_at_every_step(decoding: str) -> None:
    """Not of its company, its place or what others drew."""
    scores, order = [scores_of(9, 300, 1.5, seed=step) for step in range(6)], [4, 8, 0, 2, 6, 1, 3, 5, 7]

    def drawn(rows: list[int]) -> Tensor:
        sampler = SeededSampler(one(decoding), [100 + row for row in rows], 6)
        return torch.stack([sampler(step[rows]) for step in scores], 1)

    together = drawn(list(range(9)))
    assert torch.equal(drawn(order), together[order])
    assert torch.equal(torch.cat([drawn([row]) for row in range(9)]), together)


@pytest.mark.parametrize("decoding", SAMPLERS)
def test_ruled_out_tokens_stay_out(decoding: str) -> None:
    scores, single = scores_of(200, 97, 1.0), torch.full((3, 50), -math.inf)
    scores[:, 2:], single[:, 7] = -math.inf, 0.0
    sampler = SeededSampler(one(decoding), range(200), 3)
    assert max(int(sampler(scores).max()) for _ in range(3)) < 2
    assert sampled(decoding, single, [0, 1, 2**63 - 1]).tolist() == [7, 7, 7]


def test_the_first_and_last_place_are_never_impossible_tokens() -> None:
    generator = torch.Generator().manual_seed(0)
    for _ in range(200):
        scores = torch.randn(1, 50, generator=generator)
        scores[:, [0, 1, 48, 49]] = -math.inf
        for place in (0.0, 1 - 2**-53):
            assert 2 <= int(inverse_cdf(scores, torch.tensor([place], dtype=torch.float64))) < 48
