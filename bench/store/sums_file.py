"""Files of sufficient statistics: the numbers that the values of one scores file are computed from, in few bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.errors import StoreError
from bench.metrics.sums import Form, Sums
from bench.store.fields import columns_in

WHOLE = (np.uint8, np.uint16, np.uint32, np.int64)
EXACT = 2.0**53
"""From here on a float64 is not the only one for its whole number."""


def packed_sums(sums: Mapping[str, Sums]) -> bytes:
    """Return a safetensors file: each statistic once, and for each column the names of its statistics and its form.

    Columns that share statistics (the n-gram matches of BLEU-1, -2 and -3, a count of one a row) share their bytes.
    """
    from safetensors.numpy import save

    held: dict[bytes, str] = {}
    tensors: dict[str, NDArray[Any]] = {}
    columns = {}
    for name, of_column in sorted(sums.items()):
        places = []
        for values in of_column.values.T:
            narrow = _narrow(values)
            content = str(narrow.dtype).encode() + narrow.tobytes()
            if content not in held:
                held[content] = f"{len(held):03}"
                tensors[held[content]] = narrow
            places.append(held[content])
        form = of_column.form
        columns[name] = {
            "kind": form.kind,
            "scale": form.scale,
            "weights": list(form.weights),
            "smoothing": form.smoothing,
            "of": places,
        }
    return save(tensors, metadata={"columns": json.dumps(columns, sort_keys=True)})


class SumsFile:
    """The sufficient statistics of some metrics over the same examples, held in as few bytes as in their file.

    Args:
        tensors: lists of numbers by name, one number for each example.
        columns: by metric, the form of its value and, as `of`, the names of its lists.
        where: names the file in messages.
    """

    def __init__(self, tensors: Mapping[str, NDArray[Any]], columns: Mapping[str, Any], where: str) -> None:
        self.tensors, self.columns, self.where = tensors, columns, where

    @classmethod
    def parsed(cls, content: bytes, where: str) -> SumsFile:
        """Return the content of a file that `packed_sums` made.

        Raises:
            StoreError: it is damaged.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load

        try:
            return cls(load(content), columns_in(content), where)
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise _damaged(where, error) from error

    @property
    def nbytes(self) -> int:
        """Bytes of the lists."""
        return sum(tensor.nbytes for tensor in self.tensors.values())

    def column(self, name: str) -> Sums | None:
        """Return the statistics of a metric; None where the file does not have it.

        Raises:
            StoreError: they are damaged.
        """
        if name not in self.columns:
            return None
        about = self.columns[name]
        try:
            form = Form(about["kind"], about["scale"], tuple(about["weights"]), about["smoothing"])
            return Sums(form, np.stack([self.tensors[place] for place in about["of"]], axis=1, dtype=np.float64))
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged(self.where, error) from error

    def all_columns(self) -> dict[str, Sums]:
        """Return the statistics of every metric.

        Raises:
            StoreError: they are damaged.
        """
        found = {name: self.column(name) for name in self.columns}
        return {name: sums for name, sums in found.items() if sums is not None}


def _damaged(where: str, error: Exception) -> StoreError:
    return StoreError(f"{where}: is damaged ({error!s:.100}); delete it and bench score makes it again")


def _narrow(values: NDArray[np.float64]) -> NDArray[Any]:
    """Return values in the smallest type that holds every one exactly."""
    if (values % 1 == 0).all() and (np.abs(values) < EXACT).all():
        for kind in WHOLE:
            if values.min() >= np.iinfo(kind).min and values.max() <= np.iinfo(kind).max:
                return np.ascontiguousarray(values.astype(kind))
    return np.ascontiguousarray(values)
