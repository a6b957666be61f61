"""A method with a second model, for tests."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from bench.models.core.objective import Objective
from bench.models.core.states import Rows


class Contrast(Objective):
    """Contrasts with the second model wherever it is asked: in its loss, and in the texts it writes."""

    name: ClassVar[str] = "contrast"
    paper: ClassVar[str] = "for tests"
    second: ClassVar[str] = "mle"

    def log_probs(self, rows: Rows) -> Tensor:
        return (self.logits(rows) - 0.5 * self.second_model.log_probs(rows.second)).log_softmax(1)
