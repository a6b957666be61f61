"""Parameters: how many an objective has, counted without memory for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import nn

__all__ = ["Parameters", "count"]


@dataclass(frozen=True)
class Parameters:
    """The parameters of an objective.

    Args:
        trained: that the optimiser changes.
        frozen: that it does not.
        largest: trained parameters of the largest tensor.
        item_bytes: bytes of each.
    """

    trained: int
    frozen: int = 0
    largest: int = 0
    item_bytes: int = 4

    @property
    def total(self) -> int:
        """All of them."""
        return self.trained + self.frozen

    def with_frozen(self, more: int) -> Parameters:
        """Return these with so many more frozen ones, of a second model."""
        return Parameters(self.trained, self.frozen + more, self.largest, self.item_bytes)

    @staticmethod
    def of(content: Mapping[str, int]) -> Parameters:
        """Return parameters from plain content."""
        return Parameters(**content)


def count(module: nn.Module) -> Parameters:
    """Count the parameters of a module, each shared one once."""
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    every = list(module.parameters())
    return Parameters(
        trained=sum(parameter.numel() for parameter in trained),
        frozen=sum(parameter.numel() for parameter in every if not parameter.requires_grad),
        largest=max((parameter.numel() for parameter in trained), default=0),
        item_bytes=max((parameter.itemsize for parameter in every), default=4),
    )
