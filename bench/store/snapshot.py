"""Snapshots: the records of a store as three Parquet tables in one folder, which is read and never changed.

snapshot.json        the version of the form, the SHA-256 of each table, and who has submitted it, if anybody has
scores.parquet       one row for each value: task, split, method, backbone, decoding, seed, metric, value, signature,
                     watermark, then the run it belongs to and the other fields of its record
statistics.parquet   sufficient statistics of the values: each row is a list of numbers, one for each example
runs.parquet         one row for each run: its record (configuration, curve, data, provenance) and its searches

The column `form` says how a value is computed from its statistics, and `statistics` in which rows of that table they
are. Every number comes back to the bit. Weights and predictions are not in a snapshot.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.base.keys import sha256
from bench.errors import StoreError, UsageError
from bench.store.files import DISK, Files, NewerSchema, check_schema

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from bench.store.sums_file import SumsFile

MANIFEST = "snapshot.json"
RUNS, SCORES, STATISTICS = "runs.parquet", "scores.parquet", "statistics.parquet"
TRAINED = "trained.json"
VALUE = {"name": "metric"} | {name: name for name in ("value", "unit", "higher_is_better", "n", "signature")}
"""Fields of a value in a record, and their columns."""
READ = ("run", "record", "author", *VALUE.values(), "form", "statistics", "evaluation", "provenance")
"""Columns of the scores that records are made of."""
WRONG = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""Errors of reading tables that are whole and not those of a snapshot."""

PART = re.compile(r"[^./\\][^/\\]*")
"""A part of a path that stays in its folder."""

Metrics = dict[str, tuple[str, list[int]]]
"""By metric, the form of its value and the rows of its statistics."""


class Snapshot(Files):
    """The records of a snapshot as files, under paths `<folder>/<task>/<method>/<key>/<name>`.

    Args:
        path: the folder.

    Raises:
        StoreError: it is damaged, or was written by a later version. Reading from it raises the same.
    """

    is_snapshot = True

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            manifest = json.loads((path / MANIFEST).read_bytes())
            check_schema(manifest["schema"])
            self._hashes: Mapping[str, str] = dict(manifest["sha256"])
            self.submitted_by = str(manifest.get("submitted_by", ""))
        except NewerSchema as error:
            raise StoreError(f"snapshot '{path}' cannot be read: {error}; {error.todo}") from error
        except (OSError, *WRONG) as error:
            raise self._damaged(MANIFEST, error) from error
        self._scores = {name: _listed(column) for name, column in zip(READ, self._table(SCORES, READ), strict=True)}
        self._records: dict[Path, dict[str, str | range]] = {}
        self._metrics: dict[str, Metrics] = {}
        runs, trained, searches = (column.to_pylist() for column in self._table(RUNS, ("run", "record", "searches")))
        try:
            for run, record, searched in zip(runs, trained, searches, strict=True):
                names = {search["name"]: search["record"] for search in searched}
                self._records[path / run] = {TRAINED: record, **names}
            self._find_scores()
            for folder, found in self._records.items():
                parts = (*folder.relative_to(path).parts, *found)
                if len(parts) != 3 + len(found) or not all(map(PART.fullmatch, parts)):
                    raise ValueError(f"expected TASK/METHOD/KEY and names of files, found {parts!r:.200}")
        except WRONG as error:
            raise self._damaged(RUNS, error) from error

    def cells(self, root: Path, tasks: Collection[str] | None = None) -> Iterator[Path]:
        """Yield the folders of its runs."""
        yield from (folder for folder in self.below(root) if tasks is None or folder.parts[-3] in tasks)

    def below(self, place: Path) -> list[Path]:
        """Return the folders of the runs below a path that begins with the snapshot's."""
        return sorted(folder for folder in self._records if folder.is_relative_to(place))

    def names(self, folder: Path, pattern: str) -> list[str]:
        """Return the names of a run's records; files of statistics are not listed."""
        return sorted(name for name in self._records.get(folder, ()) if fnmatchcase(name, pattern))

    def exists(self, path: Path) -> bool:
        """Return whether a record, or the statistics of a name, are in the snapshot."""
        return path.name in self._records.get(path.parent, ()) or path.name in self._metrics

    def record(self, path: Path) -> dict[str, Any] | None:
        """Return `content` and `provenance` of a record; None where it is not in the snapshot.

        Raises:
            StoreError: it is no record.
        """
        found, scores = self._records.get(path.parent, {}).get(path.name), self._scores
        if found is None:
            return None
        try:
            if isinstance(found, str):
                record = json.loads(found)
                return {"content": dict(record["content"]), "provenance": record["provenance"]}
            content = json.loads(scores["evaluation"][found[0]])
            columns = [(field, scores[column]) for field, column in VALUE.items()]
            for row in found:
                if scores["metric"][row] is not None:
                    part = "human" if scores["author"][row] == "human" else "values"
                    content[part].append({field: column[row] for field, column in columns})
            return {"content": content, "provenance": _parsed(scores["provenance"][found[0]])}
        except WRONG as error:
            raise self._damaged(path.relative_to(self.path).as_posix(), error) from error

    def sums_file(self, path: Path) -> SumsFile | None:
        """Return the statistics of a name; None where they are not in the snapshot.

        Reading the numbers raises StoreError where their table is damaged.
        """
        from bench.store.sums_file import SumsFile

        if path.name not in self._metrics:
            return None
        metrics = dict(sorted(self._metrics[path.name].items()))
        columns = {name: {**_parsed(form), "of": list(map(str, rows))} for name, (form, rows) in metrics.items()}
        places = {row for _, rows in metrics.values() for row in rows}
        return SumsFile(columns, lambda: {str(row): self._statistics[row] for row in sorted(places)}, path)

    def remedy(self, path: Path) -> str:
        """Return where a whole snapshot is."""
        return "get its folder again from where it came from, e.g. with git checkout"

    def check_writable(self) -> None:
        """Refuse.

        Raises:
            UsageError: always.
        """
        raise UsageError(
            f"'{self.path}' is a snapshot, which is only read and has no weights and no predictions; to make results, "
            f"name another folder with --results"
        )

    @cached_property
    def _statistics(self) -> list[NDArray[np.generic]]:
        """The lists of numbers, read when the first is wanted."""
        counts, numbers = (_arrays(column) for column in self._table(STATISTICS, ("counts", "numbers")))
        return [whole if len(whole) else others for whole, others in zip(counts, numbers, strict=True)]

    def _find_scores(self) -> None:
        """Find the rows of every scores record, and the metrics of every hash that has statistics."""
        scores, start = self._scores, 0
        runs, records = scores["run"], scores["record"]
        for row in range(1, len(runs) + 1):
            if row < len(runs) and (runs[row], records[row]) == (runs[start], records[start]):
                continue
            rows, start = range(start, row), row
            self._records[self.path / runs[rows[0]]][f"scores-{records[rows[0]]}.json"] = rows
            computed = [row for row in rows if scores["form"][row] is not None]
            forms = {scores["metric"][row]: (scores["form"][row], scores["statistics"][row]) for row in computed}
            if forms:
                self._metrics[f"items-{json.loads(scores['evaluation'][rows[0]])['items']}.safetensors"] = forms

    def _table(self, name: str, columns: Sequence[str]) -> list[pa.ChunkedArray]:
        """Read some columns of a table.

        Raises:
            StoreError: it is not the file that was written.
        """
        import pyarrow as pa
        from pyarrow import parquet

        try:
            content = (self.path / name).read_bytes()
            if sha256(content) != self._hashes[name]:
                raise ValueError("it does not have the hash that it was written with")
            table = parquet.ParquetFile(pa.BufferReader(content)).read(list(columns))  # read_table imports pandas
            return [table[column] for column in columns]
        except (OSError, ValueError, LookupError, pa.ArrowException) as error:
            raise self._damaged(name, error) from error

    def _damaged(self, name: str, error: Exception) -> StoreError:
        """Return an error that names the file, the reason and the remedy."""
        where = f"'{self.path / name}' of a snapshot"
        return StoreError(f"{where} cannot be read ({type(error).__name__}: {error}); {self.remedy(self.path)}")


def _listed(column: pa.ChunkedArray) -> list[Any]:
    """Return a column as a list in which equal texts are one object, since a few long texts repeat."""
    import pyarrow as pa

    if column.type != pa.string():
        return column.to_pylist()
    encoded = column.combine_chunks().dictionary_encode()
    texts = dict(enumerate(encoded.dictionary.to_pylist()))
    return list(map(texts.get, encoded.indices.to_pylist()))  # None has no text; `fill_null` imports a lot


@cache
def _parsed(text: str) -> Any:
    """Return the content of a JSON text; many rows share it, so nobody may change it."""
    return json.loads(text)


def is_snapshot(path: Path) -> bool:
    """Return whether a path names a snapshot."""
    return (path / MANIFEST).is_file()


def files_at(place: Path) -> Files:
    """Return the snapshot that a path is or lies in, else the files on disk.

    Raises:
        StoreError: the snapshot is damaged, or the path is a file.
    """
    if place.is_file():
        raise StoreError(f"'{place}' is a file; expected a results folder or a snapshot")
    for path in (place, *place.parents):
        if is_snapshot(path):
            return Snapshot(path)
    return DISK


def _arrays(column: pa.ChunkedArray) -> list[NDArray[np.generic]]:
    """Return the lists of a column as arrays, empty where there is none."""
    whole = column.combine_chunks()
    numbers, ends = whole.values.to_numpy(), whole.offsets.to_numpy()
    return [numbers[start:end] for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
