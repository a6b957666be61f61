"""Entmax as a class: golden values and gradients, what is evaluated and what is decoded, where it does not fit."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from bench.decodings.samplers import Sample
from bench.decodings.searches import Greedy
from bench.models.core.entry import Compatibility
from bench.models.core.states import IGNORED, TokenSlice, slices
from bench.models.entmax import Entmax
from tests.models.given_logits import GivenLogits, batch_of, modern_case

CASES = ["entmax_0", "entmax_1"]


def rows_of(name: str, **options: Any) -> tuple[Entmax, TokenSlice]:
    """A class over golden logits, and all their positions in one slice."""
    case = modern_case(name)
    real = case["targets"] != IGNORED
    objective = Entmax(GivenLogits(case["logits"][real]), alpha=case.params["alpha"], **options)
    (rows,) = slices(objective.backbone.states(batch_of(case["targets"])), 99)
    return objective, rows


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


def test_a_backbone_that_copies_is_refused() -> None:
    assert "copying backbone" in str(Entmax.why_not(Compatibility("encoder-decoder", copies=True)))
    assert Entmax.why_not(Compatibility("encoder-decoder")) is None
