"""models/core/sliced_loss.py: a loss summed slice by slice equals the plain one, in value and in every gradient."""

import gc
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from bench.models.backbones.backbone import Backbone, Batch
from bench.models.core import head as head_module
from bench.models.core import sliced_loss as slices_module
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import summed
from bench.models.core.states import IGNORED, States, TokenSlice, slice_indices, slice_of, slices
from bench.models.ct import CT
from bench.models.histalign import HistAlign
from bench.models.mle import MLE
from bench.models.trime import TRIME
from bench.models.ul_token import ULToken
from tests.bench.generation import tiny_decoders as tiny
from tests.models import still

LIMITS = [3, 7, 512]
KINDS = ["gpt2", "bart"]
METHODS: dict[str, Callable[[Backbone], Objective]] = {
    "mle": MLE,
    "trime": TRIME,
    "histalign": HistAlign,
    "ul_token": ULToken,
    "ct": CT,
    "histalign.sum": lambda backbone: HistAlign(backbone, reduction="sum", rank_scope="sequence", base="trime"),
}


def batch_of(kind: str, counts: list[int], seed: int = 0) -> Batch:
    """Rows with so many targets each, behind sources of uneven length; 0 is a row without a target."""
    sources = tiny.texts(len(counts), seed)
    generator = torch.Generator().manual_seed(seed + 1)
    targets = [torch.randint(5, 40, (count,), generator=generator).tolist() for count in counts]
    return still.with_sources(kind, sources, targets)


UNEVEN = [5, 1, 0, 9, 2]


def all_at_once(objective: Objective, states: States) -> Tensor:
    """The loss of one slice that holds everything, through plain autograd."""
    (index,) = slice_indices(states, states.targets.numel())
    return objective.position_loss(slice_of(states, index))[0].sum()


def made(kind: str, method: str, dtype: torch.dtype = torch.float64, **options: Any) -> Objective:
    """A method over a tiny backbone, both deterministic."""
    torch.manual_seed(0)
    return METHODS[method](tiny.backbone(kind, dtype=dtype, **options)).eval()


class TestEqualsPlain:
    @pytest.mark.parametrize("limit", LIMITS)
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("kind", KINDS)
    def test_value_and_every_gradient(self, kind: str, method: str, limit: int) -> None:
        """Rows of 5, 1, 0, 9 and 2 targets: shared slices, cut rows and one without a target."""
        objective, batch = made(kind, method), batch_of(kind, UNEVEN)
        expected = all_at_once(objective, objective.backbone.states(batch))
        states = objective.backbone.states(batch)
        found = summed(states, objective.position_loss, objective.head_parameters(), limit)
        assert found.n_target_tokens == sum(UNEVEN)
        still.assert_same_gradients(objective, found.total, expected)

    @pytest.mark.parametrize("limits", [(3, 7), (7, 3), (512, 512)])
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("kind", KINDS)
    def test_the_loss_that_is_trained(
        self, kind: str, method: str, limits: tuple[int, int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Slices over the vocabulary and slices over the memory, of other sizes, against the plain form."""
        objective, batch = made(kind, method), batch_of(kind, UNEVEN)
        expected = all_at_once(objective, objective.backbone.states(batch))
        monkeypatch.setattr(head_module, "positions_in", lambda *of: limits[0])
        monkeypatch.setattr(slices_module, "positions_in", lambda *of: limits[1])
        still.assert_same_gradients(objective, objective.loss(objective.backbone.states(batch)).total, expected)

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("kind", KINDS)
    def test_frozen_embeddings(self, kind: str, method: str) -> None:
        """The head has no gradient, and all others are those of the plain form."""
        objective, batch = made(kind, method), batch_of(kind, UNEVEN)
        objective.backbone.embedding().requires_grad_(False)
        for fast in (False, True):
            expected = all_at_once(objective, objective.backbone.states(batch))
            states = objective.backbone.states(batch)
            if fast:
                found = objective.loss(states)
            else:
                found = summed(states, objective.position_loss, objective.head_parameters(), 3)
            still.assert_same_gradients(objective, found.total, expected)

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_scale_of_backward(self, kind: str) -> None:
        """The incoming gradient multiplies what forward has found; once, because it does so in place."""
        objective, batch = made(kind, "trime"), batch_of(kind, UNEVEN)

        def loss() -> Tensor:
            states = objective.backbone.states(batch)
            return summed(states, objective.position_loss, objective.head_parameters(), 3).total

        total = loss()
        once = torch.autograd.grad(total, objective.backbone.embedding(), retain_graph=True)[0]
        thrice = torch.autograd.grad(3 * loss(), objective.backbone.embedding())[0]
        torch.testing.assert_close(thrice, 3 * once, rtol=1e-12, atol=1e-12)
        with pytest.raises(RuntimeError, match="can be differentiated once"):
            torch.autograd.grad(total, objective.backbone.embedding())


class TestOwnParameters:
    """What a newcomer's method may do with parameters of its own."""

    def test_parameters_that_share_a_gradient(self) -> None:
        """Autograd hands the same tensor to both terms of a sum; adding up in place would count it twice."""
        first, second = (nn.Parameter(torch.ones(1, dtype=torch.float64)) for _ in range(2))
        objective, batch = made("gpt2", "mle"), batch_of("gpt2", UNEVEN)
        states = objective.backbone.states(batch)

        def loss(rows: TokenSlice) -> tuple[Tensor, dict[str, Tensor]]:
            return rows.hidden.square().sum(1) * (first + second), {}

        found = summed(states, loss, [first, second], 3)
        expected = states.hidden[states.targets != IGNORED].square().sum().detach()
        for gradient in torch.autograd.grad(found.total, [first, second]):
            torch.testing.assert_close(gradient.sum(), expected, rtol=1e-10, atol=1e-10)

    def test_a_gradient_without_memory_of_its_own(self) -> None:
        """The gradient of a plain sum is one number seen many times, and cannot be added to."""
        weight = nn.Parameter(torch.zeros(4, dtype=torch.float64))
        objective, batch = made("gpt2", "mle"), batch_of("gpt2", UNEVEN)
        states = objective.backbone.states(batch)

        def loss(rows: TokenSlice) -> tuple[Tensor, dict[str, Tensor]]:
            return rows.hidden.new_ones(len(rows)) + weight.sum() / len(rows), {}

        found = summed(states, loss, [weight], 3)
        expected = float(len(list(slices(states, 3))))
        assert torch.autograd.grad(found.total, weight)[0].tolist() == pytest.approx([expected] * 4)


class Largest(TorchDispatchMode):
    """Notes the most elements of any tensor that is made while it is active."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, tuple | list) else (out,):
            if isinstance(tensor, Tensor):
                self.elements = max(self.elements, tensor.numel())
        return out


class TestMemory:
    """B x T = 8 x 60 positions and 2,003 tokens: a full table of scores would have 961,440 entries."""

    TOKENS, LIMIT = 2003, 16

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("what", ["training", "evaluation"])
    def test_methods(self, monkeypatch: pytest.MonkeyPatch, method: str, what: str) -> None:
        """A whole step of each method over more positions than a slice holds, forward and backward."""
        monkeypatch.setitem(head_module.BUDGET, "cpu", 256 * 4 * self.TOKENS)
        objective = made("gpt2", method, torch.float32, vocab_size=self.TOKENS, n_positions=300)
        generator = torch.Generator().manual_seed(0)
        ids = torch.randint(5, self.TOKENS, (6, 257), generator=generator)
        batch: Batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}
        with torch.no_grad() if what == "evaluation" else nullcontext(), Largest() as seen:
            states = objective.backbone.states(batch)
            if what == "training":
                objective.loss(states).total.backward()
            else:
                for _ in objective.nll(states):
                    pass
        assert objective.slice_size == 256
        assert seen.elements <= 256 * self.TOKENS < 6 * 256 * self.TOKENS


def test_the_buffer_of_logits_is_freed_with_its_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for Python's collector of cycles, so that a GPU's memory is free before the next step."""
    made: list[weakref.ref[Any]] = []

    class Watched(slices_module.Products):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(weakref.ref(self))

    monkeypatch.setattr(slices_module, "Products", Watched)
    objective = MLE(tiny.backbone("gpt2"))
    gc.disable()
    try:
        objective.loss(objective.states(batch_of("gpt2", UNEVEN))).total.backward()
        assert made
        assert [ref() for ref in made] == [None]
    finally:
        gc.enable()
