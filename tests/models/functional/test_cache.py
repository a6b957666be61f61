"""models/functional/cache.py against golden vectors, a plain re-computation of eq. 3, and its hard corners."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from bench.models.functional.cache import (
    cache_log_probs,
    cache_log_sums_,
    cache_nll_of,
    cache_scores,
    scaled_similarity,
)
from tests.models import golden_cases

# Golden values are float64. fp32 leaves 1e-5 relative; log-probabilities near 0 need an absolute floor beside it.
TOLERANCE = {torch.float64: {"rtol": 1e-10, "atol": 1e-12}, torch.float32: {"rtol": 1e-5, "atol": 1e-5}}
EXACT = [pytest.param(dtype, id=str(dtype).removeprefix("torch.")) for dtype in TOLERANCE]
NEG_INF = -math.inf


def same(actual: Tensor, expected: np.ndarray, dtype: torch.dtype) -> None:
    """Equal within the tolerance of the dtype, infinities and shapes (up to flattening) included."""
    np.testing.assert_allclose(actual.detach().double().numpy().ravel(), expected.ravel(), **TOLERANCE[dtype])


class TestGolden:
    @pytest.mark.parametrize("dtype", EXACT)
    @pytest.mark.parametrize("name", golden_cases.NAMES)
    def test_full_distribution(self, name: str, dtype: torch.dtype) -> None:
        case = golden_cases.load(name, dtype)
        log_probs = cache_log_probs(case.logits, case.similarity, case.memory_tokens, case.readable)
        same(log_probs, case.expected["as_written_logp_full"], dtype)
        same(log_probs, case.expected["as_coded_logp_full"], dtype)

    @pytest.mark.parametrize("dtype", EXACT)
    @pytest.mark.parametrize("name", golden_cases.NAMES)
    def test_cache_only(self, name: str, dtype: torch.dtype) -> None:
        case = golden_cases.load(name, dtype)
        scores = cache_scores(case.similarity, case.memory_tokens, case.readable, case.logits.shape[1])
        normaliser = scores.logsumexp(1, keepdim=True).masked_fill(~case.readable.any(1, keepdim=True), 0.0)
        same(scores - normaliser, case.expected["as_written_logp_cache"], dtype)


def cache_nll(
    logits: Tensor,
    targets: Tensor,
    similarity: Tensor,
    tokens: Tensor,
    readable: Tensor,
    comparable: bool | Tensor = True,
) -> Tensor:
    """The loss of TRIME at each position, as its class computes it but over every entry."""
    everywhere = torch.arange(similarity.shape[1]).expand_as(similarity)
    positive = readable & (tokens == targets[:, None]) & comparable
    of_cache = cache_log_sums_(similarity.to(logits, copy=True), readable, everywhere, positive)
    return cache_nll_of(logits.logsumexp(1), logits.gather(1, targets[:, None]).squeeze(1), *of_cache)


def random_rows(seed: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """logits [n, V], targets [n], similarity, memory_tokens, readable [n, M]; row 0 reads nothing."""
    draw = torch.Generator().manual_seed(seed)
    n, entries, vocabulary = 6, 1 + seed % 9, 5
    similarity = torch.randn(n, entries, generator=draw, dtype=dtype).mul(3).round() / 2  # ties
    readable = torch.rand(n, entries, generator=draw) < 0.6
    readable[0] = False
    return (
        torch.randn(n, vocabulary, generator=draw, dtype=dtype),
        torch.randint(vocabulary, (n,), generator=draw),
        similarity,
        torch.randint(vocabulary, (n, entries), generator=draw),
        readable,
    )


def eq3(logits: Tensor, similarity: Tensor, memory_tokens: Tensor, readable: Tensor) -> list[list[float]]:
    """Eq. 3 one term at a time, as probabilities."""
    table = []
    for row in range(len(logits)):
        weights = [math.exp(z) for z in logits[row].tolist()]
        for entry in range(similarity.shape[1]):
            if readable[row, entry]:
                weights[int(memory_tokens[row, entry])] += math.exp(float(similarity[row, entry]))
        table.append([weight / math.fsum(weights) for weight in weights])
    return table


class TestEquation3:
    @pytest.mark.parametrize("seed", range(20))
    def test_plain_recomputation(self, seed: int) -> None:
        logits, targets, *cache = random_rows(seed)
        log_probs = cache_log_probs(logits, *cache)
        expected = torch.tensor(eq3(logits, *cache), dtype=torch.float64)
        torch.testing.assert_close(log_probs.exp(), expected, rtol=1e-12, atol=1e-14)
        at_targets = log_probs.gather(1, targets[:, None]).squeeze(1)
        torch.testing.assert_close(cache_nll(logits, targets, *cache), -at_targets, rtol=1e-12, atol=1e-14)

    def test_empty_cache_gives_the_head(self) -> None:
        logits, targets, similarity, tokens, readable = random_rows(3)
        cache = (similarity, tokens, torch.zeros_like(readable))
        assert torch.equal(cache_log_probs(logits, *cache), logits.log_softmax(1))
        expected = torch.nn.functional.cross_entropy(logits, targets, reduction="none")
        torch.testing.assert_close(cache_nll(logits, targets, *cache), expected)
        assert cache_scores(*cache, 5).isneginf().all()

    def test_incomparable_entries_enter_the_normaliser_only(self) -> None:
        """By hand: head 1 + 1, cache 1 (target) + 1 (target, incomparable) + 1 (other); 2 of 5 instead of 3 of 5."""
        tokens = torch.tensor([[1, 1, 0]])
        comparable = torch.tensor([[True, False, True]])
        rows = (torch.zeros(1, 2), torch.tensor([1]), torch.zeros(1, 3), tokens, torch.ones_like(comparable))
        assert cache_nll(*rows, comparable).item() == pytest.approx(-math.log(2 / 5))
        assert cache_nll(*rows).item() == pytest.approx(-math.log(3 / 5))


class TestNumbers:
    def test_a_far_weaker_token_keeps_its_score(self) -> None:
        """exp(-300) is 0 in fp32; a shared maximum would send token 0 to -inf and its gradient to nan."""
        similarity = torch.tensor([[300.0, 0.0, 0.0]], requires_grad=True)
        tokens = torch.tensor([[1, 0, 0]])
        scores = cache_scores(similarity, tokens, tokens >= 0, 3)
        torch.testing.assert_close(scores, torch.tensor([[math.log(2), 300.0, NEG_INF]]))
        (gradient,) = torch.autograd.grad(scores[0, 0], similarity)
        torch.testing.assert_close(gradient, torch.tensor([[0.0, 0.5, 0.5]]))

    @pytest.mark.parametrize("scale", [1.0, 1e4])
    def test_gradients_are_finite(self, scale: float) -> None:
        """Empty caches, unread tokens, masked infinities, tokens the head rules out: no nan and no inf comes back."""
        logits, targets, similarity, tokens, readable = random_rows(8, torch.float32)
        similarity = (similarity * scale).masked_fill(~readable, math.inf).requires_grad_()
        logits = (logits * scale).index_fill(1, torch.tensor([4]), NEG_INF).requires_grad_()
        targets = targets.clamp(max=3)
        log_probs = cache_log_probs(logits, similarity, tokens, readable)
        assert not log_probs.isnan().any()
        for loss in (cache_nll(logits, targets, similarity, tokens, readable).sum(), log_probs[:, :4].sum()):
            with torch.autograd.set_detect_anomaly(True):  # no step in between may be nan either
                gradients = torch.autograd.grad(loss, (logits, similarity), retain_graph=True)
            for gradient in gradients:
                assert gradient.isfinite().all()
                assert gradient.any()
            assert not torch.autograd.grad(loss, similarity, retain_graph=True)[0][~readable].any()


class TestSimilarity:
    def test_autocast_leaves_it_in_fp32(self) -> None:
        """States with a common part, as real ones have: a bf16 product is off by more than the margins of eq. 5."""
        states = torch.randn(2, 20, 256, generator=torch.Generator().manual_seed(0)) + 4.0
        expected = scaled_similarity(states, states)
        with torch.autocast("cpu", torch.bfloat16):
            actual = scaled_similarity(states, states)
            careless = states @ states.mT / 16
        assert actual.dtype == torch.float32
        assert torch.equal(actual, expected)
        assert (careless.float() - expected).abs().mean() > 0.1
