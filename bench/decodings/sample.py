"""Sampling from the whole distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bench.decodings.core.sampler import Sampler
from bench.errors import UsageError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Sample"]


@dataclass(frozen=True, kw_only=True)
class Sample(Sampler):
    """Draw from the whole distribution; nothing is cut."""

    name: ClassVar[str] = "sample"

    def check(self) -> None:
        """Refuse a cut within classes where nothing is cut."""
        if self.distribution == "decoupled":
            raise UsageError("decoupled decoding is not for sample: without a cut it is posterior:sample")

    def class_cut(self) -> dict[str, float]:
        """Nothing is cut within a class either; `check` says what to type."""
        return {}

    def kept(self, scores: Tensor) -> Tensor:
        """Every token, [B, V]."""
        return scores.isfinite()
