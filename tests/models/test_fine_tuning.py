"""Losses of fine-tuning: EAFT and ASFT against the released arithmetic, EMO and GOLD against golden vectors."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, kl_div, normalize

from bench.errors import UsageError
from bench.models.asft import ASFT
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.run_context import RunContext
from bench.models.core.states import IGNORED, States, TokenSlice
from bench.models.eaft import EAFT
from bench.models.emo import EMO
from bench.models.functional.token_losses import discounted_returns, distances_from
from bench.models.gold import GOLD
from bench.models.mle import MLE
from bench.store.checkpoints import load_part
from tests.models import still
from tests.models.given_logits import GivenLogits, ModernCase, batch_of, modern_case
from tests.models.still import KINDS, batch


def whole_logits(objective: Objective, kind: str) -> tuple[Tensor, Tensor]:
    """Return the logits at each target and the targets, [N, V] and [N]."""
    states = objective.backbone.states(batch(kind))
    real = states.targets != IGNORED
    return objective.backbone.head(states.hidden)[real], states.targets[real]


@pytest.mark.parametrize("alpha", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("kind", KINDS)
def test_eaft(kind: str, alpha: float) -> None:
    objective = EAFT(still.backbone(kind), alpha=alpha)
    logits, targets = whole_logits(objective, kind)
    top = logits.detach().topk(20).values
    p = top.softmax(-1)
    entropy = -(p * (p + 1e-300).log()).sum(-1)
    expected = ((entropy / 3.0) ** alpha * cross_entropy(logits, targets, reduction="none")).sum()
    still.assert_same_gradients(objective, objective.step_loss(batch(kind)).total, expected)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 2.0])
@pytest.mark.parametrize("kind", KINDS)
def test_asft(kind: str, alpha: float) -> None:
    objective = ASFT(still.backbone(kind), alpha=alpha)
    frozen = MLE(still.backbone(kind, seed=1))
    objective.setup_run(RunContext(reference=frozen))
    logits, targets = whole_logits(objective, kind)
    nll = cross_entropy(logits, targets, reduction="none")
    q = whole_logits(frozen, kind)[0].detach().softmax(-1)
    divergence = kl_div(logits.log_softmax(-1), q, reduction="none").sum(-1)
    found = objective.step_loss(batch(kind))
    still.assert_same_gradients(objective, found.total, (nll * (-nll).exp().detach() + alpha * divergence).sum())
    torch.testing.assert_close(found.terms["divergence"], divergence.sum().detach(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", [ASFT, GOLD])
def test_a_frozen_model_is_asked_for(kind: type[Objective]) -> None:
    with pytest.raises(UsageError, match="needs a reference model"):
        kind(still.backbone("gpt2")).step_loss(batch("gpt2"))


EMO_CASES = ["emo_0", "emo_1"]
VARIANTS: list[Any] = ["paper", "released"]
EXACT = {"rtol": 1e-9, "atol": 1e-12}


def emo(kind: str, seed: int = 0, **options: Any) -> EMO:
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


class TestGoldenEMO:
    @pytest.mark.parametrize("variant", VARIANTS)
    @pytest.mark.parametrize("name", EMO_CASES)
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
        parent, objective = MLE(still.backbone("gpt2", seed=1)), emo("gpt2", seed=0)
        is_new = load_part(objective, parent.state_dict(), Path("parent"))
        assert is_new, "or nobody would call warm_start"
        objective.warm_start(())
        expected = normalize(parent.backbone.head_parameters()[0].detach(), dim=1)
        torch.testing.assert_close(objective.directions, expected, **EXACT)

    def test_has_the_length_1_in_float32_for_a_model_in_bf16(self) -> None:
        lengths = EMO(still.backbone("gpt2", dtype=torch.bfloat16)).directions.norm(dim=1)
        torch.testing.assert_close(lengths, torch.ones(len(lengths)))

    def test_is_frozen_and_stored(self) -> None:
        objective = emo("gpt2")
        before = objective.directions.clone()
        with torch.no_grad():
            objective.backbone.embedding().mul_(2).add_(1)
        assert torch.equal(objective.directions, before)
        assert "directions" in objective.state_dict()
        assert not objective.own_parameters()

    def test_shuffled(self) -> None:
        """The same directions, of other tokens, drawn by the seed."""
        own, shuffled = emo("gpt2"), emo("gpt2", embedding="shuffled")
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


GOLD_CASES = ["gold_0", "gold_1"]
REWARDS: list[Any] = ["s", "p"]


class Given(GOLD):
    """Weighs by the policy of a golden case and takes its rewards."""

    name = "given"
    case: ModernCase

    def policy(self, rows: TokenSlice, nll: Tensor) -> Tensor:
        return self.case["p_old"][rows.start + rows.group, rows.position]

    def mle_probabilities(self, states: States) -> Tensor:
        return self.case["p_mle"].nan_to_num(1.0)


def gold(kind: str, **options: Any) -> GOLD:
    objective = GOLD(still.backbone(kind), **options)
    objective.setup_run(RunContext(reference=MLE(still.backbone(kind, seed=1))))
    return objective


class TestGoldenGOLD:
    @pytest.mark.parametrize("name", GOLD_CASES)
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
        objective = gold(kind, variant=variant, reward=reward, gamma=0.9, floor=0.01)
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
