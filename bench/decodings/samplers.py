"""Samplers: decodings that draw a token at random, from a part of the vocabulary or from all of it.

The warpers of `transformers` cut in float32 and draw by one generator for the whole batch. Here cuts are in float64 and
ties go to the lowest ids, so that a text depends neither on a sort nor on its batch; the tests compare the cuts.

Shapes: B rows, V vocabulary, m tokens that an exponent is estimated from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from bench.decodings.core.sampler import Sampler
from bench.decodings.core.settings import number, whole
from bench.errors import UsageError

if TYPE_CHECKING:  # `bench list` reads this file, without torch
    from torch import Tensor

__all__ = ["Eta", "MinP", "Mirostat", "Nucleus", "Sample", "TopK", "Typical"]

ZIPF_TOKENS = 100
"""Most probable tokens from which version 1 of mirostat estimates the exponent of Zipf's law."""


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
    paper: ClassVar[str] = "Fan et al. 2018"

    k: int = whole(least=1, value=True, example="topk=3")

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
    paper: ClassVar[str] = "Holtzman et al. 2020"

    p: float = number(above=0, below=1, value=True, example="nucleus=0.95")

    def kept(self, scores: Tensor) -> Tensor:
        """As many tokens as the library's own routine keeps, [B, V]; ties by id."""
        from transformers import TopPLogitsWarper

        from bench.decodings.core.draws import lowest_ids

        theirs = TopPLogitsWarper(self.p)(None, scores) > -math.inf
        floor = scores.masked_fill(~theirs, math.inf).amin(1, keepdim=True)
        return lowest_ids(scores, floor, theirs.sum(1, keepdim=True))

    def draw(self, scores: Tensor, uniform: Tensor, state: dict[str, Tensor]) -> Tensor:
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
    paper: ClassVar[str] = "Nguyen et al. 2024"

    p: float = number(above=0, most=1, value=True, example="min_p=0.1")

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
    paper: ClassVar[str] = "Meister et al. 2023"

    tau: float = number(above=0, below=1, value=True, example="typical=0.95")

    def kept(self, scores: Tensor) -> Tensor:
        """The typical set, [B, V]."""
        import torch

        log_probs = scores.double().log_softmax(1)
        order = (entropy_of(log_probs) + log_probs).abs().argsort(dim=1, stable=True)
        count = (log_probs.exp().gather(1, order).cumsum(1) < self.tau).sum(1, keepdim=True) + 1
        first = torch.arange(scores.shape[1], device=scores.device) < count
        return torch.zeros_like(first).scatter(1, order, first) & scores.isfinite()


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
        floor = (math.sqrt(self.epsilon) * (-entropy_of(log_probs)).exp()).clamp(max=self.epsilon)
        return (log_probs.exp() >= floor) | (scores >= scores.amax(1, keepdim=True))


@dataclass(frozen=True, kw_only=True)
class Mirostat(Sampler):
    """Draw from a cut that is moved after each token by how far its surprise was from the target, in bits.

    Version 1 takes probabilities to follow Zipf's law, with the exponent s of the 100 most probable tokens, and keeps
    the k tokens that should have a largest surprise of mu; surprise is under the whole distribution. Version 2 keeps
    the tokens whose surprise is at most mu, the most probable one if there is none; surprise is under the cut
    distribution. In both, mu starts at 2 tau and falls by rate * (surprise - tau) after each token; each row has its
    own.

    Source: Basu et al. 2021, algorithm 1 (version 1) and the released code's second version. The authors' script takes
    50,000 for the size of any vocabulary and keeps k + 1 tokens; here it is the true size, and k.

    Args:
        tau: target surprise in bits.
        rate: how fast the cut moves, their eta.
        version: 1 or 2.
    """

    name: ClassVar[str] = "mirostat"
    paper: ClassVar[str] = "Basu et al. 2021"

    tau: float = number(above=0, value=True, example="mirostat=3")
    rate: float = number(1.0, above=0)
    version: int = whole(2, least=1, most=2)

    def draw(self, scores: Tensor, uniform: Tensor, state: dict[str, Tensor]) -> Tensor:
        """Draw from the cut of each row's own mu, then move it, [B]."""
        from bench.decodings.core.draws import inverse_cdf

        log_probs = scores.double().log_softmax(1)
        mu = state.get("mu", uniform.new_full((len(scores),), 2 * self.tau))  # [B] bits
        if self.version == 1:
            order = log_probs.argsort(dim=1, descending=True, stable=True)  # ties to the lower id
            kept = order.argsort(1) < zipf_size(log_probs, mu)[:, None]
        else:
            kept = (-log_probs / math.log(2) <= mu[:, None]) | (log_probs >= log_probs.amax(1, keepdim=True))
        cut = log_probs.masked_fill(~kept, -math.inf)
        tokens = inverse_cdf(cut, uniform)
        if self.version == 2:
            log_probs = cut.log_softmax(1)
        surprise = -log_probs.gather(1, tokens[:, None]).squeeze(1) / math.log(2)
        state["mu"] = mu - self.rate * (surprise - self.tau)
        return tokens


def entropy_of(log_probs: Tensor) -> Tensor:
    """Return the entropy of each row in nats, [B, 1]; a token that is ruled out, 0 * -inf, counts nothing."""
    return -(log_probs.exp() * log_probs).nansum(1, keepdim=True)


def zipf_size(log_probs: Tensor, mu: Tensor) -> Tensor:
    """Return how many tokens have a surprise of at most mu if probabilities follow Zipf's law, [B].

    Args:
        log_probs: [B, V] natural log-probabilities; its most probable tokens give the exponent.
        mu: [B] bits.
    """
    size = log_probs.shape[1]
    top = log_probs.topk(min(ZIPF_TOKENS, size)).values  # [B, m]
    ranks = top.new_ones(top.shape[1]).cumsum(0)
    t = (ranks[1:] / ranks[:-1]).log()  # log((i + 1) / i)
    fall = (top[:, :-1] - top[:, 1:]).nan_to_num(0.0, 0.0, 0.0)  # log(p_i / p_(i+1))
    exponent = (t * fall).sum(1) / (t * t).sum()
    epsilon = exponent - 1
    k = (epsilon * 2**mu / (1 - float(size) ** -epsilon)) ** (1 / exponent)
    return k.nan_to_num(1.0, size, 1.0).round().clamp(1, size).long()
