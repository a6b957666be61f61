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

__all__ = ["packed_sums", "unpacked_sums"]

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


def unpacked_sums(content: bytes, where: str) -> dict[str, Sums]:
    """Return the sums of each column.

    Args:
        content: of a file that `packed_sums` made.
        where: named in the message.

    Raises:
        StoreError: it is damaged.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors = load(content)
        sums = {}
        for name, about in columns_in(content).items():
            form = Form(about["kind"], about["scale"], tuple(about["weights"]), about["smoothing"])
            values = [tensors[place].astype(np.float64) for place in about["of"]]
            sums[name] = Sums(form, np.stack(values, axis=1))
        return sums
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{where}: is damaged ({error!s:.100}); delete it and bench score makes it again") from error


def _narrow(values: NDArray[np.float64]) -> NDArray[Any]:
    """Return values in the smallest type that holds every one exactly."""
    if (values % 1 == 0).all() and (np.abs(values) < EXACT).all():
        for kind in WHOLE:
            if values.min() >= np.iinfo(kind).min and values.max() <= np.iinfo(kind).max:
                return np.ascontiguousarray(values.astype(kind))
    return np.ascontiguousarray(values)
