"""Sampler: the base of decodings that draw a token, most of them from a part of the vocabulary.

Shapes: B rows, V vocabulary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from bench.base.options import Range
from bench.decodings.core.decoding import Decoding

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Sampler"]


@dataclass(frozen=True, kw_only=True)
class Sampler(Decoding):
    """Draws a token from those it keeps. Fill `kept`.

    A row's draw depends on the row's scores and seed alone: no hook may mix rows.

    Args:
        temperature: divides the log-probabilities before tokens are cut away.
    """

    samples: ClassVar[bool] = True

    temperature: Annotated[float, Range(1e-6)] = 1.0

    def kept(self, scores: Tensor) -> Tensor:
        """Return which tokens may be drawn, [B, V] bool, at least one of each row.

        Args:
            scores: [B, V] log-probabilities after the temperature, not normalised; -inf for tokens that are ruled out.
        """
        raise NotImplementedError(f"{type(self).__name__} needs kept(scores)")

    def draw(self, scores: Tensor, uniform: Tensor) -> Tensor:
        """Return the token at each row's place in [0, 1) of its cut distribution, in the order of token ids, [B].

        Args:
            scores: as in `kept`.
            uniform: [B] float64, a number of each row's own generator.
        """
        from bench.decodings.core.draws import inverse_cdf

        return inverse_cdf(scores.masked_fill(~self.kept(scores), -math.inf), uniform)
