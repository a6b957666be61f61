"""MLE: maximum likelihood, the baseline that every other objective is compared with.

    loss = -log p(target) = log sum_w exp(z_w) - z_target,    z the logits

Shapes: n positions of a slice.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice


class MLE(Objective):
    """Cross-entropy on the next token, l_xe of HistAlign section 3.1: the loss of `Objective`, in its fast form."""

    name: ClassVar[str] = "mle"
    paper: ClassVar[str] = "maximum likelihood"
    equations: ClassVar[tuple[str, ...]] = (r"\ell_t = -\log p(x_t) = \log \sum_w e^{z_w} - z_{x_t}",)

    def head_loss(self, tokens: TokenSlice, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """-log p of the target, [n]."""
        at_target = head.at(tokens.targets)
        return head.lse - at_target, {}
