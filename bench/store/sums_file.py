"""Files of sufficient statistics: the numbers that the values of one scores file are computed from, in few bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.errors import DamagedError
from bench.metrics.sums import Form, Sums

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
        columns: by metric, the form of its value and, as `of`, the names of its lists.
        load: returns the lists of numbers by name, one number for each example; called when they are first needed.
        path: of the file.
    """

    def __init__(self, columns: Mapping[str, Any], load: Callable[[], Mapping[str, NDArray[Any]]], path: Path) -> None:
        self.columns, self.path, self._load = columns, path, load

    @classmethod
    def parsed(cls, content: bytes, path: Path) -> SumsFile:
        """Return the content of a file that `packed_sums` made.

        Raises:
            DamagedError: it is no such file.
        """
        from safetensors.numpy import load

        start = int.from_bytes(content[:8], "little")
        try:
            columns = _parsed(json.loads(content[8 : 8 + start])["__metadata__"]["columns"])
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise _damaged(path, error) from error
        return cls(columns, lambda: load(content), path)

    @cached_property
    def tensors(self) -> Mapping[str, NDArray[Any]]:
        """The lists of numbers.

        Raises:
            DamagedError: they cannot be read.
        """
        from safetensors import SafetensorError

        try:
            tensors = self._load()
        except (SafetensorError, ValueError) as error:
            raise _damaged(self.path, error) from error
        del self._load  # and with it the bytes of the file
        return tensors

    def column(self, name: str) -> Sums:
        """Return the statistics of one of its metrics.

        Raises:
            DamagedError: they are damaged.
        """
        about = self.columns[name]
        try:
            form = Form(about["kind"], about["scale"], tuple(about["weights"]), about["smoothing"])
            return Sums(form, np.stack([self.tensors[place] for place in about["of"]], axis=1, dtype=np.float64))
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged(self.path, error) from error


@lru_cache(maxsize=256)
def _parsed(columns: str) -> dict[str, Any]:
    """Return the columns; the files of a metric family have the same, so they are held once."""
    parsed: dict[str, Any] = json.loads(columns)
    return parsed


def _damaged(path: Path, error: Exception) -> DamagedError:
    return DamagedError(path, f"{error!s:.100}", "remove it, then bench score makes it again")


def _narrow(values: NDArray[np.float64]) -> NDArray[Any]:
    """Return values in the smallest type that holds every one exactly."""
    if (values % 1 == 0).all() and (np.abs(values) < EXACT).all():
        for kind in WHOLE:
            if values.min() >= np.iinfo(kind).min and values.max() <= np.iinfo(kind).max:
                return np.ascontiguousarray(values.astype(kind))
    return np.ascontiguousarray(values)
