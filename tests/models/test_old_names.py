"""`row_loss`, the name of `token_loss` until version 0.3, still trains, with a warning."""

from typing import Any

import pytest
import torch
from torch import Tensor

from bench.errors import UsageError
from bench.models.mle import MLE
from tests.models import still


def test_row_loss_trains_as_token_loss_and_warns() -> None:
    with pytest.warns(DeprecationWarning, match="Old: `row_loss` is now called `token_loss`; rename it"):

        class Old(MLE):
            def row_loss(self, log_probs: Tensor, rows: Any, targets: Tensor) -> Tensor:
                return 2 * super().row_loss(log_probs, rows, targets)

    class New(MLE):
        def token_loss(self, log_probs: Tensor, tokens: Any, targets: Tensor) -> Tensor:
            return 2 * super().token_loss(log_probs, tokens, targets)

    old, new = Old(still.backbone("gpt2")), New(still.backbone("gpt2"))
    assert not old.has_fast_form
    total = old.loss(old.states(still.batch("gpt2"))).total
    assert torch.equal(total, new.loss(new.states(still.batch("gpt2"))).total)


def test_a_reference_model_by_its_old_name_is_refused() -> None:
    with pytest.raises(UsageError, match="Old.second is now called `reference`"):

        class Old(MLE):
            second = "mle"
