"""Where on this machine a task's rows lay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.tasks.core.task import Task

__all__ = ["DataLocation", "absolute"]

PATH_OPTIONS = ("path", "file", "folder", "dir", "hub")
"""How the names of options end whose values may be paths."""


@dataclass(frozen=True)
class DataLocation:
    """Where on this machine a task's rows lay, so that later commands find them without options.

    Args:
        folder: what the task read, absolute.
        options: the task's options that say where data is and were given; paths are absolute.
    """

    folder: Path
    options: Mapping[str, Any]

    @staticmethod
    def of(task: Task) -> DataLocation | None:
        """Return where a loaded task has its rows from; None for built-in rows."""
        if task.source.folder is None:
            return None
        given = {name: task.given[name] for name in sorted(task.places) if task.given.get(name)}
        return DataLocation(task.source.folder.absolute(), {name: absolute(name, given[name]) for name in given})

    def as_dict(self) -> dict[str, Any]:
        """Return content for JSON; `from_dict` reads it."""
        return {"folder": str(self.folder), "options": dict(self.options)}

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> DataLocation:
        """Return the location that `as_dict` wrote.

        Raises:
            LookupError, TypeError, ValueError: the content is not that of a location.
        """
        return DataLocation(Path(content["folder"]), dict(content["options"]))


def absolute(name: str, value: Any) -> Any:
    """Return the value of an option, as an absolute path where the option names a path that exists."""
    if not (isinstance(value, str) and name.endswith(PATH_OPTIONS)):
        return value
    path = Path(value).expanduser()
    return str(path.absolute()) if path.exists() else value
