"""Samplers: what they keep, what they draw, and what a draw may depend on."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import EtaLogitsWarper, LogitsProcessor, MinPLogitsWarper, TypicalLogitsWarper

from bench.generation.sampling import SeededSampler
from tests.bench.generation.test_sampling import chi_square_fits, one, scores_of

GOLDEN = Path(__file__).parents[2] / "golden" / "modern"
CUTS = [{"min_p": 0.1, "typical": 0.9, "eta": 0.02}, {"min_p": 0.05, "typical": 0.5, "eta": 0.1}]
MIROSTAT = [(1.5, 0.1), (2.0, 0.5)]
SAMPLERS = [
    "topk=7",
    "nucleus=0.8",
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


def golden(family: str, number: int) -> dict[str, Tensor]:
    with np.load(GOLDEN / f"{family}_{number}.npz") as arrays:
        return {name: torch.from_numpy(arrays[name]) for name in arrays.files}


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("name", ["min_p", "typical", "eta"])
def test_golden_cuts(name: str, number: int) -> None:
    arrays, decoding = golden("truncation_samplers", number), one(f"{name}={CUTS[number][name]}")
    kept = decoding.kept(arrays["logits"])
    assert torch.equal(kept, arrays[f"{name}_keep"])
    probs = arrays["logits"].double().masked_fill(~kept, -math.inf).softmax(1)
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


@pytest.mark.parametrize("scale", [0.5, 2.0, 8.0])
@pytest.mark.parametrize(
    ("decoding", "warper"),
    [
        ("min_p=0.05", MinPLogitsWarper(0.05)),
        ("min_p=1", MinPLogitsWarper(1.0)),
        ("typical=0.2", TypicalLogitsWarper(0.2)),
        ("typical=0.95", TypicalLogitsWarper(0.95)),
        ("eta=0.0003", EtaLogitsWarper(0.0003)),
        ("eta=0.2", EtaLogitsWarper(0.2)),
    ],
)
def test_equal_to_the_library(decoding: str, warper: LogitsProcessor, scale: float) -> None:
    for vocabulary in (97, 3000):
        scores = scores_of(48, vocabulary, scale)
        theirs = warper(None, scores) > -math.inf
        assert torch.equal(one(decoding).kept(scores), theirs)


def exact(decoding: Any, scores: Tensor) -> Tensor:
    """The cut distribution by its definition, one token at a time, [V]."""
    probs = (scores.double() / decoding.temperature).softmax(0).tolist()
    falling = sorted(range(len(probs)), key=lambda token: -probs[token])
    entropy = -sum(p * math.log(p) for p in probs if p)
    if decoding.name == "topk":
        kept = falling[: decoding.k]
    elif decoding.name == "nucleus":
        kept = until(falling, probs, decoding.p)
    elif decoding.name == "min_p":
        kept = [token for token in falling if probs[token] >= decoding.p * probs[falling[0]]]
    elif decoding.name == "typical":
        near = sorted(falling, key=lambda token: abs(entropy + math.log(probs[token])))
        kept = until(near, probs, decoding.tau)
    elif decoding.name == "eta":
        floor = min(decoding.epsilon, math.sqrt(decoding.epsilon) * math.exp(-entropy))
        kept = [token for token in falling if probs[token] >= floor] or falling[:1]
    elif decoding.name == "mirostat" and decoding.version == 2:
        kept = [token for token in falling if -math.log2(probs[token]) <= 2 * decoding.tau]
    elif decoding.name == "mirostat":
        kept = falling[: by_zipf([probs[token] for token in falling[:100]], len(probs), 2 * decoding.tau)]
    else:
        kept = falling
    cut = torch.zeros(len(probs), dtype=torch.float64)
    for token in kept:
        cut[token] = probs[token]
    return cut / cut.sum()


def until(order: list[int], probs: list[float], mass: float) -> list[int]:
    """The first tokens whose mass reaches a share."""
    kept: list[int] = []
    while sum(probs[token] for token in kept) < mass:
        kept.append(order[len(kept)])
    return kept


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
    tokens = SeededSampler(one(decoding), range(draws), 1)(None, scores.expand(draws, -1)).argmax(1)
    wanted = exact(one(decoding), scores[0])
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
        return torch.stack([sampler(None, step[rows]).argmax(1) for step in scores], 1)

    together = drawn(list(range(9)))
    assert torch.equal(drawn(order), together[order])
    assert torch.equal(torch.cat([drawn([row]) for row in range(9)]), together)


@pytest.mark.parametrize("decoding", SAMPLERS)
def test_ruled_out_tokens_stay_out(decoding: str) -> None:
    scores = scores_of(200, 97, 1.0)
    scores[:, 2:] = -math.inf
    sampler = SeededSampler(one(decoding), range(200), 3)
    for _ in range(3):
        assert int(sampler(None, scores).argmax(1).max()) < 2


@pytest.mark.parametrize("decoding", SAMPLERS)
def test_one_possible_token(decoding: str) -> None:
    scores = torch.full((3, 50), -math.inf)
    scores[:, 7] = 0.0
    assert SeededSampler(one(decoding), range(3), 1)(None, scores).argmax(1).tolist() == [7, 7, 7]


def test_ties_of_the_typical_set_go_to_the_lower_ids() -> None:
    assert one("typical=0.45").kept(torch.zeros(1, 10)).tolist() == [[True] * 5 + [False] * 5]


def test_mirostat_meets_its_target() -> None:
    """Mean surprise of 400 tokens, with scores of 1,000 tokens that are new at each step."""
    for version in (1, 2):
        decoding, state, surprises = one(f"mirostat=5+version={version}"), {}, []
        uniform = torch.rand(400, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
        for step in range(400):
            before = state.get("mu", torch.tensor([10.0]))
            decoding.draw(scores_of(1, 1000, 2.0, seed=step), uniform[step : step + 1], state)
            surprises.append(5 + float(before - state["mu"]))
        assert sum(surprises) / 400 == pytest.approx(5, rel=0.05)
