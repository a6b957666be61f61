"""MLE: maximum likelihood, the baseline every other objective is compared with."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.states import Rows


class MLE(Objective):
    """Cross-entropy on the next token, l_xe of HistAlign section 3.1. What the base does, in its fast form."""

    name: ClassVar[str] = "mle"
    paper: ClassVar[str] = "maximum likelihood"

    def head_loss(self, rows: Rows, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """-log p of the target."""
        return head.lse - head.at(rows.targets), {}
