"""GOLD as a class: golden vectors, where its rewards come from, and how far they are added."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from bench.errors import UsageError
from bench.models.core.objective import Objective
from bench.models.core.run_context import RunContext
from bench.models.core.states import IGNORED, States, TokenSlice
from bench.models.functional.returns import discounted_returns
from bench.models.gold import GOLD
from bench.models.mle import MLE
from tests.models import still
from tests.models.given_logits import GivenLogits, ModernCase, batch_of, modern_case
from tests.models.still import KINDS, batch

CASES = ["gold_0", "gold_1"]
VARIANTS: list[Any] = ["paper", "released"]
REWARDS: list[Any] = ["s", "p"]
EXACT = {"rtol": 1e-9, "atol": 1e-12}


class Given(GOLD):
    """Weighs by the policy of a golden case and takes its rewards."""

    name = "given"
    case: ModernCase

    def policy(self, rows: TokenSlice, nll: Tensor) -> Tensor:
        return self.case["p_old"][rows.start + rows.group, rows.position]

    def mle_probabilities(self, states: States) -> Tensor:
        return self.case["p_mle"].nan_to_num(1.0)


def made(kind: str, **options: Any) -> GOLD:
    objective = GOLD(still.backbone(kind), **options)
    objective.setup_run(RunContext(reference=MLE(still.backbone(kind, seed=1))))
    return objective


class TestGolden:
    @pytest.mark.parametrize("name", CASES)
    def test_value_and_gradient(self, name: str) -> None:
        """Case 0 has the reward `s`, case 1 the reward `p`; both add the rewards that the released code adds."""
        case = modern_case(name)
        real, params = case["targets"] != IGNORED, case.params
        objective = Given(
            GivenLogits(case["logits"][real]),
            reward=params["variant"],
            floor=params["u"],
            least=params["q_low"],
            baseline=params["b0"],
            gamma=params["gamma"],
            variant="released",
        )
        objective.case = case
        found = objective.step_loss(batch_of(case["targets"]))
        torch.testing.assert_close(found.total, case["rows"].nansum(), **EXACT)
        (gradient,) = torch.autograd.grad(found.total, objective.backbone.logits)  # type: ignore[arg-type]
        torch.testing.assert_close(gradient, case["grad_logits"][real], rtol=1e-8, atol=1e-10)


class TestReturns:
    @pytest.mark.parametrize("gamma", [0.0, 0.7, 1.0])
    @pytest.mark.parametrize(("horizon", "behind"), [(None, 0.0), (2, 3.0), (9, 3.0)])
    def test_by_hand(self, gamma: float, horizon: int | None, behind: float) -> None:
        """By loops over the targets of each row; positions without one do not count as steps."""
        values = torch.rand(3, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        is_target = torch.tensor([[1, 1, 1, 1, 1, 1], [0, 1, 0, 1, 1, 0], [0, 0, 0, 0, 0, 0]]).bool()
        expected = torch.zeros_like(values)
        for row in range(3):
            places = is_target[row].nonzero().flatten().tolist()
            for number, place in enumerate(places):
                steps = range(len(places) - number if horizon is None else horizon + 1)
                for step in steps:
                    later = places[number + step : number + step + 1]
                    value = values[row, later[0]] if later else behind
                    expected[row, place] += gamma**step * value
        torch.testing.assert_close(discounted_returns(values, is_target, gamma, horizon, behind), expected, **EXACT)


class TestLoss:
    @pytest.mark.parametrize("reward", REWARDS)
    @pytest.mark.parametrize("variant", VARIANTS)
    @pytest.mark.parametrize("kind", KINDS)
    def test_by_hand(self, kind: str, variant: Any, reward: Any) -> None:
        """Value and every gradient, in plain autograd over both models."""
        objective = made(kind, variant=variant, reward=reward, gamma=0.9, floor=0.01)
        states = objective.states(batch(kind))
        is_target = states.targets != IGNORED
        at_targets = []
        for model in (objective, objective.reference_model):
            log_p = model.backbone.head(model.backbone.states(batch(kind)).hidden).log_softmax(-1)
            at_targets.append(log_p.gather(2, states.targets.clamp_min(0)[..., None]).squeeze(-1))
        own, of_mle = at_targets
        values = of_mle.exp() if reward == "s" else of_mle + 10
        released = variant == "released"
        bonus = (1.0 if reward == "s" else 10.0) if released else 0.0
        horizon = 5 if released else None
        returns = discounted_returns(values.clamp_min(0.1).detach(), is_target, 0.9, horizon, bonus)
        weights = own.exp().detach().clamp_min(0.01) * returns
        still.assert_same_gradients(objective, objective.loss(states).total, (weights * -own)[is_target].sum())

    def test_no_frozen_model(self) -> None:
        objective: Objective = GOLD(still.backbone("gpt2"))
        with pytest.raises(UsageError, match="needs a reference model"):
            objective.step_loss(batch("gpt2"))
