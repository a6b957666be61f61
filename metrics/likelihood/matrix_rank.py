"""The rank of a matrix of log-probabilities: how far a model is from the softmax bottleneck (HistAlign, section 5.3).

Row n of the matrix holds log P(. | context n). A softmax over states of width d without output bias spans at most d + 1
dimensions (the 1 is the normaliser of each row), whatever the number of rows; a cache lifts that limit.

The tolerance below which a singular value counts as zero decides the number. It is the usual one, max(N, V) * eps *
largest singular value. The largest singular value of such a matrix is huge, because every entry is far below zero, so
with the eps of single precision true but weaker directions are lost: a trained model of width 192 got 103. The paper
names no tolerance, and its 762 for width 768 looks like this effect; both precisions are reported.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from bench.metrics.score import Gold, Row, Score

Precision = Literal["float32", "float64"]
EPS = {"float32": torch.finfo(torch.float32).eps, "float64": torch.finfo(torch.float64).eps}


def singular_values(log_probs: Tensor) -> Tensor:
    """Return the singular values of a matrix, largest first.

    A QR factorisation of the taller orientation leaves a small triangle with the same singular values, so the
    decomposition runs on min(N, V) squared numbers. Unlike the Gram matrix, whose condition number is squared, this
    keeps small values apart from rounding noise in float64.

    Args:
        log_probs: `[N, V]` finite numbers; computed in float64 whatever the type.

    Returns:
        `[min(N, V)]` in float64.

    Raises:
        ValueError: an entry is infinite or NaN (a masked word has log-probability -inf: leave it out).

    >>> singular_values(torch.tensor([[3.0, 0.0, 0.0], [0.0, 4.0, 0.0]])).tolist()
    [4.0, 3.0]
    """
    _check_finite(log_probs)
    matrix = log_probs.detach().to(torch.float64)
    if matrix.shape[0] < matrix.shape[1]:
        matrix = matrix.T
    triangle = torch.linalg.qr(matrix, mode="r").R  # [m, m] with m = min(N, V)
    return torch.linalg.svdvals(triangle)


def singular_values_of_product(left: Tensor, right: Tensor) -> Tensor:
    """Return the singular values of `left @ right.T`, largest first, without the product.

    A QR factorisation of each factor leaves a [k, k] matrix with the same singular values; all others are 0. The
    log-probabilities of a softmax head are such a product, with k = width + 1: that is the softmax bottleneck.

    Args:
        left: `[N, k]`; computed in float64 whatever the type.
        right: `[V, k]`.

    Returns:
        `[min(N, V)]` in float64.

    Raises:
        ValueError: k is larger than N or V, or an entry is infinite or NaN.

    >>> singular_values_of_product(torch.tensor([[3.0], [4.0]]), torch.tensor([[0.0], [1.0], [0.0]])).tolist()
    [5.0, 0.0]
    """
    n, v, k = len(left), len(right), left.shape[1]
    if k > min(n, v):
        raise ValueError(f"expected factors of at most {min(n, v)} columns, got {k}")
    _check_finite(left, right)
    triangles = [torch.linalg.qr(factor.detach().double(), mode="r").R for factor in (left, right)]
    values = torch.linalg.svdvals(triangles[0] @ triangles[1].T)
    return torch.cat([values, values.new_zeros(min(n, v) - k)])


def _check_finite(*matrices: Tensor) -> None:
    if not all(torch.isfinite(matrix).all() for matrix in matrices):
        raise ValueError("the matrix has infinite or undefined entries; drop masked words and diverged rows first")


def rank_of(values: Tensor, shape: tuple[int, int], precision: Precision = "float64") -> int:
    """Count the singular values above the tolerance of a precision.

    Args:
        values: singular values, as `singular_values` returns or as a results file keeps them.
        shape: `(N, V)` of the matrix they belong to; the tolerance grows with the larger side.
        precision: `float64` finds every direction, `float32` those that a single-precision computation could see.

    >>> values = torch.tensor([1.0, 1e-5, 1e-12], dtype=torch.float64)
    >>> rank_of(values, (3, 10), "float32"), rank_of(values, (3, 10), "float64")
    (2, 3)
    """
    if len(values) != min(shape):
        raise ValueError(f"a matrix of shape {shape} has {min(shape)} singular values, these are {len(values)}")
    if len(values) == 0:
        return 0
    return int((values > max(shape) * EPS[precision] * values.max()).sum())


def signature(precision: Precision) -> str:
    """Name everything the rank depends on.

    >>> signature("float32")
    'rank|of:log_probs|decomposition:float64|tol:max(N,V)*eps(float32)*s1|version:1'
    """
    return f"rank|of:log_probs|decomposition:float64|tol:max(N,V)*eps({precision})*s1|version:1"


def matrix_rank_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Return the rank of a matrix at both tolerances, from its stored singular values.

    Args:
        rows: one row `{"shape", "values", "rows"}`.
        gold: not read.

    Raises:
        ValueError: another number of rows.
    """
    if len(rows) != 1:
        raise ValueError(f"expected one row of singular values, got {len(rows)}")
    (row,) = rows
    values, shape = torch.tensor(row["values"], dtype=torch.float64), (row["shape"][0], row["shape"][1])
    precisions: tuple[Precision, ...] = ("float32", "float64")
    scores = []
    for precision in precisions:
        signed = f"{signature(precision)}|N:{shape[0]}|V:{shape[1]}"
        rank = float(rank_of(values, shape, precision))
        scores.append(Score(f"rank/{precision}", rank, "count", None, row["rows"], signed))
    return scores
