"""Mapped examples: the rows of a large split in one Arrow file of the cache, which all processes share.

As objects, millions of rows take several times the memory of their texts, in every process again. Here a row becomes an
`Example` when it is asked for. The file is named by the hash of its content, so processes that read the same rows map
the same file, and none is ever out of date.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, overload

from bench.base.files import abandoned, hash_of, signature
from bench.base.machine import cache_root
from bench.errors import DataError, StoreError
from bench.tasks.core.example import Example

MOST_IN_MEMORY = 1 << 24
"""Characters of a split that needs no file."""

CHUNK = 1 << 12  # rows of a batch
NO_FIELDS: dict[str, Any] = {}  # one for millions of rows


class MappedExamples(Sequence[Example]):
    """Rows of a file.

    Args:
        table: the columns `id`, `source`, `target` and `references` of the rows, as `held` writes them.
    """

    def __init__(self, table: Any) -> None:
        self.table = table

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, item: int) -> Example: ...

    @overload
    def __getitem__(self, item: slice) -> Sequence[Example]: ...

    def __getitem__(self, item: int | slice) -> Example | Sequence[Example]:
        if not isinstance(item, slice):
            row = range(len(self))[item]
            return _example(*(column[row].as_py() for column in self.table.columns))
        rows = range(*item.indices(len(self)))
        if rows.step != 1:
            return [self[row] for row in rows]
        return MappedExamples(self.table.slice(rows.start, len(rows)))

    def __iter__(self) -> Iterator[Example]:
        for batch in self.table.to_batches(max_chunksize=CHUNK):
            yield from map(_example, *(column.to_pylist() for column in batch.columns))


def _example(id: str, source: str, target: str, references: list[str]) -> Example:
    return Example(id, source, target, tuple(references), NO_FIELDS)


def held(examples: Iterable[Example]) -> Sequence[Example]:
    """Hold rows: in memory, or in a file of the cache where they are more than `MOST_IN_MEMORY`.

    Rows with fields of their own, such as tables, stay in memory.

    Args:
        examples: any number, made one after the other.

    Raises:
        StoreError: the cache cannot be written.
    """
    if isinstance(examples, MappedExamples):
        return examples
    rows, size = [], 0
    coming = iter(examples)
    for example in coming:
        rows.append(example)
        size += len(str(example.source)) + len(str(example.target))  # `bench check` names those that are no texts
        if size > MOST_IN_MEMORY and not any(row.fields for row in rows):
            return _mapped(chain(rows, coming))
    return rows


def _mapped(rows: Iterator[Example]) -> MappedExamples:
    """Put rows into a file."""
    import pyarrow

    folder = cache_root() / "examples"
    unfinished = folder / f".{signature()}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.glob(".*.tmp"):  # what processes have left that were killed
            if abandoned(path):
                with contextlib.suppress(OSError):  # another user's
                    path.unlink()
        _write(unfinished, rows)
        digest = hash_of(unfinished)
        path = folder / f"{digest[:32]}.arrow"
        if not path.is_file() or hash_of(path) != digest:  # else other processes map it, and it stays
            unfinished.replace(path)
        return MappedExamples(pyarrow.ipc.open_file(pyarrow.memory_map(str(path))).read_all())
    except OSError as error:
        raise StoreError(
            f"cannot keep rows in '{folder}' ({error.strerror or error}); free space there or choose another folder "
            f"with BENCH_CACHE"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _write(path: Path, rows: Iterator[Example]) -> None:
    """Write rows batch by batch.

    Raises:
        DataError: a row has fields, and those before it have none.
    """
    import pyarrow

    texts = pyarrow.string()
    kinds = {"id": texts, "source": texts, "target": texts, "references": pyarrow.list_(texts)}
    schema = pyarrow.schema(list(kinds.items()))
    with pyarrow.OSFile(str(path), "wb") as file, pyarrow.ipc.new_file(file, schema) as writer:
        while batch := list(islice(rows, CHUNK)):
            if with_fields := [row.id for row in batch if row.fields]:
                raise DataError(
                    f"row '{with_fields[0]:.80}' has fields and rows before it have none; give all rows some"
                )
            columns = [[getattr(row, name) for row in batch] for name in kinds]
            arrays = map(pyarrow.array, columns, schema.types)
            writer.write_batch(pyarrow.record_batch(list(arrays), schema))
