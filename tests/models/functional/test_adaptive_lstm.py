"""The adaptive LSTM: golden vectors, the explicit matrices it never builds, its hand-written gradient."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from bench.models.functional.adaptive_lstm import (
    FORGET,
    AdaptiveWeights,
    adaptive_lstm,
    exemplar_coefficients,
    orthogonal_columns,
)

FOLDER = Path(__file__).parents[2] / "golden" / "adadec"
CASES = sorted(path.stem for path in FOLDER.glob("adadec_*.json"))
NAMES = ["inputs", "coefficients", "hidden", "cell", *AdaptiveWeights._fields]


def materialised(
    inputs: Tensor, coefficients: Tensor, hidden: Tensor, cell: Tensor, weights: AdaptiveWeights
) -> tuple[Tensor, Tensor]:
    """The same function by the matrices of every row, [B, I + D, 4D]."""

    def built(u: Tensor, v: Tensor) -> Tensor:
        parts = zip(u.chunk(4, dim=1), v, strict=True)
        return torch.cat([(one * coefficients[:, None]) @ other for one, other in parts], dim=2)

    matrices = torch.cat([built(weights.u_input, weights.v_input), built(weights.u_hidden, weights.v_hidden)], dim=1)
    bias = coefficients @ weights.bias
    states, cells = [], []
    for step in inputs.unbind(1):
        i, j, f, o = (torch.cat([step, hidden], 1)[:, None].bmm(matrices)[:, 0] + bias).chunk(4, dim=1)
        cell = (f + FORGET).sigmoid() * cell + i.sigmoid() * j.tanh()
        hidden = o.sigmoid() * cell.tanh()
        states.append(hidden)
        cells.append(cell)
    return torch.stack(states, 1), torch.stack(cells, 1)


def random_weights(inputs: int, width: int, rank: int) -> AdaptiveWeights:
    """Weights as a model starts with, and a bias that is not zero."""
    return AdaptiveWeights(
        torch.cat([orthogonal_columns(inputs, rank) for _ in range(4)], 1),
        torch.stack([orthogonal_columns(width, rank).mT for _ in range(4)]),
        torch.cat([orthogonal_columns(width, rank) for _ in range(4)], 1),
        torch.stack([orthogonal_columns(width, rank).mT for _ in range(4)]),
        0.1 * torch.randn(rank, 4 * width),
    )


def tensor(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def golden_weights(given: dict[str, Any]) -> AdaptiveWeights:
    """A golden case's matrices, which stand gate by gate, as ours."""
    maps = {name: tensor(value) for name, value in given["params"].items()}
    u, v = ({at: [maps[f"{kind}_{at}{gate}"] for gate in "ijfo"] for at in "xh"} for kind in "uv")
    return AdaptiveWeights(
        torch.cat(u["x"], 1), torch.stack(v["x"]), torch.cat(u["h"], 1), torch.stack(v["h"]), tensor(given["B"]).mT
    )


class TestGolden:
    @pytest.mark.parametrize("name", CASES)
    def test_equal(self, name: str) -> None:
        case = json.loads((FOLDER / f"{name}.json").read_text())
        given, expected = case["inputs"], {key: tensor(value) for key, value in case["outputs"].items()}
        lam = exemplar_coefficients(tensor(given["a"]), tensor(given["C"]), given["norm"] or None)
        torch.testing.assert_close(lam, expected["lam"], rtol=0, atol=1e-12)
        inputs = tensor(given["x"]).transpose(0, 1)
        found = adaptive_lstm(inputs, lam, tensor(given["h0"]), tensor(given["c0"]), golden_weights(given))
        for ours, theirs in zip(found, (expected["h"], expected["c"]), strict=True):
            torch.testing.assert_close(ours.transpose(0, 1), theirs, rtol=0, atol=1e-12)


def case(rows: int = 3, steps: int = 4, inputs: int = 5, width: int = 6, rank: int = 7) -> list[Tensor]:
    """Random arguments in the order of NAMES, in float64."""
    torch.manual_seed(0)
    shapes = [(rows, steps, inputs), (rows, rank), (rows, width), (rows, width)]
    weights = random_weights(inputs, width, rank)
    return [tensor.double().requires_grad_() for tensor in [*(torch.randn(shape) for shape in shapes), *weights]]


def run(*arguments: Tensor) -> tuple[Tensor, Tensor]:
    return adaptive_lstm(*arguments[:4], AdaptiveWeights(*arguments[4:]))


class TestMatrices:
    """The same as the LSTM whose matrices U diag(lambda) V are built for every row."""

    def test_values_and_gradients(self) -> None:
        arguments = case()
        found, expected = run(*arguments), materialised(*arguments[:4], AdaptiveWeights(*arguments[4:]))
        weighted = [torch.randn_like(part) for part in found]
        gradients = []
        for states, cells in (found, expected):
            total = (states * weighted[0]).sum() + (cells * weighted[1]).sum()
            gradients.append(torch.autograd.grad(total, arguments))
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-13)
        for name, ours, theirs in zip(NAMES, *gradients, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12, msg=name)


class TestSteps:
    @pytest.mark.parametrize(("dtype", "atol"), [(torch.float64, 1e-15), (torch.float32, 1e-6)])
    def test_one_by_one(self, dtype: torch.dtype, atol: float) -> None:
        """What cached decoding does."""
        inputs, lam, hidden, cell, *weights = (part.detach().to(dtype) for part in case(steps=9))
        states, cells = run(inputs, lam, hidden, cell, *weights)
        for t in range(inputs.shape[1]):
            step = run(inputs[:, t : t + 1], lam, hidden, cell, *weights)
            hidden, cell = (part[:, 0] for part in step)
            torch.testing.assert_close(hidden, states[:, t], rtol=0, atol=atol)
            torch.testing.assert_close(cell, cells[:, t], rtol=0, atol=atol)


class TestPrecision:
    def test_autocast_leaves_it_alone(self) -> None:
        arguments = [part.detach().float().requires_grad_() for part in case(steps=9)]
        plain = run(*arguments)[0].sum()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            inside = run(*arguments)[0].sum()
        torch.testing.assert_close(plain, inside)
        gradients = (torch.autograd.grad(total, arguments) for total in (plain, inside))
        torch.testing.assert_close(*gradients)
