"""Operations: how many kernels a piece of work starts, and how often it would wait for the device.

Counted on the CPU, as torch dispatches them. A GPU works behind the program; a question whose answer the program needs,
such as how many entries of a mask are true, makes it wait until everything before has run.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

WAITS = {
    "_local_scalar_dense", "nonzero", "masked_select", "bincount", "equal", "is_nonzero", "_unique2", "unique_dim",
    "unique_consecutive", "unique_dim_consecutive", "histc",
}  # fmt: skip
"""Operations whose result, or its shape, is not known before the device has run them."""

VIEWS = {
    "_unsafe_view", "alias", "as_strided", "detach", "diagonal", "expand", "permute", "promote_types", "select",
    "slice", "split", "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unsqueeze", "view", "lift_fresh",
}  # fmt: skip
"""Operations that start no kernel."""

READS = ("tolist", "item", "numpy", "cpu", "__bool__", "__int__", "__float__", "__index__", "__array__")
"""Methods of a tensor that hand its values to the program."""


class Operations(TorchDispatchMode):
    """Counts what is dispatched while it is active, views left out.

    Attributes:
        kernels: number of each operation.
        waits: number of each kind of question that makes the program wait.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kernels: Counter[str] = Counter()
        self.waits: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if name not in VIEWS:
            self.kernels[name] += 1
        if name in WAITS or asks_for_a_length(name, args, kwargs or {}):
            self.waits[name] += 1
        return func(*args, **(kwargs or {}))


def asks_for_a_length(name: str, args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether the shape of what comes out hangs on the values that go in."""
    if name == "repeat_interleave":
        return kwargs.get("output_size") is None
    if name in ("index", "index_put", "index_put_"):
        return any(isinstance(index, Tensor) and index.dtype == torch.bool for index in args[1])
    return False


@contextmanager
def counted() -> Iterator[Operations]:
    """Count operations, and values that are read from tensors, in a block."""
    operations = Operations()

    def reading(name: str) -> Any:
        original = getattr(Tensor, name)

        def read(self: Tensor, *args: Any, **kwargs: Any) -> Any:
            operations.waits[name] += 1
            return original(self, *args, **kwargs)

        return read

    with mock.patch.multiple(Tensor, **{name: reading(name) for name in READS}), operations:
        yield operations
