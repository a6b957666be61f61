"""MLE: maximum likelihood, the baseline that every other objective is compared with.

Shapes: n positions of a slice.
"""

from typing import ClassVar

from torch import Tensor

from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice
from bench.models.functional.head_losses import nll_of


class MLE(Objective):
    """Cross-entropy on the next token, l_xe of HistAlign section 3.1: the loss of `Objective`, in its fast form."""

    name = "mle"
    equations: ClassVar[tuple[str, ...]] = (r"\ell_t = -\log p(x_t) = \log \sum_w e^{z_w} - z_{x_t}",)

    def head_loss(self, tokens: TokenSlice, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """-log p of the target, [n]."""
        return nll_of(head, tokens.targets), {}
