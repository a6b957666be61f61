"""A method with a reference model, for tests."""

from typing import ClassVar

import torch
from torch import Tensor

from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice


class Contrast(Objective):
    """Trains a contrast with the reference model."""

    name: ClassVar[str] = "contrast"
    paper: ClassVar[str] = "for tests"
    reference: ClassVar[str] = "mle"

    def token_loss(self, log_probs: Tensor, tokens: TokenSlice, targets: Tensor) -> Tensor:
        contrast = log_probs - 0.5 * self.reference_model.log_probs(tokens.reference)
        return torch.nn.functional.cross_entropy(contrast, targets, reduction="none")
