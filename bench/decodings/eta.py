"""Eta sampling."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bench.decodings.core.sampler import Sampler
from bench.decodings.core.settings import number

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Eta"]


@dataclass(frozen=True, kw_only=True)
class Eta(Sampler):
    """Draw among tokens of at least min(epsilon, sqrt(epsilon) exp(-entropy)), and the most probable one.

    Source: Hewitt et al. 2022, section 4.2; they use 3e-4 to 2e-3.

    Args:
        epsilon: the floor of the probability where entropy is low.
    """

    name: ClassVar[str] = "eta"
    paper: ClassVar[str] = "Hewitt et al. 2022"

    epsilon: float = number(above=0, below=1, value=True, example="eta=0.0003")

    def kept(self, scores: Tensor) -> Tensor:
        """Every token above the floor, and those that tie for the first place, [B, V]."""
        log_probs = scores.double().log_softmax(1)
        entropy = -(log_probs.exp() * log_probs).nansum(1, keepdim=True)
        floor = (math.sqrt(self.epsilon) * (-entropy).exp()).clamp(max=self.epsilon)
        return (log_probs.exp() >= floor) | (scores >= scores.amax(1, keepdim=True))
