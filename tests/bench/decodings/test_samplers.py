"""Samplers: which tokens they keep, what they draw, and what a draw may depend on."""

from __future__ import annotations

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
CUTS = [{"min_p": 0.1, "typical": 0.9, "eta": 0.02}, {"min_p": 0.05, "typical": 0.5, "eta": 0.1}]
MIROSTAT = [(1.5, 0.1), (2.0, 0.5)]
SAMPLERS = [
    "topk=7",
    "nucleus=0.8",
    "nucleus=0.8+temperature=2.0",
    "sample",
    "min_p=0.05",
    "min_p=0.3+temperature=2.0",
    "typical=0.2",
    "typical=0.9",
    "eta=0.01",
    "eta=0.1+temperature=0.5",
    "mirostat=2",
    "mirostat=3+version=1",
]


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


def chi_square_fits(tokens: Tensor, probabilities: Tensor) -> bool:
    """Whether counts fit, five standard deviations allowed; cells expected under 5 times share one."""
    expected = probabilities.double() * len(tokens)
    counts = torch.bincount(tokens, minlength=len(expected)).double()
    assert (counts[expected == 0] == 0).all()
    common = expected >= 5
    cells = torch.stack([torch.cat([x[common], x[~common].sum()[None]]) for x in (counts, expected)])
    counts, expected = cells[:, cells[1] > 0]
    freedom = len(expected) - 1
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return statistic < freedom + 5 * math.sqrt(2 * freedom)


def golden(family: str, number: int) -> dict[str, Tensor]:
    with np.load(GOLDEN / f"{family}_{number}.npz") as arrays:
        return {name: torch.from_numpy(arrays[name]) for name in arrays.files}


# Cuts ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("name", ["min_p", "typical", "eta"])
def test_golden_cuts(name: str, number: int) -> None:
    arrays, decoding = golden("truncation_samplers", number), one(f"{name}={CUTS[number][name]}")
    inside = decoding.kept(arrays["logits"])
    assert torch.equal(inside, arrays[f"{name}_keep"])
    probs = arrays["logits"].double().masked_fill(~inside, -math.inf).softmax(1)
    torch.testing.assert_close(probs, arrays[f"{name}_probs"], rtol=0, atol=1e-12)
    assert torch.equal(decoding.draw(arrays["logits"], arrays["uniforms"], {}), arrays[f"{name}_token"])


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("version", [1, 2])
def test_golden_mirostat(version: int, number: int) -> None:
    """Forty tokens in a row: each moves the cut of the next."""
    arrays, (tau, rate) = golden("mirostat", number), MIROSTAT[number]
    decoding, state = one(f"mirostat={tau}+rate={rate}+version={version}"), {}
    for step, (scores, uniform) in enumerate(zip(arrays["logits"], arrays["uniforms"], strict=True)):
        token = decoding.draw(scores[None], uniform[None], state)
        assert int(token) == int(arrays[f"v{version}_tokens"][step])
        assert float(state["mu"]) == pytest.approx(float(arrays[f"v{version}_mu"][step]), abs=1e-12)


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


def exact(decoding: Any, scores: Tensor) -> Tensor:
    """The cut distribution by its definition, one token at a time, [V]."""
    probs = (scores.double() / decoding.temperature).softmax(0).tolist()
    falling = sorted(range(len(probs)), key=lambda token: -probs[token])
    entropy = -sum(p * math.log(p) for p in probs if p)
    if decoding.name == "topk":
        inside = falling[: decoding.k]
    elif decoding.name == "nucleus":
        inside = until(falling, probs, decoding.p)
    elif decoding.name == "min_p":
        inside = [token for token in falling if probs[token] >= decoding.p * probs[falling[0]]]
    elif decoding.name == "typical":
        near = sorted(falling, key=lambda token: abs(entropy + math.log(probs[token])))
        inside = until(near, probs, decoding.tau)
    elif decoding.name == "eta":
        floor = min(decoding.epsilon, math.sqrt(decoding.epsilon) * math.exp(-entropy))
        inside = [token for token in falling if probs[token] >= floor] or falling[:1]
    elif decoding.name == "mirostat" and decoding.version == 2:
        inside = [token for token in falling if -math.log2(probs[token]) <= 2 * decoding.tau]
    elif decoding.name == "mirostat":
        inside = falling[: by_zipf([probs[token] for token in falling[:100]], len(probs), 2 * decoding.tau)]
    else:
        inside = falling
    cut = torch.zeros(len(probs), dtype=torch.float64)
    for token in inside:
        cut[token] = probs[token]
    return cut / cut.sum()


def until(order: list[int], probs: list[float], mass: float) -> list[int]:
    """The first tokens whose mass reaches a share."""
    inside: list[int] = []
    while sum(probs[token] for token in inside) < mass:
        inside.append(order[len(inside)])
    return inside


def by_zipf(falling: list[float], size: int, mu: float) -> int:
    """The k of algorithm 1 of Basu et al. 2021, from the most probable tokens."""
    pairs = [
        (math.log((rank + 1) / rank), math.log(p / q))
        for rank, (p, q) in enumerate(zip(falling, falling[1:], strict=False), 1)
    ]
    exponent = sum(t * b for t, b in pairs) / sum(t * t for t, _ in pairs)
    epsilon = exponent - 1
    return round((epsilon * 2**mu / (1 - size**-epsilon)) ** (1 / exponent))


@pytest.mark.parametrize("decoding", SAMPLERS)
def test_draws_have_the_cut_distribution(decoding: str) -> None:
    """20,000 rows with the same scores, each with a seed of its own."""
    scores, draws = scores_of(1, 97, 1.5, seed=3), 20000
    tokens, wanted = sampled(decoding, scores.expand(draws, -1), range(draws)), exact(one(decoding), scores[0])
    assert chi_square_fits(tokens, wanted)
    if decoding != "sample":
        assert 1 < int((wanted > 0).sum()) < 97, "the cut is one"
    other = torch.where(wanted > 0, wanted.sqrt(), 0)
    assert not chi_square_fits(tokens, other / other.sum()), "the test can tell distributions apart"


@pytest.mark.parametrize("decoding", SAMPLERS)
def test_a_row_is_its_own_at_every_step(decoding: str) -> None:
    """Not of its company, its place or what others drew; states of rows stay with their rows."""
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


def test_one_number_per_step_and_row() -> None:
    scores, sampler = scores_of(3, 97, 1.0), SeededSampler(one("sample"), [5, 6, 7], 9)
    generators = [torch.Generator().manual_seed(seed) for seed in (5, 6, 7)]
    for _ in range(9):
        uniform = torch.stack([torch.rand((), generator=g, dtype=torch.float64) for g in generators])
        assert torch.equal(sampler(scores), inverse_cdf(scores, uniform))


def test_the_first_and_last_place_are_never_impossible_tokens() -> None:
    generator = torch.Generator().manual_seed(0)
    for _ in range(200):
        scores = torch.randn(1, 50, generator=generator)
        scores[:, [0, 1, 48, 49]] = -math.inf
        for place in (0.0, 1 - 2**-53):
            assert 2 <= int(inverse_cdf(scores, torch.tensor([place], dtype=torch.float64))) < 48
