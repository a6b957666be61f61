"""A method with a reference model, for tests."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice


class Contrast(Objective):
    """Contrasts with the reference model wherever it is asked: in its loss, and in the texts it writes."""

    name: ClassVar[str] = "contrast"
    paper: ClassVar[str] = "for tests"
    reference: ClassVar[str] = "mle"

    def log_probs(self, rows: TokenSlice) -> Tensor:
        return (self.logits(rows) - 0.5 * self.reference_model.log_probs(rows.reference)).log_softmax(1)
