"""Mirostat: sampling with feedback, so that the surprise of what is written stays at a target.

Shapes: B rows, V vocabulary, m tokens that the exponent is estimated from. Surprise is in bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bench.decodings.core.sampler import Sampler
from bench.decodings.core.settings import number, whole

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Mirostat"]

ESTIMATED = 100
"""Most probable tokens from which version 1 estimates the exponent of Zipf's law."""


@dataclass(frozen=True, kw_only=True)
class Mirostat(Sampler):
    """Draw from a cut that is moved after each token by how far its surprise was from the target.

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
            kept = most_probable(log_probs, zipf_size(log_probs, mu))
        else:
            kept = (-log_probs / math.log(2) <= mu[:, None]) | (log_probs >= log_probs.amax(1, keepdim=True))
        cut = log_probs.masked_fill(~kept, -math.inf)
        tokens = inverse_cdf(cut, uniform)
        if self.version == 2:
            log_probs = cut.log_softmax(1)
        surprise = -log_probs.gather(1, tokens[:, None]).squeeze(1) / math.log(2)
        state["mu"] = mu - self.rate * (surprise - self.tau)
        return tokens


def zipf_size(log_probs: Tensor, mu: Tensor) -> Tensor:
    """Return how many tokens have a surprise of at most mu if probabilities follow Zipf's law, [B].

    Args:
        log_probs: [B, V] natural log-probabilities; its most probable tokens give the exponent.
        mu: [B] bits.
    """
    size = log_probs.shape[1]
    top = log_probs.topk(min(ESTIMATED, size)).values  # [B, m]
    ranks = top.new_ones(top.shape[1]).cumsum(0)
    t = (ranks[1:] / ranks[:-1]).log()  # log((i + 1) / i)
    fall = (top[:, :-1] - top[:, 1:]).nan_to_num(0.0, 0.0, 0.0)  # log(p_i / p_(i+1))
    exponent = (t * fall).sum(1) / (t * t).sum()
    epsilon = exponent - 1
    k = (epsilon * 2**mu / (1 - float(size) ** -epsilon)) ** (1 / exponent)
    return k.nan_to_num(1.0, size, 1.0).round().clamp(1, size).long()


def most_probable(log_probs: Tensor, count: Tensor) -> Tensor:
    """Return which tokens are among the first `count` [B] of their row, ties to the lower id, [B, V] bool."""
    order = log_probs.argsort(dim=1, descending=True, stable=True)
    place = order.argsort(1)
    return place < count[:, None]
