"""Place: where on this machine a task's rows lay, so that they can be read again without being told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.tasks.core.task import Task

__all__ = ["Place"]

PATHS = ("path", "file", "folder", "dir", "hub")
"""How the names of options end whose values may be paths."""


@dataclass(frozen=True)
class Place:
    """Where rows lay.

    Args:
        folder: what the task read, absolute.
        options: of the task, those that say where data is and were given; paths are absolute.
    """

    folder: Path
    options: Mapping[str, Any]

    @staticmethod
    def of(task: Task) -> Place | None:
        """Return where a loaded task has its rows from; None for built-in ones."""
        if task.source.folder is None:
            return None
        given = {name: task.given[name] for name in sorted(task.places) if task.given.get(name)}
        return Place(task.source.folder.absolute(), {name: absolute(name, value) for name, value in given.items()})

    def as_dict(self) -> dict[str, Any]:
        """Return it as content for JSON; `from_dict` undoes it."""
        return {"folder": str(self.folder), "options": dict(self.options)}

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> Place:
        """Return the place of some content.

        Raises:
            LookupError, TypeError, ValueError: it is not that of a place.
        """
        return Place(Path(content["folder"]), dict(content["options"]))


def absolute(name: str, value: Any) -> Any:
    """Return the value of an option, as an absolute path where it is one of something that is there."""
    if not (isinstance(value, str) and name.endswith(PATHS)):
        return value
    path = Path(value).expanduser()
    if not path.exists():
        return value
    return str(path.absolute())
