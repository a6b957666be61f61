"""EMO as a class: golden vectors, what its loss is equal to, and where its embedding comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from bench.models.core.head import Head
from bench.models.core.run_context import RunContext
from bench.models.core.states import IGNORED
from bench.models.emo import EMO
from bench.models.functional.token_losses import distances_from
from bench.models.mle import MLE
from bench.store.checkpoints import load_part
from tests.models import still
from tests.models.given_logits import GivenLogits, batch_of, modern_case

CASES = ["emo_0", "emo_1"]
VARIANTS: list[Any] = ["paper", "released"]
EXACT = {"rtol": 1e-9, "atol": 1e-12}


def made(kind: str, seed: int = 0, **options: Any) -> EMO:
    return EMO(still.backbone(kind, seed), **options)


def over(logits: Tensor, directions: Tensor | None = None, **options: Any) -> EMO:
    """Over given logits; without directions every token is at a right angle to every other."""
    objective = EMO(GivenLogits(logits), **options)
    if directions is not None:
        objective.directions = directions
    return objective


def gradient(objective: Any, targets: Tensor) -> Tensor:
    """Of the sum by the given logits."""
    total = objective.step_loss(batch_of(targets)).total
    (found,) = torch.autograd.grad(total, objective.backbone.logits)
    return found


class TestGolden:
    @pytest.mark.parametrize("variant", VARIANTS)
    @pytest.mark.parametrize("name", CASES)
    def test_value_and_gradient(self, name: str, variant: Any) -> None:
        case = modern_case(name)
        targets = case["targets"]
        real = targets != IGNORED
        objective = over(case["logits"][real], normalize(case["embedding"], dim=1), variant=variant)
        found = objective.step_loss(batch_of(targets))
        torch.testing.assert_close(found.total, case["rows"][real].sum(), rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(
            gradient(objective, targets),
            case["grad_logits"][real],
            rtol=1e-6 if variant == "paper" else 1e-5,
            atol=1e-9,
        )


class TestEmbedding:
    def test_is_that_of_the_parent(self) -> None:
        """A cell that starts from another has its head, whatever weights it was made with."""
        parent, objective = MLE(still.backbone("gpt2", seed=1)), made("gpt2", seed=0)
        is_new = load_part(objective, parent.state_dict(), Path("parent"))
        assert is_new, "or nobody would call warm_start"
        objective.warm_start(())
        expected = normalize(parent.backbone.head_parameters()[0].detach(), dim=1)
        torch.testing.assert_close(objective.directions, expected, **EXACT)

    def test_is_frozen_and_stored(self) -> None:
        objective = made("gpt2")
        before = objective.directions.clone()
        with torch.no_grad():
            objective.backbone.embedding().mul_(2).add_(1)
        assert torch.equal(objective.directions, before)
        assert "directions" in objective.state_dict()
        assert not objective.own_parameters()

    def test_shuffled(self) -> None:
        """The same directions, of other tokens, drawn by the seed."""
        own, shuffled = made("gpt2"), made("gpt2", embedding="shuffled")
        first = shuffled.directions.clone()
        is_own = (first == own.directions).all(1)
        assert is_own.float().mean() < 0.2
        torch.testing.assert_close(first.sort(0).values, own.directions.sort(0).values, **EXACT)
        shuffled.warm_start(())
        assert torch.equal(shuffled.directions, first)
        shuffled.setup_run(RunContext(seed=1))
        shuffled.warm_start(())
        assert not torch.equal(shuffled.directions, first)


def test_distances_keep_float32_under_autocast() -> None:
    """Near 0 they are what EMO is about; a certain token has a distance, and a gradient, in half precision too."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(6, 40, generator=generator)
    logits[0, 3] += 20.0
    targets = torch.tensor([3, 1, 2, 5, 8, 13])
    directions = normalize(torch.randn(40, 16, generator=generator), dim=1)

    def gradient_of(kind: torch.dtype | None) -> Tensor:
        given = logits.clone().requires_grad_()
        with torch.autocast("cpu", kind or torch.bfloat16, enabled=kind is not None):
            distance = Head(given).expected_of(distances_from(targets, directions))
        (found,) = torch.autograd.grad(distance.log().sum(), given)
        return found

    for kind in (torch.bfloat16, torch.float16):
        torch.testing.assert_close(gradient_of(kind), gradient_of(None), rtol=1e-5, atol=1e-7)
