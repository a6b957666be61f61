"""One step of a class on a golden case of tests/golden/modern: its loss and the gradient of the logits."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import summed
from bench.models.core.states import IGNORED
from tests.models.given_logits import GivenLogits, batch_of
from tests.models.modern_cases import ModernCase, modern_case

Make = Callable[[GivenLogits], Objective]


def step_of(case: ModernCase, make: Make, *, plain: bool = False) -> tuple[Tensor, Tensor]:
    """Return the total loss of a case and its gradient by the logits of positions with a target, [N, V].

    Args:
        case: with `logits` [B, T, V] and `targets` [B, T].
        make: makes the objective.
        plain: over logits in the graph, in place of the head in its fast form.
    """
    backbone = GivenLogits(case["logits"][case["targets"] != IGNORED])
    objective, batch = make(backbone), batch_of(case["targets"])
    if plain:
        total = summed(backbone.states(batch), objective.position_loss, objective.head_parameters(), 5).total
    else:
        total = objective.step_loss(batch).total
    (gradient,) = torch.autograd.grad(total, [backbone.logits])
    return total.detach(), gradient


def assert_golden(name: str, make: Make, suffix: str = "") -> None:
    """Compare value and gradient of a class with a golden case, in both forms of the head.

    Args:
        name: of the case, such as `scalegrad_0`.
        make: makes the objective.
        suffix: of the arrays of a variant, such as `_as_coded`.
    """
    case = modern_case(name)
    real = case["targets"] != IGNORED
    for plain in (False, True):
        total, gradient = step_of(case, make, plain=plain)
        torch.testing.assert_close(total, case[f"rows{suffix}"][real].sum(), rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(gradient, case[f"grad_logits{suffix}"][real], rtol=2e-6, atol=2e-6)
