"""models/core/head.py and functional/copying.py: two ways to see a head agree; a mixture with copies sums to one."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from bench.models.backbones.backbone import LinearHead
from bench.models.core.head import STRETCH, FusedHead, PlainHead, Products, largest
from bench.models.functional.copying import copy_log_probs

LOGITS = torch.randn(5, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
INDEX = torch.tensor([[0, 0, 3], [1, 2, 1], [6, 6, 6], [4, 5, 0], [2, 2, 1]])


def some_loss(head: PlainHead | FusedHead) -> Tensor:
    """Uses everything a head offers; the columns repeat, and one call asks for single ones."""
    return (head.lse**2).sum() + (head.at(INDEX) * head.lse[:, None]).sin().sum() + head.at(INDEX[:, 2]).exp().sum()


def test_both_heads_give_one_gradient() -> None:
    logits = LOGITS.clone().requires_grad_()
    (expected,) = torch.autograd.grad(some_loss(PlainHead(logits)), logits)
    head = FusedHead(LOGITS.clone)
    loss = some_loss(head)
    found = head.gradient(list(torch.autograd.grad(loss, head.leaves)))
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("used", ["lse", "at"])
def test_a_loss_that_needs_only_one_of_them(used: str) -> None:
    logits = LOGITS.clone().requires_grad_()

    def loss(head: PlainHead | FusedHead) -> Tensor:
        head.at(INDEX)
        return head.lse.square().sum() if used == "lse" else head.at(INDEX).square().sum()

    (expected,) = torch.autograd.grad(loss(PlainHead(logits)), logits)
    head = FusedHead(LOGITS.clone)
    found = torch.autograd.grad(loss(head), head.leaves, allow_unused=True)
    torch.testing.assert_close(head.gradient(list(found)), expected, rtol=1e-12, atol=1e-12)


def test_argmax() -> None:
    assert torch.equal(PlainHead(LOGITS).argmax(), FusedHead(LOGITS.clone).argmax())
    assert torch.equal(PlainHead(LOGITS).argmax(), LOGITS.argmax(1))


@pytest.mark.parametrize("tokens", [3, 2 * STRETCH, 4 * STRETCH, 4 * STRETCH + 7])
def test_largest(tokens: int) -> None:
    """The lowest column of those that tie, within a stretch, across stretches and behind the last one."""
    logits = torch.randn(300, tokens, generator=torch.Generator().manual_seed(0)).round()
    peak, column = largest(logits)
    assert torch.equal(peak, logits.amax(1))
    assert torch.equal(column, (logits == peak[:, None]).long().argmax(1))
    logits[0, -1] = 99.0
    assert largest(logits)[1][0] == tokens - 1


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


def test_a_frozen_head_gets_no_gradient() -> None:
    products = Products(LinearHead(torch.ones(7, 3)), 5)
    products.logits(torch.ones(5, 3))
    products.backward(torch.ones(5, 3), torch.ones(5, 7), torch.empty(5, 3))
    assert products.of_weight is None
    assert products.of_bias is None


class TestCopying:
    TOKENS = torch.tensor([[1, 1, 4], [0, 6, 2]])

    def weights(self, *shares: list[float]) -> Tensor:
        return torch.tensor(shares, dtype=torch.float64).log()

    def test_is_the_mixture_of_both(self) -> None:
        """Worked by hand: probabilities of copies are added where their token stands."""
        logits = LOGITS[:2]
        copying = self.weights([0.1, 0.2, 0.3, 0.4], [0.25, 0.0, 0.25, 0.5])
        expected = logits.softmax(1) * copying[:, -1:].exp()
        expected[0, 1] += 0.1 + 0.2
        expected[0, 4] += 0.3
        expected[1, 0] += 0.25
        expected[1, 2] += 0.25
        found = copy_log_probs(logits, copying, self.TOKENS)
        torch.testing.assert_close(found.exp(), expected, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(found.exp().sum(1), torch.ones(2, dtype=torch.float64), rtol=1e-12, atol=1e-12)

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
