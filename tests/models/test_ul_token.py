"""UL-token as a class: golden vectors through states and heads, every form of its loss, batches."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from bench.errors import UsageError
from bench.models.core.states import IGNORED
from bench.models.ul_token import ULToken
from tests.models import still
from tests.models.functional.test_unlikelihood import cases, load
from tests.models.given_logits import GivenLogits, batch_of
from tests.models.still import batch

EXACT = {"rtol": 1e-9, "atol": 1e-12}


class TestGolden:
    @pytest.mark.parametrize(
        ("variant", "key"), [("paper", "paper"), ("released", "per_row_with_pad"), ("f2_code", "loss")]
    )
    @pytest.mark.parametrize("name", cases("ul_token_f2"))
    def test_f2(self, name: str, variant: Any, key: str) -> None:
        """Rows apart; rows apart with padding as a candidate; the flattened batch with padding."""
        given, expected = load(name)
        ids, logits = torch.tensor(given["targets"]), torch.tensor(given["logits"], dtype=torch.float64)
        targets = ids.masked_fill(ids == given["pad"], IGNORED)
        objective = ULToken(GivenLogits(logits[(targets != IGNORED).flatten()], pad=given["pad"]), variant=variant)
        found = objective.step_loss(batch_of(targets))
        torch.testing.assert_close(float(found.total.detach() / found.n_target_tokens), expected[key], **EXACT)

    @pytest.mark.parametrize("name", ["ul_token_orig_allsame", "ul_token_orig_repeat"])
    def test_orig(self, name: str) -> None:
        """One row; the vector with padded positions is beyond a class that never sees one (the functions have it)."""
        given, expected = load(name)
        wanted = {"paper": expected["paper_mle_sum"] + expected["paper_ul_sum"], "released": expected["loss_sum"]}
        for variant, total in wanted.items():
            backbone = GivenLogits(torch.tensor(given["logits"], dtype=torch.float64), pad=given["pad"])
            found = ULToken(backbone, alpha=given["alpha"], variant=variant)  # type: ignore[arg-type]
            loss = found.step_loss(batch_of(torch.tensor([given["targets"]])))
            torch.testing.assert_close(float(loss.total.detach()), float(total), **EXACT)
            torch.testing.assert_close(float(loss.terms["mle"]), expected["mle_loss"], **EXACT)


class TestCertainty:
    def test_gradient_lives(self) -> None:
        """A repetition the model is certain of is pushed down; the released clamp leaves it alone."""
        logits = torch.zeros(3, 4, dtype=torch.float64)
        logits[2, 1] = 40.0
        for variant, wanted in (("paper", 2.0), ("released", 1.0)):  # one of these is maximum likelihood's own
            backbone = GivenLogits(logits)
            objective = ULToken(backbone, variant=variant)  # type: ignore[arg-type]
            objective.step_loss(batch_of(torch.tensor([[1, 2, 3]]))).total.backward()
            assert float(backbone.logits.grad[2, 1]) == pytest.approx(wanted, rel=1e-3)  # type: ignore[index]

    def test_value_is_bounded(self) -> None:
        logits = torch.zeros(2, 4)
        logits[1, 1] = 90.0
        found = ULToken(GivenLogits(logits)).step_loss(batch_of(torch.tensor([[1, 2]])))
        assert float(found.terms["unlikelihood"]) == pytest.approx(-math.log(1e-5), rel=1e-6)


class TestOptions:
    def test_joined_rows_cannot_copy(self) -> None:
        backbone = still.backbone("gpt2")
        backbone.copies = True  # type: ignore[misc]
        with pytest.raises(UsageError, match="f2_code joins the rows"):
            ULToken(backbone, variant="f2_code")

    def test_no_padding_token(self) -> None:
        """Then there is no padding to penalise."""
        backbone = still.backbone("gpt2")
        backbone.model.config.pad_token_id = None
        objective = ULToken(backbone, variant="released")
        expected = ULToken(backbone).step_loss(batch("gpt2")).total
        torch.testing.assert_close(objective.step_loss(batch("gpt2")).total, expected, **EXACT)
