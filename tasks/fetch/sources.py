"""Where a task's rows come from: a data folder, the cache, the hub, or the built-in sample, in this order."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.base.network import hub_reachable
from bench.errors import MissingError

if TYPE_CHECKING:
    from bench.tasks.core.task import Task

__all__ = ["DataLocation", "HubRows", "Source", "absolute", "cache_folder", "is_commit", "resolve", "unpinned"]

PATH_OPTIONS = ("path", "file", "folder", "dir", "hub")
"""How the names of options end whose values may be paths."""


@dataclass(frozen=True)
class Source:
    """A folder with the publisher's files, or None for the built-in sample; `why` is printed and recorded."""

    folder: Path | None
    why: str


def cache_folder() -> Path:
    """Return the folder in which prepared data is kept."""
    return Path(os.environ.get("BENCH_CACHE", Path.home() / ".cache" / "objective-bench"))


def resolve(
    task: str,
    data_dir: Path | None = None,
    fetch: Callable[[Path], str] | None = None,
    folders: Sequence[str] = (),
) -> Source:
    """Find a task's folder.

    The order is `--data-dir`, `BENCH_DATA`, the cache, the hub, the built-in sample. A folder that was named and does
    not exist is an error, never a silent fall back to the sample.

    Args:
        task: the task's name; its folder lies below the given ones.
        data_dir: the value of `--data-dir`.
        fetch: downloads the task's files from the hub into a folder of the cache.
        folders: other names that the task's folder may have below the given ones.

    Raises:
        MissingError: `data_dir` or `BENCH_DATA` is given and does not exist.
    """
    for label, place in (("--data-dir", data_dir), ("BENCH_DATA", os.environ.get("BENCH_DATA"))):
        if place is None or place == "":
            continue
        root = Path(place).expanduser()
        if not root.is_dir():
            raise MissingError(f"{label} names '{root}', which is no folder; it should hold '{task}/' with its files")
        for name in (task, *folders):
            if (root / name).is_dir():
                return Source(root / name, f"{label}: {root / name}")
    cached = cache_folder() / task
    if cached.is_dir():
        return Source(cached, f"cache: {cached}{_hub_copy(task, cached)}")
    where = f"no folder '{task}' below --data-dir, BENCH_DATA or {cache_folder()}"
    if fetch is None:
        return Source(None, f"built-in sample ({where})")
    if not hub_reachable():
        return Source(None, f"built-in sample ({where}, and the hub is not reachable)")
    try:
        return Source(cached, fetch(cached))
    except (MissingError, OSError) as error:
        return Source(None, f"built-in sample ({where}, and the hub's copy cannot be used: {error})")


def _hub_copy(task: str, folder: Path) -> str:
    """Return which copy of the hub a folder of the cache is, for people; nothing for files that a person put there."""
    from bench.tasks.fetch.hub_copies import HUB

    copied = HUB[task].described(folder) if task in HUB else ""
    return f" (hub: {copied})" if copied else ""


@dataclass(frozen=True)
class HubRows:
    """Which data set of the hub rows are a copy of.

    Args:
        repository: `owner/name`.
        revision: as it was asked for: a commit, or a branch or tag; empty for the newest commit.
        commit: the commit that the rows are of.
    """

    repository: str
    revision: str
    commit: str

    @property
    def is_pinned(self) -> bool:
        """Whether the same revision means the same rows for ever."""
        return is_commit(self.revision)

    def as_dict(self) -> dict[str, str]:
        """Return plain content for a record."""
        return asdict(self)


def is_commit(revision: str) -> bool:
    """Return whether a revision is a whole commit, not a branch, a tag or nothing.

    >>> is_commit("0" * 40), is_commit("refs/convert/parquet"), is_commit("")
    (True, False, False)
    """
    return bool(re.fullmatch(r"[0-9a-f]{40}", revision))


def unpinned(revision: str) -> str:
    """Return ` (unpinned)` for a revision that may be another commit tomorrow, and nothing for a commit."""
    return "" if is_commit(revision) else " (unpinned)"


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
