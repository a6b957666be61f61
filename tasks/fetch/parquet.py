"""Parquet: the text columns of a downloaded file as rows, read by `pyarrow` a batch at a time.

A row group of the file is held whole; those of the hub have about a thousand rows. What decides the rows of
a task, which column is text and what it is called, stays by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.errors import BenchError, DataError
from bench.tasks.fetch.library import said

__all__ = ["BATCH", "rows_of"]

BATCH = 512
"""Rows that are Python objects at a time; a news article is some kilobytes."""


def rows_of(path: Path, columns: Mapping[str, str], where: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a parquet file under our field names.

    Args:
        path: the file.
        columns: our field -> their column. Dots lead into records on both sides; `[]` at the end of theirs says that
            it holds a list of texts, otherwise it holds a text.
        where: what messages call the file.

    Raises:
        DataError: it is no parquet file, is damaged, lacks a column, or a column holds something else.
    """
    wanted = {field: column.removesuffix("[]") for field, column in columns.items()}
    tops = list(dict.fromkeys(column.partition(".")[0] for column in wanted.values()))
    try:
        for batch in _batches(path, columns, tops, where):
            for row in batch.to_pylist():
                yield _renamed(row, wanted)
    except BenchError:
        raise
    except Exception as error:  # a damaged file can make its reader raise anything
        raise DataError(
            f"{where}: cannot be read as parquet ({said(error)}); remove '{path}' to get it again"
        ) from error


def _batches(path: Path, columns: Mapping[str, str], tops: Sequence[str], where: str) -> Iterator[Any]:
    """Yield Arrow batches of at most `BATCH` rows, with the columns that are wanted.

    One thread reads, in small steps: several read ahead of a caller that takes its time, eight row groups and more.
    """
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path, buffer_size=1 << 16, pre_buffer=False) as opened:
        for column in columns.values():
            _check(opened.schema_arrow, column, where)
        yield from opened.iter_batches(batch_size=BATCH, columns=list(tops), use_threads=False)


def _check(schema: Any, column: str, where: str) -> None:
    """Refuse a schema whose column is not there or does not hold text."""
    from pyarrow import types

    kind = schema
    for depth, name in enumerate(column.removesuffix("[]").split(".")):
        if depth and not types.is_struct(kind):
            raise DataError(f"{where}: expected the column '{column}', found {kind} where '{name}' should be")
        names = schema.names
        if depth:
            names = [kind.field(at).name for at in range(kind.num_fields)]
        if name not in names:
            raise DataError(f"{where}: no column '{column}'; there is {', '.join(names) or 'nothing'}")
        kind = kind.field(name).type
    if not column.endswith("[]"):
        if not _is_text(kind):
            raise DataError(f"{where}: column '{column}' holds {kind}, expected text")
    elif not (types.is_list(kind) or types.is_large_list(kind)) or not _is_text(kind.value_type):
        raise DataError(f"{where}: column '{column}' holds {kind}, expected a list of texts")


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    return types.is_string(kind) or types.is_large_string(kind)


def _renamed(row: Mapping[str, Any], wanted: Mapping[str, str]) -> dict[str, Any]:
    """Move values to our fields; a record that is not there leaves null.

    >>> _renamed({"in": {"head": ["a"]}, "out": "b"}, {"input.head": "in.head", "target": "out"})
    {'input': {'head': ['a']}, 'target': 'b'}
    """
    made: dict[str, Any] = {}
    for field, column in wanted.items():
        value: Any = row
        for name in column.split("."):
            if value is not None:
                value = value[name]
        *records, last = field.split(".")
        target = made
        for name in records:
            target = target.setdefault(name, {})
        target[last] = value
    return made
