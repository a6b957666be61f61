"""The rank of a log-probability matrix: theory, and the plain decomposition as oracle."""

import pytest
import torch

from bench.metrics.likelihood.matrix_rank import rank_of, singular_values

PRECISIONS = ("float32", "float64")


def language_model(contexts, words, width, scale=3.0, seed=0):
    """Log-probabilities of a softmax without bias over states of a width: rank width + 1."""
    generator = torch.Generator().manual_seed(seed)
    states = scale * torch.randn(contexts, width, generator=generator, dtype=torch.float64)
    heads = torch.randn(words, width, generator=generator, dtype=torch.float64)
    return (states @ heads.T / width**0.5).log_softmax(dim=-1)


def with_cache(log_probs, entries=6, seed=1):
    """Half of the mass moves to a few words of each row: a low-rank part and a sparse part."""
    generator = torch.Generator().manual_seed(seed)
    contexts, words = log_probs.shape
    chosen = torch.rand(contexts, words, generator=generator).topk(entries).indices
    weights = torch.rand(contexts, entries, generator=generator, dtype=torch.float64)
    cache = torch.zeros_like(log_probs).scatter(1, chosen, weights / weights.sum(dim=1, keepdim=True))
    return (0.5 * log_probs.exp() + 0.5 * cache).log()


def with_values(contexts, words, values, seed=2):
    """A dense matrix with these singular values."""
    generator = torch.Generator().manual_seed(seed)
    sides = [torch.randn(n, len(values), generator=generator, dtype=torch.float64) for n in (contexts, words)]
    left, right = (torch.linalg.qr(side).Q for side in sides)
    return left * torch.as_tensor(values, dtype=torch.float64) @ right.T


def plain_rank(matrix, precision):
    return int(torch.linalg.matrix_rank(matrix, rtol=max(matrix.shape) * torch.finfo(getattr(torch, precision)).eps))


MATRICES = {
    "square language model": language_model(60, 60, 7),
    "peaked language model": language_model(50, 400, 16, scale=40.0),
    "cache language model": with_cache(language_model(80, 400, 12)),
    "rank-deficient": with_values(60, 500, [1e3] * 9),
    "tall and rank-deficient": with_values(500, 60, [1e3] * 9),
    "ill-conditioned": with_values(60, 500, 10.0 ** -torch.arange(0, 24, 0.5)),
    "tall and ill-conditioned": with_values(500, 60, 10.0 ** -torch.arange(0, 24, 0.5)),
    "equal rows": language_model(1, 30, 3).expand(20, 30),
    "zero": torch.zeros(5, 9, dtype=torch.float64),
    "graded": torch.diag(10.0 ** -torch.arange(20, dtype=torch.float64)),
}


@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES)
def test_equals_the_plain_decomposition(matrix):
    values = singular_values(matrix)
    plain = torch.linalg.svdvals(matrix)
    assert values.shape == (min(matrix.shape),)
    assert values.dtype == torch.float64
    torch.testing.assert_close(values, plain, rtol=0, atol=1e-13 * float(plain.max()))
    for precision in PRECISIONS:
        assert rank_of(values, tuple(matrix.shape), precision) == plain_rank(matrix, precision)


@pytest.mark.parametrize("bad", [float("-inf"), float("inf"), float("nan")])
def test_entries_must_be_finite(bad):
    matrix = torch.zeros(3, 4)
    matrix[1, 2] = bad
    with pytest.raises(ValueError, match="infinite or undefined"):
        singular_values(matrix)
