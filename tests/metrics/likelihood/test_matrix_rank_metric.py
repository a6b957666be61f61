"""The rank as a class: rows in batches and shards, both tolerances, no row, what is refused."""

import pytest
import torch

from bench.metrics.likelihood.matrix_rank import rank_of, singular_values
from bench.metrics.likelihood.matrix_rank_metric import MatrixRank


def test_batches_and_shards_have_the_rank_of_the_whole():
    torch.manual_seed(0)
    weak = torch.randn(12, 5, dtype=torch.float64) * torch.tensor([1.0, 1.0, 1.0, 1e-6, 1e-9])
    matrix = weak @ torch.randn(5, 20, dtype=torch.float64)
    ranks = {}
    for precision in ("float32", "float64"):
        metric, other = MatrixRank(20, precision), MatrixRank(20, precision)
        metric.update(matrix[:5])
        metric.update(matrix[:0])
        other.update(matrix[5:])
        metric.merge_state(other)
        ranks[precision] = metric.compute().item()
        assert ranks[precision] == rank_of(singular_values(matrix), (12, 20), precision)
        assert metric.compute().dtype == torch.int64
    assert ranks["float32"] < ranks["float64"] == 5


def test_nothing_and_what_is_refused():
    metric = MatrixRank(4)
    metric.update(torch.zeros(0, 4))
    assert metric.compute().item() == 0
    for wrong in (torch.zeros(4), torch.zeros(2, 3)):
        with pytest.raises(ValueError, match=r"expected log-probabilities \[n, 4\], got"):
            metric.update(wrong)
    with pytest.raises(ValueError, match="precision 'float16' is unknown"):
        MatrixRank(4, "float16")
    metric.update(torch.full((1, 4), -torch.inf))
    with pytest.raises(ValueError, match="infinite or undefined"):
        metric.compute()
