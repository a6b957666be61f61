"""Locally typical sampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bench.decodings.core.sampler import Sampler
from bench.decodings.core.settings import number

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Typical"]


@dataclass(frozen=True, kw_only=True)
class Typical(Sampler):
    """Draw among the tokens whose surprise is nearest to the entropy, the fewest whose mass reaches tau.

    Source: Meister et al. 2023, eq. 11 and 12; they use 0.2 and 0.95. The token with which the mass reaches tau is
    kept. Of tokens that are equally near those with the lowest ids come first; the library keeps all of them.

    Args:
        tau: the mass.
    """

    name: ClassVar[str] = "typical"
    paper: ClassVar[str] = "Meister et al. 2023"

    tau: float = number(above=0, below=1, value=True, example="typical=0.95")

    def kept(self, scores: Tensor) -> Tensor:
        """The typical set, [B, V]."""
        import torch

        log_probs = scores.double().log_softmax(1)
        probs = log_probs.exp()
        entropy = -(probs * log_probs).nansum(1, keepdim=True)  # 0 * -inf of a token that is ruled out counts nothing
        order = (entropy + log_probs).abs().argsort(dim=1, stable=True)
        count = (probs.gather(1, order).cumsum(1) < self.tau).sum(1, keepdim=True) + 1
        first = torch.arange(scores.shape[1], device=scores.device) < count
        return torch.zeros_like(first).scatter(1, order, first) & scores.isfinite()
