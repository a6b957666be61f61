"""Contrastive search: a probable token whose state is unlike those of all tokens before it.

The library's own has moved to code that is downloaded; this loop is ours.

Shapes: B rows, k candidates, T tokens before them, D width of a state.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bench.decodings.core.decoding import Decoding, Texts
from bench.decodings.core.settings import number, whole

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["ContrastiveSearch"]


@dataclass(frozen=True, kw_only=True)
class ContrastiveSearch(Decoding):
    """Of the k most probable tokens v the one with the largest (1 - alpha) p(v) - alpha max_j cos(h_v, h_j).

    h_v is the state of the model after it has read v, and j goes over all tokens before: those of the prompt and of the
    text on decoder-only models; the start token and those of the text, not the source, on encoder-decoders. Equal
    scores go to the more probable token. k = 1 and alpha = 0 are greedy search.

    Source: Su et al. 2022, eq. 5; they use k of 5 to 8 and alpha 0.6.

    Args:
        k: how many tokens are tried; each costs a forward pass.
        alpha: weight of the degeneration penalty.
    """

    name: ClassVar[str] = "contrastive_search"
    paper: ClassVar[str] = "Su et al. 2022"
    looks_ahead: ClassVar[bool] = True

    k: int = whole(least=1, value=True, example="contrastive_search=5")
    alpha: float = number(0.6, least=0, most=1)

    @property
    def own_loop(self) -> bool:
        """Whether a token is taken depends on the state behind it, which the library's searches do not ask for."""
        return True

    def write(self, texts: Texts, limit: int) -> list[list[int]]:
        """Try k tokens at each step and go on with one."""
        rows = len(texts.ids)
        for _ in range(limit):
            if texts.finished:
                break
            log_probs = texts.log_probs()
            k = min(self.k, log_probs.shape[1])
            candidates = log_probs.topk(k)  # [B, k], the most probable first
            before, real = texts.states, texts.real  # [B, T, D], [B, T]
            texts.repeat(k)
            texts.append(candidates.indices.flatten())
            tried = texts.states[:, -1].unflatten(0, (rows, k))  # [B, k, D]
            likeness = largest_cosine(tried, before, real)
            scores = (1 - self.alpha) * candidates.values.exp() - self.alpha * likeness
            best = scores.argmax(1).tolist()
            texts.keep([row * k + place for row, place in enumerate(best)])
        new: list[list[int]] = texts.ids[:, texts.start :].tolist()
        return new


def largest_cosine(tried: Tensor, before: Tensor, real: Tensor) -> Tensor:
    """Return the largest cosine of each candidate's state with those before it, [B, k].

    Args:
        tried: [B, k, D].
        before: [B, T, D].
        real: [B, T] bool: the others do not count.
    """
    if tried.element_size() < 4:
        tried, before = tried.float(), before.float()
    tried = tried / tried.norm(dim=-1, keepdim=True).clamp(min=1e-12)
    before = before / before.norm(dim=-1, keepdim=True).clamp(min=1e-12)
    cosines = tried @ before.transpose(1, 2)  # [B, k, T]
    return cosines.masked_fill(~real[:, None], -math.inf).amax(2)
