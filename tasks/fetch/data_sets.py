"""Data sets: what a task is given as `task.hub`, a data set of the hub or a folder, and where its rows are then.

A data set of the hub is kept in the cache by its commit, so that it is brought once and read without the hub
afterwards. A folder of files is kept by the names, sizes and times of its files; a folder that `save_to_disk` wrote is
read where it is. Rows are read by `bench.tasks.files.saved`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.base.keys import key_of
from bench.errors import MissingError, UsageError
from bench.tasks.fetch.downloads import Repository, listing
from bench.tasks.fetch.hub_rows import HubRows, is_commit, unpinned
from bench.tasks.fetch.saving import bring, convert, origin_of, revisions, unknown_revision
from bench.tasks.fetch.sources import Source, cache_folder
from bench.tasks.files.saved import choices, is_saved
from bench.tasks.files.user_files import expanded

__all__ = ["OPTIONS", "DataSet", "check_together", "commit_of"]

NEED_HUB = ("config", "revision", "train_split", "valid_split", "test_split")
OPTIONS = frozenset({"hub", *NEED_HUB})
"""Options of a task that say which data set it reads."""

REPOSITORY = re.compile(r"[\w.-]{1,96}(?:/[\w.-]{1,96})?")


def check_together(options: Mapping[str, Any]) -> None:
    """Refuse options of a task that do not fit together.

    Args:
        options: all of the task, by name; those of `OPTIONS` and `path` are looked at.

    Raises:
        UsageError: naming them.
    """
    if options["hub"] and options["path"]:
        raise UsageError("task.hub and task.path are two places of the rows; give one of them")
    given = [f"task.{name}" for name in NEED_HUB if options[name]]
    if given and not options["hub"]:
        raise UsageError(f"{' and '.join(given)} needs task.hub, the data set")


@dataclass(frozen=True)
class DataSet:
    """A data set as it was typed.

    Args:
        hub: `owner/name` on the hub; or a folder, one of `save_to_disk` or one of files.
        config: name of its configuration; empty for the only or default one.
        revision: commit, branch or tag; empty for the newest commit. All but a commit is shown as
            `unpinned`.
        splits: our split -> what the data set calls it; empty for the usual names.
    """

    hub: str = ""
    config: str = ""
    revision: str = ""
    splits: Mapping[str, str] = field(default_factory=dict)

    def source(self, given: Source) -> Source:
        """Return where the rows are: a saved data set, which is brought or made if it is not in the cache.

        Args:
            given: where the process that planned found them; any other place is ignored.

        Raises:
            MissingError: the hub cannot give it, or there is no such folder.
            UsageError: it has no such revision or configuration.
            DataError: it cannot be read.
        """
        folder = self._folder()
        if folder is not None:
            return self._of_folder(folder)
        if given.folder is not None and given.folder.parent == self._root() and origin_of(given.folder):
            return given
        return self._of_hub()

    def _folder(self) -> Path | None:
        """Return the folder that was typed, or None for a data set of the hub."""
        place = expanded(self.hub)
        if place.is_dir():
            return place
        if self.hub.startswith((".", "/", "~")) or not REPOSITORY.fullmatch(self.hub):
            raise MissingError(f"task.hub: {place} is no folder; expected one, or owner/name of the hub")
        return None

    def _of_folder(self, folder: Path) -> Source:
        if self.revision:
            raise UsageError(f"task.revision is for data sets of the hub; '{folder}' is a folder")
        if is_saved(folder):
            if self.config:
                raise UsageError(f"task.config: {folder} was written by save_to_disk, which keeps no configurations")
            return Source(folder, f"task.hub: {folder}")
        place = folder.resolve()
        files = []
        for file in sorted(place.rglob("*")):
            state = file.stat()
            files.append([str(file), state.st_size, state.st_mtime_ns])
        name = re.sub(r"[^\w.-]", "_", place.name)[:50]
        kept = cache_folder() / "data_sets" / f"{name}-{key_of([files, self.config])}"
        if not kept.is_dir():
            convert(place, self.config, kept)
        return Source(kept, f"task.hub: {folder}, kept in {kept}")

    def _of_hub(self) -> Source:
        kept = self._kept()
        if is_commit(self.revision) and kept is not None:
            return self._described(kept)
        repository = Repository(self.hub, self.revision, BY_HAND)
        try:
            commit, files = listing(repository)
        except MissingError as error:
            if unknown_revision(error):
                there = revisions(repository)
                raise UsageError(
                    f"task.revision: {self.hub} has no revision '{self.revision}'; {choices(self.revision, there)}"
                ) from error
            if kept is None:
                raise
            return self._described(kept, "; the hub could not be asked for a newer one")
        folder = self._root() / commit
        if not folder.is_dir():
            bring(repository, self.config, commit, files, folder)
        return self._described(folder)

    def _root(self) -> Path:
        """Return the folder of the cache that has a folder for each commit of this configuration."""
        return cache_folder() / "hub" / self.hub.replace("/", "--") / (self.config.replace("/", "--") or "_")

    def _kept(self) -> Path | None:
        """Return the copy of the typed revision that was brought last; of none, rather one brought as the newest."""
        known: list[tuple[bool, float, Path]] = []
        for folder in self._root().glob("[!.]*"):
            origin = origin_of(folder)
            if not origin or (self.revision and self.revision not in (origin["revision"], origin["commit"])):
                continue
            known.append((origin["revision"] == self.revision, folder.stat().st_mtime, folder))
        if not known:
            return None
        return max(known)[-1]

    def _described(self, folder: Path, note: str = "") -> Source:
        name = self.hub
        if self.config:
            name += f", {self.config},"
        return Source(folder, f"hub: {name} at {folder.name[:12]}{unpinned(self.revision)}, kept in {folder}{note}")

    def hub_rows(self, folder: Path) -> HubRows | None:
        """Return which data set of the hub a kept folder is; None for any other folder."""
        origin = origin_of(folder)
        if not origin:
            return None
        return HubRows(origin["repository"], self.revision, origin["commit"])


BY_HAND = (
    "name a copy of it that is here: task.hub=FOLDER, written by save_to_disk or with its files; or task.path=FILE; a "
    "data set that was brought once is read from the cache"
)


def commit_of(folder: Path) -> str:
    """Return what a kept data set of the hub is, as `owner/name@commit` or `owner/name/config@commit`.

    Empty for any other folder.
    """
    origin = origin_of(folder)
    if not origin:
        return ""
    name = "/".join(filter(None, (origin["repository"], origin["config"])))
    return f"{name}@{origin['commit']}"
