"""Where the data of a store's runs was on this machine, so that later commands find it without options.

`<results>/.places/<hash of the rows>.json` is no record, is in no key, and is neither exported nor joined. Rows
that are read there are compared with their hash.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.base.files import write_atomic
from bench.errors import StoreError
from bench.tasks.core.task import Task

__all__ = ["PLACES", "DataLocation", "absolute", "remember", "remembered"]

PLACES = ".places"
PATH_OPTIONS = ("path", "file", "folder", "dir", "hub")
"""Endings of the names of options whose values may be paths."""


@dataclass(frozen=True)
class DataLocation:
    """The place that a task's rows were read from.

    Args:
        folder: absolute path of the data.
        options: the options of the task that named a place of data; paths are absolute.
    """

    folder: Path
    options: Mapping[str, Any]


def remember(root: Path, rows: str, task: Task) -> None:
    """Store where the rows of a split were read, in place of an earlier entry.

    Nothing happens for built-in rows, and in a store that cannot be written.

    Args:
        root: of the store.
        rows: SHA-256 of the split, as its manifest has it.
        task: loaded.
    """
    if task.source.folder is None:
        return
    given = {name: absolute(name, task.given[name]) for name in sorted(task.places) if task.given.get(name)}
    content = {"folder": str(task.source.folder.absolute()), "options": given}
    with suppress(StoreError):
        text = json.dumps(content, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")
        write_atomic(_file(root, rows), text, replace=True, synced=False)


def remembered(root: Path, rows: str) -> DataLocation | None:
    """Return where the rows of a split, named by their SHA-256, were read last; None where that is not known."""
    with suppress(OSError, ValueError, LookupError, TypeError):
        content = json.loads(_file(root, rows).read_bytes())
        return DataLocation(Path(content["folder"]), dict(content["options"]))
    return None


def absolute(name: str, value: Any) -> Any:
    """Return the value of an option, as an absolute path where the option names a path that exists."""
    if not (isinstance(value, str) and name.endswith(PATH_OPTIONS)):
        return value
    path = Path(value).expanduser()
    return str(path.absolute()) if path.exists() else value


def _file(root: Path, rows: str) -> Path:
    return root / PLACES / f"{rows[:32]}.json"
