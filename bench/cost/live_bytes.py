"""Live bytes: how much memory the tensors of a computation hold, and at most held, counted storage by storage."""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

__all__ = ["AsOnGPU", "LiveBytes"]


class LiveBytes(TorchDispatchMode):
    """Counts the bytes of every storage that is made inside and has not been freed.

    Args:
        fake: the mode whose blank tensors are computed with; tensors of numbers among them are taken as blank ones.

    Attributes:
        live: bytes held now.
        peak: most bytes held since `reset_peak`.
    """

    def __init__(self, fake: FakeTensorMode | None = None) -> None:
        super().__init__()
        self.fake = fake
        self.live = self.peak = 0
        self._watched: dict[int, weakref.ref[torch.UntypedStorage]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.fake is not None:
            args, kwargs = tree_map_only(Tensor, self._blank, (args, kwargs))
        made = func(*args, **kwargs)
        tree_map_only(Tensor, self._watch, made)
        return made

    def reset_peak(self) -> None:
        """Begin a new peak at what is held now."""
        self.peak = self.live

    def _blank(self, tensor: Tensor) -> Tensor:
        """Return a blank tensor for one that holds numbers."""
        if isinstance(tensor, FakeTensor):
            return tensor
        assert self.fake is not None
        with self.fake:
            return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)

    def _watch(self, tensor: Tensor) -> Tensor:
        """Count the storage of a tensor until it is freed."""
        storage = tensor.untyped_storage()
        number = storage._cdata
        if number in self._watched and self._watched[number]() is storage:
            return tensor
        size = storage.nbytes()
        self._watched[number] = weakref.ref(storage, partial(self._freed, number, size))
        self.live += size
        self.peak = max(self.peak, self.live)
        return tensor

    def _freed(self, number: int, size: int, reference: Any) -> None:
        """Count a storage no more."""
        self.live -= size
        if self._watched.get(number) is reference:
            del self._watched[number]


class AsOnGPU(TorchFunctionMode):
    """Computes on a CPU with the memory of a GPU's kernels, which torch chooses by device.

    Dropout keeps a mask of one byte an element, and attention with dropout keeps no [T, T] matrix.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.nn.functional.scaled_dot_product_attention:
            kwargs["dropout_p"] = 0.0
        elif func is torch.nn.functional.dropout:
            return _dropout(*args, **kwargs)
        return func(*args, **kwargs)


def _dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout as a GPU computes it."""
    if not training or not p:
        return input
    kept: Tensor = torch.native_dropout(input, p, True)[0]
    return kept
