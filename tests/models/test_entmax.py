"""Entmax as a class: golden values and gradients, what is evaluated and what is decoded, where it does not fit."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from bench.decodings.greedy import Greedy
from bench.decodings.sample import Sample
from bench.errors import UsageError
from bench.models.core.entry import Compatibility
from bench.models.core.states import IGNORED, TokenSlice, slices
from bench.models.entmax import Entmax
from bench.models.functional.entmax import entmax
from bench.models.mle import MLE
from tests.models import still
from tests.models.given_logits import GivenLogits, batch_of
from tests.models.modern_cases import modern_case
from tests.models.modern_steps import assert_golden
from tests.models.still import KINDS, batch

CASES = ["entmax_0", "entmax_1"]


def rows_of(name: str, **options: Any) -> tuple[Entmax, TokenSlice]:
    """A class over golden logits, and all their positions in one slice."""
    case = modern_case(name)
    real = case["targets"] != IGNORED
    objective = Entmax(GivenLogits(case["logits"][real]), alpha=case.params["alpha"], **options)
    (rows,) = slices(objective.backbone.states(batch_of(case["targets"])), 99)
    return objective, rows


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str) -> None:
    alpha = modern_case(name).params["alpha"]
    assert_golden(name, lambda backbone: Entmax(backbone, alpha=alpha))


@torch.no_grad()
@pytest.mark.parametrize("name", CASES)
def test_likelihoods_are_of_the_raised_distribution(name: str) -> None:
    objective, rows = rows_of(name, eps=0.01)
    case = modern_case(name)
    probabilities = case["probs"][case["targets"] != IGNORED]
    expected = (probabilities + 0.01) / (1 + 0.01 * probabilities.shape[1])
    torch.testing.assert_close(objective.log_probs(rows).exp(), expected, rtol=1e-9, atol=1e-9)
    assert objective.log_probs(rows).isfinite().all()


@torch.no_grad()
@pytest.mark.parametrize("name", CASES)
def test_texts_are_of_the_distribution_itself(name: str) -> None:
    objective, rows = rows_of(name)
    case = modern_case(name)
    for decoding in (Greedy(), Sample()):
        found = objective.decode_log_probs(rows, decoding).exp()
        torch.testing.assert_close(found, case["probs"][case["targets"] != IGNORED], rtol=1e-9, atol=1e-9)
    assert (found == 0).any()


@torch.no_grad()
def test_a_sample_stays_in_the_support() -> None:
    objective, rows = rows_of(CASES[0])
    log_probs = objective.decode_log_probs(rows, Sample())
    drawn = torch.multinomial(log_probs.exp(), 200, replacement=True, generator=torch.Generator().manual_seed(0))
    assert log_probs.gather(1, drawn).isfinite().all()


@pytest.mark.parametrize("kind", KINDS)
def test_towards_one_it_is_maximum_likelihood(kind: str) -> None:
    backbone = still.backbone(kind)
    near = Entmax(backbone, alpha=1.01).step_loss(batch(kind)).total
    likelihood = MLE(backbone).step_loss(batch(kind)).total
    torch.testing.assert_close(near, likelihood, rtol=0.02, atol=0)


def test_every_alpha_has_its_distribution() -> None:
    backbone = still.backbone("gpt2")
    (rows,) = slices(backbone.states(batch("gpt2")), 999)
    for alpha in (1.2, 2.0):
        expected = entmax(backbone.head(rows.hidden).detach(), alpha)
        torch.testing.assert_close(Entmax(backbone, alpha=alpha).probabilities(rows), expected)


def test_a_backbone_that_copies_is_refused() -> None:
    assert "copying backbone" in str(Entmax.why_not(Compatibility("encoder-decoder", copies=True)))
    assert Entmax.why_not(Compatibility("encoder-decoder")) is None


@pytest.mark.parametrize("alpha", [1.0, 2.5])
def test_an_alpha_that_is_none(alpha: float) -> None:
    with pytest.raises(UsageError, match=r"'alpha' is at least 1.01 and at most 2"):
        Entmax(still.backbone("gpt2"), alpha=alpha)
