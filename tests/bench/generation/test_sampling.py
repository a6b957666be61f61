"""The seeded sampler: what it keeps, what it draws, and what a draw may depend on."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from transformers import TopKLogitsWarper, TopPLogitsWarper

from bench.config.decoding import parse
from bench.decodings.core.draws import inverse_cdf
from bench.decodings.core.sampler import Sampler
from bench.decodings.core.top_tokens import PREFILTER
from bench.decodings.nucleus import Nucleus
from bench.decodings.topk import TopK
from bench.generation.sampling import SeededSampler


def one(text: str) -> Sampler:
    decoding = parse(text)[0]
    assert isinstance(decoding, Sampler)
    return decoding


def scores_of(rows: int, vocabulary: int, scale: float, seed: int = 0) -> Tensor:
    return (scale * torch.randn(rows, vocabulary, generator=torch.Generator().manual_seed(seed))).log_softmax(1)


def kept(decoding: str, scores: Tensor) -> tuple[Tensor, Tensor]:
    """Which tokens a sampler keeps, [B, V], and which rows needed the whole vocabulary, [B]."""
    settings = one(decoding)
    assert isinstance(settings, (TopK, Nucleus))
    _, ids, inside, settled = settings.top_tokens().candidates(scores)
    found = torch.zeros_like(scores, dtype=torch.bool).scatter_(1, ids, inside)
    if not settled.all():
        found[~settled] = settings.kept(scores[~settled])
    return found, ~settled


def by_library(decoding: str, scores: Tensor) -> Tensor:
    settings = one(decoding)
    warper = TopKLogitsWarper(settings.k) if isinstance(settings, TopK) else TopPLogitsWarper(settings.p)
    return warper(None, scores) > -math.inf


def sampled(decoding: str, scores: Tensor, seeds: list[int]) -> Tensor:
    return SeededSampler(one(decoding), seeds, 1)(None, scores).argmax(1)


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


class TestKept:
    @pytest.mark.parametrize("decoding", ["topk=1", "topk=5", "topk=96", "topk=500", "nucleus=0.9", "nucleus=0.95"])
    @pytest.mark.parametrize("scale", [0.5, 2.0, 8.0])
    def test_equal_to_the_library(self, decoding: str, scale: float) -> None:
        for vocabulary in (97, 6000):
            scores = scores_of(48, vocabulary, scale)
            assert torch.equal(kept(decoding, scores)[0], by_library(decoding, scores))

    @pytest.mark.parametrize("decoding", ["topk=3", "topk=40", "nucleus=0.5", "nucleus=0.9"])
    @pytest.mark.parametrize("scale", [1.0, 4.0])
    def test_ties(self, decoding: str, scale: float) -> None:
        """Scores of a bf16 head tie by the dozen. Which of them the library's nucleus keeps is its sort's choice."""
        scores = scores_of(64, 6000, scale).bfloat16().float()
        found, theirs = kept(decoding, scores)[0], by_library(decoding, scores)
        assert torch.equal(found.sum(1), theirs.sum(1))
        floor = scores.masked_fill(~found, math.inf).amin(1, keepdim=True)
        assert torch.equal(found & (scores > floor), theirs & (scores > floor))
        for row, tied in zip(found, scores == floor, strict=True):
            assert row[tied].tolist() == sorted(row[tied].tolist(), reverse=True), "the lowest ids"

    def test_all_equal(self) -> None:
        scores = torch.zeros(2, 3000)
        assert kept("topk=3", scores)[0].all()
        found, whole = kept("nucleus=0.5", scores)
        assert whole.all()
        assert abs(int(found[0].sum()) - 1500) <= 1  # the library's float32 sum may be one token off

    def test_nucleus_is_the_smallest_set(self) -> None:
        scores = scores_of(64, 3000, 4.0)
        found, _ = kept("nucleus=0.9", scores)
        mass = scores.double().exp().masked_fill(~found, 0.0)
        assert (mass.sum(1) >= 0.9 - 1e-9).all()
        assert (mass.sum(1) - mass.masked_fill(~found, math.inf).amin(1) < 0.9 + 1e-9).all()

    def test_nucleus_is_exact(self) -> None:
        """Against float64 over the whole vocabulary; float32 sums are off by a token now and then."""
        for scale in (1.0, 1.2, 1.5):
            scores = scores_of(256, 1000, scale, seed=1)
            falling = scores.double().sort(dim=1, descending=True).values
            size = (falling.softmax(1).cumsum(1) < 0.999).sum(1) + 1
            assert torch.equal(kept("nucleus=0.999", scores)[0].sum(1), size)

    def test_flat_rows_use_the_whole_vocabulary(self) -> None:
        scores = torch.cat([scores_of(2, 6000, 0.1), scores_of(2, 6000, 8.0)])
        found, whole = kept("nucleus=0.9", scores)
        assert whole.tolist() == [True, True, False, False]
        assert int(found[0].sum()) > PREFILTER
        assert torch.equal(found, by_library("nucleus=0.9", scores))

    def test_ruled_out_tokens_stay_out(self) -> None:
        scores = scores_of(4, 97, 1.0)
        scores[:, 2:] = -math.inf
        for decoding in ("topk=5", "nucleus=0.99", "sample"):
            tokens = sampled(decoding, scores.repeat(50, 1), list(range(200)))
            assert set(tokens.tolist()) == {0, 1}


class TestDraws:
    @pytest.mark.parametrize("decoding", ["topk=7", "nucleus=0.8", "sample"])
    @pytest.mark.parametrize(("vocabulary", "scale"), [(97, 1.5), (2000, 1.0)])
    def test_distribution(self, decoding: str, vocabulary: int, scale: float) -> None:
        scores, draws = scores_of(1, vocabulary, scale), 20000 if vocabulary < 100 else 4000
        parts = torch.arange(draws).split(500)
        tokens = torch.cat([sampled(decoding, scores.expand(len(part), -1), part.tolist()) for part in parts])
        inside = by_library(decoding, scores) if decoding != "sample" else torch.ones_like(scores, dtype=torch.bool)
        wanted = scores.masked_fill(~inside, -math.inf)
        assert chi_square_fits(tokens, wanted.softmax(1)[0])
        assert not chi_square_fits(tokens, (0.5 * wanted).softmax(1)[0]), "the test can tell distributions apart"

    def test_flat_rows_reach_beyond_the_prefilter(self) -> None:
        scores, draws = scores_of(1, 6000, 0.1), 400
        tokens = sampled("nucleus=0.9", scores.expand(draws, -1), list(range(draws)))
        best = scores[0].topk(PREFILTER)
        share, expected = torch.isin(tokens, best.indices).float().mean(), best.values.exp().sum() / 0.9
        assert abs(share - expected) < 5 * (0.25 / draws) ** 0.5
        assert by_library("nucleus=0.9", scores)[0][tokens].all()

    def test_temperature_comes_before_the_cut(self) -> None:
        scores, draws = scores_of(1, 97, 1.5), 20000
        tokens = sampled("nucleus=0.8+temperature=2.0", scores.expand(draws, -1), list(range(draws)))
        cut = TopPLogitsWarper(0.8)(None, scores / 2)
        assert chi_square_fits(tokens, cut.softmax(1)[0])

    def test_decoupled_is_not_cut_again(self) -> None:
        scores, draws = scores_of(1, 97, 1.5), 20000
        tokens = sampled("decoupled:topk=2", scores.expand(draws, -1), list(range(draws)))
        assert chi_square_fits(tokens, scores.softmax(1)[0])

    @pytest.mark.parametrize("decoding", ["topk=7", "nucleus=0.8", "sample"])
    def test_a_row_is_its_own(self, decoding: str) -> None:
        scores, seeds = scores_of(16, 3000, 1.0), list(range(16))
        together = sampled(decoding, scores, seeds)
        order = torch.randperm(16, generator=torch.Generator().manual_seed(1))
        assert torch.equal(sampled(decoding, scores[order], order.tolist()), together[order])
        alone = [sampled(decoding, scores[i : i + 1], [i]) for i in range(16)]
        assert torch.equal(torch.cat(alone), together)

    @pytest.mark.parametrize("decoding", ["topk=7", "nucleus=0.8", "sample"])
    def test_last_bits_do_not_matter(self, decoding: str) -> None:
        """Another batch size changes the last bits of a score, and may swap neighbours in a sort."""
        scores = scores_of(400, 3000, 1.0)
        noisy = scores + 1e-6 * torch.randn(scores.shape, generator=torch.Generator().manual_seed(2))
        same = sampled(decoding, scores, list(range(400))) == sampled(decoding, noisy, list(range(400)))
        assert same.float().mean() > 0.99

    def test_one_number_per_step_and_row(self) -> None:
        scores = scores_of(3, 97, 1.0)
        sampler = SeededSampler(one("sample"), [5, 6, 7], 9)
        generators = [torch.Generator().manual_seed(seed) for seed in (5, 6, 7)]
        for _ in range(9):
            uniform = torch.stack([torch.rand((), generator=g, dtype=torch.float64) for g in generators])
            assert torch.equal(sampler(None, scores).argmax(1), inverse_cdf(scores, uniform))

    def test_one_hot(self) -> None:
        found = SeededSampler(one("topk=3"), [1, 2], 1)(None, scores_of(2, 97, 1.0))
        assert ((found == 0).sum(1) == 1).all()
        assert (found.isneginf().sum(1) == 96).all()

    def test_large_seeds(self) -> None:
        sampled("sample", scores_of(1, 97, 1.0), [2**63 - 1])


class TestInverseCdf:
    def test_every_token_has_its_share(self) -> None:
        scores = torch.tensor([[0.1, 0.2, 0.0, 0.7]]).log()
        places = torch.tensor([0.0, 0.0999, 0.1001, 0.2999, 0.3001, 0.9999], dtype=torch.float64)
        assert inverse_cdf(scores.expand(6, -1), places).tolist() == [0, 0, 1, 1, 3, 3]

    def test_the_ends_are_never_impossible_tokens(self) -> None:
        generator = torch.Generator().manual_seed(0)
        for _ in range(200):
            scores = torch.randn(1, 50, generator=generator)
            scores[:, [0, 1, 48, 49]] = -math.inf
            for place in (0.0, 1 - 2**-53):
                token = int(inverse_cdf(scores, torch.tensor([place], dtype=torch.float64)))
                assert 2 <= token < 48
