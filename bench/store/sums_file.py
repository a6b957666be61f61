"""A file of sums: what the columns of one scores file are made of, whole numbers in as few bytes as hold them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.errors import StoreError
from bench.metrics.sums import Form, Sums
from bench.store.sums_header import columns_in

__all__ = ["SumsFile", "packed_sums", "unpacked_sums"]

WHOLE = (np.uint8, np.uint16, np.uint32, np.int64)
EXACT = 2.0**53
"""From here on a float64 is not the only one for its whole number."""


def packed_sums(sums: Mapping[str, Sums]) -> bytes:
    """Return a safetensors file: each statistic once, and which of them a column has in what form.

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
    """The columns of a file that `packed_sums` made, held in as few bytes as there.

    Args:
        content: of the file.
        where: named in messages.

    Raises:
        StoreError: it is damaged.
    """

    def __init__(self, content: bytes, where: str) -> None:
        from safetensors import SafetensorError
        from safetensors.numpy import load

        self.where = where
        try:
            self.tensors = load(content)
            self.columns = columns_in(content)
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise self._damaged(error) from error

    @property
    def nbytes(self) -> int:
        """Bytes of what it holds."""
        return sum(tensor.nbytes for tensor in self.tensors.values())

    def column(self, name: str) -> Sums | None:
        """Return the sums of a column; None where the file does not have it.

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
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> StoreError:
        return StoreError(f"{self.where}: is damaged ({error!s:.100}); delete it and bench score makes it again")


def unpacked_sums(content: bytes, where: str) -> dict[str, Sums]:
    """Return the sums of each column.

    Args:
        content: of a file that `packed_sums` made.
        where: named in the message.

    Raises:
        StoreError: it is damaged.
    """
    file, found = SumsFile(content, where), {}
    for name in file.columns:
        sums = file.column(name)
        assert sums is not None
        found[name] = sums
    return found


def _narrow(values: NDArray[np.float64]) -> NDArray[Any]:
    """Return values in the smallest type that holds every one exactly."""
    if (values % 1 == 0).all() and (np.abs(values) < EXACT).all():
        for kind in WHOLE:
            if values.min() >= np.iinfo(kind).min and values.max() <= np.iinfo(kind).max:
                return np.ascontiguousarray(values.astype(kind))
    return np.ascontiguousarray(values)
