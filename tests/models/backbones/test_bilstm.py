"""The recurrent backbone: the same numbers as an obvious loop, no influence of padding, copying, what options do."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from bench.errors import UsageError
from bench.models.backbones.backbone import Batch
from bench.models.backbones.recurrent.bilstm import BiLSTM
from bench.models.backbones.recurrent.lstm import BiLSTMStack
from bench.models.core.states import States, slices
from bench.models.mle import MLE
from tests.models.plain_bilstm import plain_states
from tests.models.tiny_bilstm import EXEMPLARS, collate, texts, tiny

DESIGNS = [
    {"exemplar": exemplar, "input_feeding": feeding, "released": released}
    for exemplar, feeding, released in product(EXEMPLARS, (False, True), (False, True))
]
SOURCES, READ, TARGETS = texts(5), texts(5, 1, 6), texts(5, 2, 7)


def everything(model: BiLSTM, batch: Batch) -> tuple[States, Tensor]:
    """States, and log-probabilities at every target, [n, V]."""
    states = model.states(batch)
    return states, torch.cat([MLE(model).log_probs(rows) for rows in slices(states)])


class TestPlainLoop:
    """Equal to a loop over one row at a time, with matrices built for the row."""

    @pytest.mark.parametrize("options", DESIGNS)
    def test_equal(self, options: dict[str, Any]) -> None:
        model = tiny(**options)
        states, log_probs = everything(model, collate(SOURCES, READ, TARGETS))
        at = 0
        for row, texts_of_row in enumerate(zip(SOURCES, READ, TARGETS, strict=True)):
            hidden, expected = plain_states(model, *texts_of_row)
            torch.testing.assert_close(states.hidden[row, : len(hidden)], hidden, rtol=0, atol=1e-12)
            torch.testing.assert_close(log_probs[at : at + len(hidden)], expected, rtol=0, atol=1e-12)
            at += len(hidden)


class TestRows:
    """A row's numbers do not depend on its company."""

    @pytest.mark.parametrize("apart", [False, True])
    def test_padding_on_the_left(self, apart: bool) -> None:
        stack = BiLSTMStack(4, 4, 2, 0.0, apart).double()
        values = torch.randn(1, 3, 4, dtype=torch.float64)
        padded = torch.cat([torch.randn_like(values), values, torch.randn_like(values[:, :1])], dim=1)
        expected = stack(values, torch.ones(1, 3))
        found = stack(padded, torch.tensor([[0, 0, 0, 1, 1, 1, 0]]))
        close(found[0][:, 3:6], expected[0])
        close(torch.stack(found[1:]), torch.stack(expected[1:]))

    def test_an_empty_exemplar(self) -> None:
        for exemplar in ("adapt", "attend"):
            model = tiny(exemplar=exemplar)
            _, log_probs = everything(model, collate([[5, 6], [7]], [[], [8, 9]], [[7, 8], [9]]))
            log_probs.sum().backward()
            assert log_probs.isfinite().all()
            assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


class TestExemplars:
    @pytest.mark.parametrize("exemplar", ["attend", "adapt", "both"])
    def test_missing(self, exemplar: str) -> None:
        with pytest.raises(UsageError, match=f"exemplar={exemplar} reads an exemplar .* adadec"):
            tiny(exemplar=exemplar).states(collate(SOURCES, None, TARGETS))


class TestCopying:
    @pytest.mark.parametrize("options", DESIGNS)
    def test_weights_sum_to_one(self, options: dict[str, Any]) -> None:
        model = tiny(**options)
        batch = collate(SOURCES, READ, TARGETS)
        states, log_probs = everything(model, batch)
        assert states.copying is not None
        assert states.copy_tokens is not None
        close(states.copying.exp().sum(2), torch.ones_like(states.copying[:, :, 0]))
        close(log_probs.exp().sum(1), torch.ones(len(log_probs), dtype=torch.float64))
        mask = batch["attention_mask"]
        if model.model.design.attends:
            mask = torch.cat([mask, batch["exemplar_mask"]], 1)
        assert states.copy_tokens.shape == mask.shape
        padding = states.copying[:, :, :-1].transpose(1, 2)[mask == 0]
        assert padding.numel() > 0
        assert (padding < -1e30).all()
        assert padding.isfinite().all()


class TestGradients:
    @pytest.mark.parametrize("options", [*DESIGNS, {"copy": False, "exemplar": "both"}, {"tied": False}])
    def test_reach_every_parameter(self, options: dict[str, Any]) -> None:
        model = tiny(**options)
        MLE(model).loss(model.states(collate(SOURCES, READ, TARGETS))).total.backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name
            assert parameter.grad.abs().max() > 0, name

    def test_fused_head_without_copies(self) -> None:
        """The fast path gives the gradient of the plain one."""
        model = tiny(copy=False)
        states = model.states(collate(SOURCES, None, TARGETS))
        fast = MLE(model).loss(states).total
        slow = torch.cat([nll for _, nll in MLE(model).nll(states)]).sum()
        found, expected = (torch.autograd.grad(t, list(model.parameters()), retain_graph=True) for t in (fast, slow))
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)


class TestPrecision:
    @pytest.mark.parametrize("options", DESIGNS[::3])
    def test_bfloat16_autocast(self, options: dict[str, Any]) -> None:
        model = tiny(dtype=torch.float32, **options)
        batch = collate(SOURCES, READ, TARGETS)
        expected = everything(model, batch)[1]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            states, found = everything(model, batch)
            loss = MLE(model).loss(states).total
        loss.backward()
        assert states.copying is not None
        assert states.copying.dtype == torch.float32
        assert (found.exp() - expected.exp()).abs().max() < 0.05
        assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
