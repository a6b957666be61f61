"""Saved data sets: the folders that `datasets` writes with `save_to_disk`, and the rows of one of their splits."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.errors import DataError, UsageError
from bench.tasks.fetch.library import library, message_of

__all__ = ["choices", "is_saved", "is_split", "saved_rows"]

BATCH = 512  # rows that are Python objects at a time


def is_saved(folder: Path) -> bool:
    """Return whether a folder is a saved data set: a dictionary of splits, or a single split."""
    return (folder / "dataset_dict.json").is_file() or is_split(folder)


def is_split(folder: Path) -> bool:
    """Return whether a folder is one split of a saved data set."""
    return (folder / "state.json").is_file()


def saved_rows(
    folder: Path, columns: Mapping[str, str], options: Mapping[str, str] | None = None
) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of one split, with the wanted columns only: others may be pictures, which nobody should decode.

    Args:
        folder: of the split.
        columns: our name -> the column.
        options: the user option that names a column, by our names, for messages.

    Raises:
        UsageError: there is no such column; lists those there are.
        DataError: the files are damaged.
    """
    try:
        with library() as datasets:
            opened = datasets.load_from_disk(str(folder))
        _check_columns(folder, opened.column_names, columns, options or {})
        wanted = opened.select_columns(list(dict.fromkeys(columns.values())))
        for batch in wanted.with_format("arrow").iter(batch_size=BATCH):
            yield from batch.to_pylist()
    except UsageError:
        raise
    except Exception as error:  # a damaged file can make its reader raise anything
        raise DataError(f"{folder}: cannot be read as a saved data set ({message_of(error)}); save it again") from error


def _check_columns(folder: Path, there: Sequence[str], columns: Mapping[str, str], options: Mapping[str, str]) -> None:
    for name, column in columns.items():
        if column not in there:
            option = options.get(name, "the column")
            raise UsageError(f"{option}: {folder} has no column '{column}'; {choices(column, there)}")


def choices(name: str, there: Sequence[str]) -> str:
    """Say what there is in place of a name that is not there, with the nearest one.

    >>> choices("summry", ["document", "summary"])
    "did you mean 'summary'? There are: document, summary"
    >>> choices("x", [])
    'there are none'
    """
    if not there:
        return "there are none"
    listed = f"here are: {', '.join(there)}"
    near = difflib.get_close_matches(name, there, n=1)
    if near:
        return f"did you mean '{near[0]}'? T{listed}"
    return f"t{listed}"
