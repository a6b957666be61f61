"""mle.min_p and mle.typical: modern samplers on what maximum likelihood has trained, over the whole distribution.

The cuts are those of `bench.decodings`. Whatever a run decodes with, these draw: their rows say `sample`.

Shapes: n positions, V vocabulary.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

from torch import Tensor

from bench.decodings.core.sampler import Sampler
from bench.decodings.min_p import MinP
from bench.decodings.typical import Typical
from bench.models.core.entry import Compatibility
from bench.models.core.states import TokenSlice
from bench.models.mle_decoded import Decoded


class Sampled(Decoded):
    """Draws from what a sampler keeps; `chosen` is its number."""

    own_decoding: ClassVar[str] = "sample"
    under: str = "sample"

    @classmethod
    def why_not(cls, fit: Compatibility) -> str | None:
        """Return why it does not fit a task, or None: a text with a source is not drawn."""
        if not fit.open_ended:
            return "samples its texts, and rows with a source are decoded without chance"
        return super().why_not(fit)

    @abstractmethod
    def sampler(self, chosen: float) -> Sampler:
        """Return the sampler with a number."""

    def decoded(self, log_probs: Tensor, tokens: TokenSlice, chosen: float) -> Tensor:
        """Log-probabilities, -inf where the sampler would not draw, [n, V]."""
        return log_probs.masked_fill(~self.sampler(chosen).kept(log_probs), -math.inf)


class MLEMinP(Sampled):
    """Min-p sampling, Nguyen et al. 2024."""

    name: ClassVar[str] = "mle.min_p"
    paper: ClassVar[str] = "Nguyen et al. 2024"
    version: ClassVar[int] = 1
    choices: ClassVar[tuple[float, ...]] = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)

    def sampler(self, chosen: float) -> Sampler:
        """Min-p of that share of the best token."""
        return MinP(p=chosen)


class MLETypical(Sampled):
    """Locally typical sampling, Meister et al. 2023."""

    name: ClassVar[str] = "mle.typical"
    paper: ClassVar[str] = "Meister et al. 2023"
    version: ClassVar[int] = 1
    choices: ClassVar[tuple[float, ...]] = (0.99, 0.95, 0.9, 0.7, 0.5, 0.2)

    def sampler(self, chosen: float) -> Sampler:
        """Typical sampling of that mass."""
        return Typical(tau=chosen)
