"""The rank of a softmax head comes from its two thin factors, with the values of the whole matrix."""

from __future__ import annotations

import pytest
import torch

from bench.cells.evaluators import spectrum_of
from bench.metrics.likelihood.matrix_rank import rank_of, singular_values
from bench.models.core.states import slices
from tests.models.test_objectives import KINDS, made, states_of


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["mle", "trime", "label_smoothing"])
def test_values_and_ranks_are_those_of_the_whole_matrix(method: str, kind: str) -> None:
    objective = made(kind, method).double().eval()
    with torch.no_grad():
        rows = list(slices(states_of(objective, kind)))
        matrix = torch.cat([objective.log_probs(piece) for piece in rows])
        whole = singular_values(matrix)
        shape, values = spectrum_of(objective, rows)
    assert shape == tuple(matrix.shape)
    assert torch.allclose(values, whole, rtol=0, atol=1e-10 * float(whole[0]))
    for precision in ("float32", "float64"):
        assert rank_of(values, shape, precision) == rank_of(whole, shape, precision)
