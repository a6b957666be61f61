"""mle.penalty: a repetition penalty on what maximum likelihood has trained.

    score(w) = penalty * log p(w) for a token w that was written before, log p(w) for any other

Keskar et al. 2019, section 4.1. Control of unlikelihood and of all that claims to repeat less.

Shapes: n positions, V vocabulary, W tokens written before.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from bench.models.backbones.backbone import Backbone
from bench.models.core.states import TokenSlice
from bench.models.mle_decoded import Decoded


class MLEPenalty(Decoded):
    """Tokens that were written before count as less likely; `chosen` is the penalty.

    Args:
        backbone: any.
        under: the decoding under which the penalty is chosen; give that of the run where it is another one.
    """

    name: ClassVar[str] = "mle.penalty"
    paper: ClassVar[str] = "Keskar et al. 2019"
    equations: ClassVar[tuple[str, ...]] = (
        r"\mathrm{score}(w) = \theta \log p(w) \text{ for a token that was written before}",
        r"\mathrm{score}(w) = \log p(w) \text{ for any other}",
    )
    version: ClassVar[int] = 1
    choices: ClassVar[tuple[float, ...]] = (1.0, 1.05, 1.1, 1.2, 1.35, 1.5)

    def __init__(self, backbone: Backbone, *, under: str = "greedy") -> None:
        super().__init__(backbone)
        self.under = under

    def decoded(self, log_probs: Tensor, tokens: TokenSlice, chosen: float) -> Tensor:
        """Log-probabilities times the penalty where a token was written before, [n, V]."""
        was_written = torch.zeros_like(log_probs)
        was_written.scatter_add_(1, tokens.written.clamp_min(0), (tokens.written >= 0).to(log_probs))
        return torch.where(was_written > 0, log_probs * chosen, log_probs)
