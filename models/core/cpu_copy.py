"""CPU copy: what is known of a batch before the model has run, kept as NumPy arrays.

How a loss is cut into slices, and what a memory holds of each target, follows from token ids alone. To read
them from a GPU, the program would wait until the GPU has done all its work. So what moves a batch to a device keeps the
arrays it was made of (`moved`), and a backbone hands them on with its states (`CpuTokens`).

Shapes: B batch rows, T positions, M memory entries.
"""

from collections.abc import Callable, Hashable, Mapping
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Array = npt.NDArray[Any]

Made = TypeVar("Made")


CpuBatch = Mapping[str, tuple[Tensor, Array]]
"""By name, a tensor of a batch and the array it was copied from, which counts for no other tensor."""


def moved(batch: Mapping[str, Any], copied: Mapping[str, Any]) -> dict[str, Any]:
    """Return a batch that was copied to a device, with the arrays it was made of under `cpu`.

    Args:
        batch: the batch before; what of it was not on the CPU is not kept.
        copied: the batch after, with the same names.
    """
    kept = {}
    for name, value in batch.items():
        if isinstance(value, Tensor) and value.device.type == "cpu":
            kept[name] = (copied[name], value.numpy())
    return {**copied, "cpu": kept}


def kept_arrays(batch: Mapping[str, Any], *names: str) -> list[Array] | None:
    """Return the arrays of some tensors of a batch, or None where not all were kept or one is another tensor by now."""
    kept: CpuBatch = batch.get("cpu") or {}
    if any(name not in kept or kept[name][0] is not batch[name] for name in names):
        return None
    return [kept[name][1] for name in names]


class CpuTokens:
    """The tokens of a batch's `States` as arrays.

    Args:
        source: the targets on their device, which say whose arrays these are.
        targets: [B, T].
        memory_tokens: makes [B, M].
        readable: makes [B, T, M] bool.
    """

    def __init__(
        self, source: Tensor, targets: Array, memory_tokens: Callable[[], Array], readable: Callable[[], Array]
    ) -> None:
        self.source, self.targets = source, targets
        self._memory_tokens, self._readable = memory_tokens, readable
        self._made: dict[Hashable, Any] = {}

    @property
    def device(self) -> torch.device:
        """The device that the states are on."""
        return self.source.device

    @cached_property
    def memory_tokens(self) -> Array:
        """Token of each memory entry, [B, M]."""
        return self._memory_tokens()

    @cached_property
    def readable(self) -> Array:
        """Which entries each position may read, [B, T, M] bool."""
        return self._readable()

    def once(self, make: Callable[..., Made], *arguments: Hashable) -> Made:
        """Return what a function makes of these tokens and its arguments; it is called once for a batch."""
        call = (make, *arguments)
        if call not in self._made:
            self._made[call] = make(self, *arguments)
        made: Made = self._made[call]
        return made


def to_device(arrays: Mapping[str, Array], device: torch.device) -> dict[str, Tensor]:
    """Copy whole numbers to a device in one go, without waiting for it.

    Args:
        arrays: of any shapes.
        device: where to.

    Returns:
        Tensors of int64 with the names and shapes of the arrays; all are views of one tensor.
    """
    flat = torch.from_numpy(np.concatenate([np.zeros(0, np.int64), *(array.ravel() for array in arrays.values())]))
    if device.type == "cuda":
        flat = flat.pin_memory()
    flat = flat.to(device, non_blocking=True)
    views, start = {}, 0
    for name, array in arrays.items():
        views[name] = flat[start : start + array.size].view(array.shape)
        start += array.size
    return views
