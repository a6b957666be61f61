"""models/core/head.py: two ways to see a head agree. functional/cache.py: gradients of a mixture with copies."""

import math
from collections.abc import Callable, Sequence
from itertools import permutations

import pytest
import torch
from torch import Tensor

from bench.errors import UsageError
from bench.models.backbones.backbone import LinearHead
from bench.models.core import head as head_module
from bench.models.core.fused_head import FusedHead, Products
from bench.models.core.head import Head
from bench.models.functional.cache import copy_log_probs

LOGITS = torch.randn(5, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
INDEX = torch.tensor([[0, 0, 3], [1, 2, 1], [6, 6, 6], [4, 5, 0], [2, 2, 1]])
MANY = LOGITS.repeat(5, 1)[:21] * torch.linspace(1, 2, 21, dtype=torch.float64)[:, None]
"""21 rows, which are worked on in parts of four."""
MANY_INDEX = INDEX.repeat(5, 1)[:21]
WEIGHTS = torch.tensor([0.3, 0.0, 0.1, 0.1, 0.2, 0.25, 0.05], dtype=torch.float64)

VALUES = torch.randn(21, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def halved_squares(logits: Tensor, span: slice) -> Tensor:
    """Weights that are made of the logits."""
    return logits.square() / 2


def by_place(logits: Tensor, span: slice) -> Tensor:
    """Weights that are another function for each position."""
    return logits.softmax(1) * torch.arange(21, dtype=torch.float64)[span, None]


LEAVES: dict[str, Callable[[Head], Tensor]] = {
    "lse": lambda head: head.lse.sin().sum(),
    "expected": lambda head: head.expected.square().sum(),
    "mean": lambda head: head.mean().square().sum(),
    "weighted mean": lambda head: head.mean(WEIGHTS).exp().sum(),
    "columns": lambda head: head.at(MANY_INDEX).exp().sum(),
    "entropy": lambda head: (head.lse - head.expected).square().sum(),
    "nll": lambda head: head.nll(head.at(MANY_INDEX[:, 0])).square().sum(),
    "values": lambda head: head.expected_of(VALUES).exp().sum(),
    "values twice": lambda head: (head.expected_of(VALUES) * head.expected_of(VALUES.square()) + head.lse).sum(),
    "weighted": lambda head: head.weighted(halved_squares).sin().sum(),
    "weighted twice": lambda head: (head.weighted(halved_squares) * head.weighted(by_place)).sum(),
    "detached": lambda head: (head.expected.detach() * head.mean()).sum(),
    "at .7": lambda head: (head.expected_at(0.7) * head.lse_at(0.7)).sum(),
    "expected at 3": lambda head: head.expected_at(3.0).exp().sum(),
    "lse at 99": lambda head: head.lse_at(99.0).square().sum(),
}
"""Scalars of a head, each of one or two of its leaves; the last three at a temperature of their own."""

ONE = tuple(LEAVES)[:-3]
ORDERS = [*((name,) for name in LEAVES), ONE, tuple(reversed(ONE)), *permutations(("mean", "expected", "lse")),
          *permutations(("columns", "expected at 3", "weighted")), ("values twice", "expected", "weighted twice"),
          ("lse", "columns", "expected"), ("at .7", "columns"), ("mean", "lse at 99")]  # fmt: skip


def both(logits: Tensor, names: Sequence[str]) -> list[tuple[Tensor, Tensor]]:
    """Value and gradient of a sum of scalars over a plain and over a fused head."""
    plain_logits = logits.clone().requires_grad_()
    plain = sum((LEAVES[name](Head(plain_logits)) for name in names), start=logits.new_zeros(()))
    (expected,) = torch.autograd.grad(plain, plain_logits)
    head = FusedHead(logits.clone)
    fused = sum((LEAVES[name](head) for name in names), start=logits.new_zeros(()))
    found = torch.autograd.grad(fused, head.leaves, allow_unused=True)
    return [(plain.detach(), expected), (fused.detach(), head.gradient(list(found)))]


@pytest.mark.parametrize("names", ORDERS, ids="+".join)
def test_leaves_in_any_order(names: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head_module, "CACHED", 4 * MANY[0].nbytes)
    plain, fused = both(MANY, names)
    torch.testing.assert_close(fused, plain, rtol=1e-10, atol=1e-10)


def test_a_certain_token_keeps_its_digits() -> None:
    """log(1 + 3 exp(-34)) is below the last digit of 34."""
    logits = torch.tensor([[0.0, 34.0, 0.0, 0.0]], dtype=torch.float64)
    for head in (Head(logits), FusedHead(logits.clone)):
        assert float(head.nll(head.at(torch.tensor([1]))).detach()) == pytest.approx(3 * math.exp(-34), rel=1e-1)


@pytest.mark.parametrize(
    ("names", "times"),
    [(["at .7"], 1), (["columns", "mean", "entropy"], 1), (["lse", "columns"], 2), (["at .7", "columns"], 2)],
)
def test_how_often_logits_are_computed(names: Sequence[str], times: int) -> None:
    """Once if columns come first."""
    computed = []

    def compute() -> Tensor:
        computed.append(1)
        return MANY.clone()

    head = FusedHead(compute)
    loss = sum((LEAVES[name](head) for name in names), start=MANY.new_zeros(()))
    head.gradient(list(torch.autograd.grad(loss, head.leaves)))
    assert len(computed) == times


def test_logits_far_below_the_peak() -> None:
    """Their exponentials are 0 in float32, and the gradient stays finite and right."""
    logits = torch.tensor([[0.0, -1.0, -200.0, -3e4], [80.0, 80.0, 80.0, -1e8]])
    for name in ("entropy", "at .7", "lse at 99"):
        (_, expected), _ = both(logits.double(), [name])
        _, (_, found) = both(logits, [name])
        torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-4)


def test_a_second_temperature_is_refused() -> None:
    head = FusedHead(LOGITS.clone)
    head.lse_at(0.7)
    with pytest.raises(UsageError, match=r"has one temperature; this one has 0.7 and 1: write it as token_loss"):
        _ = head.expected


@pytest.mark.parametrize("with_bias", [False, True])
def test_products_over_slices(with_bias: bool) -> None:
    """Two slices through one buffer sum to the products of one."""
    generator = torch.Generator().manual_seed(1)
    hidden, weight = (torch.randn(n, 3, dtype=torch.float64, generator=generator) for n in (5, 7))
    bias = torch.randn(7, dtype=torch.float64, generator=generator).requires_grad_() if with_bias else None
    offset = torch.randn(7, dtype=torch.float64, generator=generator) if with_bias else None
    products = Products(LinearHead(weight.requires_grad_(), bias, offset), 3)
    found = []
    for part in (slice(0, 3), slice(3, 5)):
        z = products.logits(hidden[part])
        expected = hidden[part] @ weight.T + (0 if bias is None or offset is None else bias + offset)
        torch.testing.assert_close(z, expected.detach(), rtol=1e-12, atol=1e-12)
        found.append(torch.empty_like(hidden[part]))
        products.backward(hidden[part], LOGITS[part].clone(), found[-1])
    torch.testing.assert_close(torch.cat(found), LOGITS @ weight.detach(), rtol=1e-12, atol=1e-12)
    assert products.of_weight is not None
    torch.testing.assert_close(products.of_weight, LOGITS.T @ hidden, rtol=1e-12, atol=1e-12)
    if with_bias:
        assert products.of_bias is not None
        torch.testing.assert_close(products.of_bias, LOGITS.sum(0), rtol=1e-12, atol=1e-12)


class TestCopying:
    TOKENS = torch.tensor([[1, 1, 4], [0, 6, 2]])

    def weights(self, *shares: list[float]) -> Tensor:
        return torch.tensor(shares, dtype=torch.float64).log()

    def test_gradients_live_where_a_weight_is_nothing(self) -> None:
        """A masked source token has a weight of -inf or of a very negative number; neither may give nan."""
        for nothing in (-torch.inf, -1e30, torch.finfo(torch.float64).min):
            logits = LOGITS[:1].clone().requires_grad_()
            gate = torch.zeros(1, dtype=torch.float64, requires_grad=True)
            copying = torch.stack([torch.nn.functional.logsigmoid(gate), gate * 0 + nothing, gate * 0 + nothing,
                                   torch.nn.functional.logsigmoid(-gate)], 1)  # fmt: skip
            copy_log_probs(logits, copying.detach().requires_grad_(), self.TOKENS[:1])[0, 1].backward()
            assert logits.grad is not None
            assert logits.grad.isfinite().all()
