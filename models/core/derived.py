"""Derived: what is worked out of tensors once, and again when one of them has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from torch import Tensor

__all__ = ["Derived"]

T = TypeVar("T")


class Derived(Generic[T]):
    """A value made of tensors; whether they have changed is known on the CPU, so that nobody waits for a device.

    Args:
        make: makes it of the tensors.

    >>> import torch
    >>> number, tensor = Derived(float), torch.zeros(1)
    >>> number.of(tensor), number.of(tensor.fill_(2))
    (0.0, 2.0)
    """

    def __init__(self, make: Callable[..., T]) -> None:
        self.make = make
        self.known: tuple[tuple[Tensor, ...], list[int], T] | None = None

    def of(self, *tensors: Tensor) -> T:
        """Return the value."""
        versions = [version_of(tensor) for tensor in tensors]
        if self.known is not None:
            before, known_versions, value = self.known
            is_same = all(old is new for old, new in zip(before, tensors, strict=True))
            if is_same and versions == known_versions:
                return value
        value = self.make(*tensors)
        self.known = tensors, versions, value
        return value


def version_of(tensor: Tensor) -> int:
    """Return how often a tensor was changed in place; 0 for one of inference mode, which counts nothing."""
    if tensor.is_inference():
        return 0
    return int(tensor._version)
