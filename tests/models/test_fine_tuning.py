"""EAFT and ASFT against the arithmetic of their released code, in plain operations over whole logits."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, kl_div

from bench.errors import UsageError
from bench.models.asft import ASFT
from bench.models.core.objective import Objective
from bench.models.core.run_context import RunContext
from bench.models.core.states import IGNORED
from bench.models.eaft import EAFT
from bench.models.mle import MLE
from tests.models import still
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


def test_eaft_is_maximum_likelihood_at_power_0() -> None:
    objective = EAFT(still.backbone("gpt2"), alpha=0.0)
    expected = MLE(objective.backbone).step_loss(batch("gpt2")).total
    still.assert_same_gradients(objective, objective.step_loss(batch("gpt2")).total, expected)


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


def test_asft_asks_for_its_frozen_model() -> None:
    with pytest.raises(UsageError, match="needs a reference model"):
        ASFT(still.backbone("gpt2")).step_loss(batch("gpt2"))
