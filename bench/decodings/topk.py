"""Top-k sampling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from bench.decodings.core.sampler import Sampler
from bench.decodings.core.settings import whole

if TYPE_CHECKING:
    from torch import Tensor

    from bench.decodings.core.top_tokens import TopTokens

__all__ = ["TopK"]


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

    def draw(self, scores: Tensor, uniform: Tensor, state: dict[str, Tensor]) -> Tensor:
        """The same as the base's, faster."""
        return self.top_tokens().draw(scores, uniform)

    def top_tokens(self) -> TopTokens:
        """Return the cut in its fast form."""
        from bench.decodings.core.top_tokens import TopTokens

        return TopTokens(self.kept, k=self.k)

    def class_cut(self) -> Mapping[str, Any]:
        """The k most probable tokens of each class."""
        return {"k": self.k}
