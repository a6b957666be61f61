"""Nucleus (top-p) sampling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from bench.decodings.core.sampler import Sampler
from bench.decodings.core.settings import number

if TYPE_CHECKING:
    from torch import Tensor

    from bench.decodings.core.top_tokens import TopTokens

__all__ = ["Nucleus"]


@dataclass(frozen=True, kw_only=True)
class Nucleus(Sampler):
    """Draw among the fewest most probable tokens whose mass reaches p.

    Source: Holtzman et al. 2020, section 3.1. Of tokens that tie at the edge those with the lowest ids are kept; the
    library keeps as many, but which ones its sort decides.

    Args:
        p: the mass.
    """

    name: ClassVar[str] = "nucleus"
    paper: ClassVar[str] = "Holtzman et al. 2020"

    p: float = number(above=0, below=1, value=True, example="nucleus=0.95")

    def kept(self, scores: Tensor) -> Tensor:
        """As many tokens as the library's own routine keeps, [B, V]; ties by id."""
        from transformers import TopPLogitsWarper

        from bench.decodings.core.top_tokens import lowest_ids

        theirs = TopPLogitsWarper(self.p)(None, scores) > -math.inf
        floor = scores.masked_fill(~theirs, math.inf).amin(1, keepdim=True)
        return lowest_ids(scores, floor, theirs.sum(1, keepdim=True))

    def draw(self, scores: Tensor, uniform: Tensor, state: dict[str, Tensor]) -> Tensor:
        """From the nucleus in float64 where it is among the most probable tokens, else from `kept`.

        That asks the scores twice. A GPU, which would be waited for, finds the same tokens by bisection.
        """
        if scores.device.type == "cuda":
            return self.draw_by_bisection(scores, uniform)
        return self.top_tokens().draw(scores, uniform)

    def draw_by_bisection(self, scores: Tensor, uniform: Tensor) -> Tensor:
        """`draw` without waiting for the device, [B]."""
        from bench.decodings.core.bisection import nucleus_by_bisection
        from bench.decodings.core.draws import inverse_cdf

        return inverse_cdf(scores.masked_fill(~nucleus_by_bisection(scores, self.p), -math.inf), uniform)

    def top_tokens(self) -> TopTokens:
        """Return the cut in its fast form."""
        from bench.decodings.core.top_tokens import TopTokens

        return TopTokens(self.kept, p=self.p)

    def class_cut(self) -> Mapping[str, Any]:
        """The nucleus of each class."""
        return {"p": self.p}
