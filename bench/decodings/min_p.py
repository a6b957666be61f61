"""Min-p sampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bench.decodings.core.sampler import Sampler
from bench.decodings.core.settings import number

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["MinP"]


@dataclass(frozen=True, kw_only=True)
class MinP(Sampler):
    """Draw among tokens whose probability is at least p times that of the most probable one.

    Source: Nguyen et al. 2024 (arXiv 2407.01082), section 3; they use 0.05 to 0.1. The temperature comes first, as in
    the library.

    Args:
        p: the share of the largest probability.
    """

    name: ClassVar[str] = "min_p"
    paper: ClassVar[str] = "Nguyen et al. 2024"

    p: float = number(above=0, most=1, value=True, example="min_p=0.1")

    def kept(self, scores: Tensor) -> Tensor:
        """Every token with p(x) >= p max p, [B, V]."""
        share = (scores - scores.amax(1, keepdim=True)).double().exp()
        return share >= self.p
