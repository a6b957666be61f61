"""Samplers: decodings that draw a token at random, from a part of the vocabulary or from all of it.

The warpers of `transformers` cut in float32 and draw by one generator for the whole batch. Here cuts are in float64 and
ties go to the lowest ids, so that a text depends neither on a sort nor on its batch; the tests compare the cuts.

Shapes: B rows, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from bench.base.options import Range
from bench.decodings.core.sampler import Sampler
from bench.errors import UsageError

if TYPE_CHECKING:  # `bench list` reads this file, without torch
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Sample(Sampler):
    """Draw from the whole distribution; nothing is cut."""

    name: ClassVar[str] = "sample"

    def check(self) -> None:
        """Refuse a cut within classes where nothing is cut."""
        if self.distribution == "decoupled":
            raise UsageError("decoupled decoding is not for sample: without a cut it is posterior:sample")

    def class_cut(self) -> dict[str, float]:
        """Nothing is cut within a class either; `check` names the distribution to type."""
        return {}

    def kept(self, scores: Tensor) -> Tensor:
        """Every token, [B, V]."""
        return scores.isfinite()


@dataclass(frozen=True, kw_only=True)
class TopK(Sampler):
    """Draw among the k most probable tokens, and all that tie with the last of them, as the library does.

    Source: Fan et al. 2018, section 5.4.

    Args:
        k: how many tokens are kept.
    """

    name: ClassVar[str] = "topk"
    main_option: ClassVar[str] = "k"

    k: Annotated[int, Range(1)]

    def kept(self, scores: Tensor) -> Tensor:
        """Every token that is not below the k-th, [B, V]."""
        return scores >= scores.topk(min(self.k, scores.shape[1])).values[:, -1:]

    def class_cut(self) -> Mapping[str, Any]:
        """The k most probable tokens of each class."""
        return {"k": self.k}


@dataclass(frozen=True, kw_only=True)
class Nucleus(Sampler):
    """Draw among the fewest most probable tokens whose mass reaches p.

    Source: Holtzman et al. 2020, section 3.1. Of tokens that tie at the edge those with the lowest ids are kept; the
    library keeps as many, but which ones its sort decides.

    Args:
        p: the mass.
    """

    name: ClassVar[str] = "nucleus"
    main_option: ClassVar[str] = "p"

    p: Annotated[float, Range(above=0, below=1)]

    def kept(self, scores: Tensor) -> Tensor:
        """As many tokens as the library's own routine keeps, [B, V]; ties by id."""
        from transformers import TopPLogitsWarper

        from bench.decodings.core.draws import lowest_ids

        theirs = TopPLogitsWarper(self.p)(None, scores) > -math.inf
        floor = scores.masked_fill(~theirs, math.inf).amin(1, keepdim=True)
        return lowest_ids(scores, floor, theirs.sum(1, keepdim=True))

    def draw(self, scores: Tensor, uniform: Tensor) -> Tensor:
        """From the nucleus in float64 where it is among the 1,024 most probable tokens, else from `kept`, [B]."""
        from bench.decodings.core.draws import nucleus_draw

        return nucleus_draw(scores, self.p, self.kept, uniform)

    def class_cut(self) -> Mapping[str, Any]:
        """The nucleus of each class."""
        return {"p": self.p}


@dataclass(frozen=True, kw_only=True)
class MinP(Sampler):
    """Draw among tokens whose probability is at least p times that of the most probable one.

    Source: Nguyen et al. 2024 (arXiv 2407.01082), section 3; they use 0.05 to 0.1. The temperature comes first, as in
    the library.

    Args:
        p: the share of the largest probability.
    """

    name: ClassVar[str] = "min_p"
    main_option: ClassVar[str] = "p"

    p: Annotated[float, Range(above=0, most=1)]

    def kept(self, scores: Tensor) -> Tensor:
        """Every token with p(x) >= p max p, [B, V]."""
        return (scores - scores.amax(1, keepdim=True)).double().exp() >= self.p


@dataclass(frozen=True, kw_only=True)
class Typical(Sampler):
    """Draw among the tokens whose surprise is nearest to the entropy, the fewest whose mass reaches tau.

    Source: Meister et al. 2023, eq. 11 and 12; they use 0.2 and 0.95. The token with which the mass reaches tau is
    kept. Of tokens that are equally near those with the lowest ids come first; the library keeps all of them.

    Args:
        tau: the mass.
    """

    name: ClassVar[str] = "typical"
    main_option: ClassVar[str] = "tau"

    tau: Annotated[float, Range(above=0, below=1)]

    def kept(self, scores: Tensor) -> Tensor:
        """The typical set, [B, V]."""
        import torch

        log_probs = scores.double().log_softmax(1)
        entropy = -(log_probs.exp() * log_probs).nansum(1, keepdim=True)  # a token that is ruled out counts nothing
        order = (entropy + log_probs).abs().argsort(dim=1, stable=True)
        count = (log_probs.exp().gather(1, order).cumsum(1) < self.tau).sum(1, keepdim=True) + 1
        first = torch.arange(scores.shape[1], device=scores.device) < count
        return torch.zeros_like(first).scatter(1, order, first) & scores.isfinite()
