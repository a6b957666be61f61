"""Entmax: a distribution with exact zeros in place of the softmax, trained with the loss that belongs to it.

The distribution is in `bench.models.functional.entmax`, its loss in `bench.models.functional.head_losses`.

Shapes: n positions of a slice, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from torch import Tensor

from bench.base.options import Range
from bench.models.backbones.backbone import Backbone
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import Losses
from bench.models.core.states import TokenSlice
from bench.models.functional.entmax import entmax
from bench.models.functional.head_losses import entmax_loss

if TYPE_CHECKING:
    from bench.decodings.core.decoding import Decoding


class Entmax(Objective):
    """alpha-entmax and its Fenchel-Young loss; alpha = 2 is sparsemax.

    Source: Peters, Niculae and Martins 2019, in the authors' released code (entmax-jax); the paper itself was not read.

    A token outside the support has probability 0, and a target there an infinite negative log-likelihood. So likelihood
    metrics are those of (p + eps) / (1 + eps V), as in the eps-perplexity of Martins et al. 2020 (from memory): they
    depend on eps, and are no measure to compare with other methods'; a remark under every table says so. Texts are
    decoded from p itself.

    Args:
        backbone: one that does not copy.
        alpha: towards 1 the softmax, 2 sparsemax.
        eps: what each token's probability is raised by in likelihoods.
    """

    name = "entmax"
    equations = (r"\ell_t = p^\top z - z_{x_t} + H(p), \quad p = \mathrm{entmax}_\alpha(z)",)
    version = 1
    runs_on_copying = False

    def __init__(
        self,
        backbone: Backbone,
        *,
        alpha: Annotated[float, Range(1.01, 2)] = 1.5,
        eps: Annotated[float, Range(1e-9, 1)] = 1e-6,
    ) -> None:
        super().__init__(backbone)
        self.alpha, self.eps = alpha, eps

    def probabilities(self, tokens: TokenSlice) -> Tensor:
        """The model's own distribution, [n, V], with zeros; without gradient."""
        return entmax(super().logits(tokens), self.alpha)

    def logits(self, tokens: TokenSlice) -> Tensor:
        """Logarithm of (p + eps) / (1 + eps V), [n, V]; without gradient."""
        raised = self.probabilities(tokens) + self.eps
        return (raised / (1 + self.eps * raised.shape[1])).log()

    def position_loss(self, tokens: TokenSlice) -> Losses:
        """The loss over logits that are not raised, [n]."""
        return self.head_loss(tokens, Head(super().logits(tokens)))

    def head_loss(self, tokens: TokenSlice, head: Head) -> Losses:
        """Fenchel-Young loss of each position, [n]: its gradient is p, less 1 at the target."""
        return entmax_loss(head, tokens.targets, self.alpha), {}

    def remarks(self) -> list[str]:
        """Say that likelihoods are smoothed."""
        return [
            f"likelihoods are of (p + {self.eps:g}) / (1 + {self.eps:g} V), since p has zeros: they depend on that "
            f"number, and are not to be compared with other rows'"
        ]

    def decode_log_probs(self, tokens: TokenSlice, decoding: Decoding) -> Tensor:
        """Logarithm of p, [n, V], -inf outside its support; a decoupled decoding sees the raised distribution."""
        if decoding.distribution == "decoupled":
            return super().decode_log_probs(tokens, decoding)
        return self.probabilities(tokens).log()
