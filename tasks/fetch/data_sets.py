"""Data sets that a user names as `task.hub`: of the hub, saved in the cache by `datasets`, or saved in a folder.

A data set of the hub is kept by its commit, so that it is downloaded once and read without the hub afterwards. A folder
that `save_to_disk` wrote is read where it is. `bench.tasks.files.records` reads the rows.
"""

import re
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.base.machine import cache_root
from bench.base.network import is_commit, within
from bench.errors import MissingError, UsageError
from bench.tasks.fetch.hub import Repository, library, listing, make_folder, message_of, reading, write_origin
from bench.tasks.fetch.hub_copies import origin_of, unpinned
from bench.tasks.fetch.sources import Source, expanded

REPOSITORY = re.compile(r"[\w.-]{1,96}(?:/[\w.-]{1,96})?")
CONFIG_S = 30.0
"""Seconds that the hub has to list the files of a configuration: some requests, one after another."""
BY_HAND = (
    "name a copy of it that is here: task.hub=FOLDER, written by save_to_disk, or task.path=FILE; a data set that was "
    "downloaded once is read from the cache"
)


@dataclass(frozen=True)
class DataSet:
    """A data set as a user named it.

    Args:
        repository: `owner/name` on the hub; or a folder that `save_to_disk` wrote.
        config: name of its configuration; empty for the only or default one.
        revision: commit, branch or tag; empty for the newest commit. All but a commit is shown as `unpinned`.
    """

    repository: str
    config: str = ""
    revision: str = ""

    def source(self, given: Source) -> Source:
        """Return where the rows are: a saved data set, which is made if it is not in the cache.

        Args:
            given: where the process that planned found them; any other place is ignored.

        Raises:
            MissingError: the hub cannot give it, or there is no such folder.
            UsageError: it has no such revision or configuration.
            DataError: it cannot be read.
        """
        folder = expanded(self.repository)
        if folder.is_dir():
            if not (folder / "dataset_dict.json").is_file() and not is_split(folder):
                raise UsageError(f"task.hub: '{folder}' was not written by save_to_disk; name files with task.path")
            if named := [name for name in ("config", "revision") if getattr(self, name)]:
                raise UsageError(f"task.{named[0]} is for data sets of the hub; '{folder}' is a folder")
            return Source(folder, f"task.hub: {folder}")
        if self.repository.startswith((".", "/", "~")) or not REPOSITORY.fullmatch(self.repository):
            raise MissingError(f"task.hub: {folder} is no folder; expected one, or owner/name of the hub")
        if given.folder is not None and given.folder.parent == self._root() and origin_of(given.folder):
            return given
        return self._of_hub()

    def _of_hub(self) -> Source:
        kept = self._kept()
        if is_commit(self.revision) and kept is not None:
            return self._described(kept)
        repository = Repository(self.repository, self.revision, BY_HAND)
        try:
            commit, _ = listing(repository)
        except MissingError:
            if kept is None:
                raise
            return self._described(kept, "; the hub could not be asked for a newer one")
        folder = self._root() / commit
        make_folder(folder, partial(self._download, repository, commit))
        return self._described(folder)

    def _root(self) -> Path:
        """Return the folder of the cache that has a folder for each commit of this configuration."""
        return cache_root() / "hub" / self.repository.replace("/", "--") / (self.config.replace("/", "--") or "_")

    def _kept(self) -> Path | None:
        """Return the kept copy of this revision; of several, the newest that was asked for by the same name."""
        known: list[tuple[bool, float, Path]] = []
        for folder in self._root().glob("[!.]*"):
            origin = origin_of(folder)
            if origin and self.revision in ("", origin["revision"], origin["commit"]):
                known.append((origin["revision"] == self.revision, folder.stat().st_mtime, folder))
        return max(known)[-1] if known else None

    def _described(self, folder: Path, note: str = "") -> Source:
        name = f"{self.repository}, {self.config}," if self.config else self.repository
        return Source(folder, f"hub: {name} at {folder.name[:12]}{unpinned(self.revision)}, kept in {folder}{note}")

    def _download(self, repository: Repository, commit: str, folder: Path) -> None:
        """Let `datasets` read the rows of a commit, and save them in a folder."""
        loading = folder / "loading"  # what the library needs meanwhile
        with reading(repository):
            datasets = library()
            config = datasets.DownloadConfig(cache_dir=str(loading / "downloads"))
            where: dict[str, Any] = {"revision": commit, "download_config": config}
            load = partial(
                datasets.load_dataset_builder, self.repository, self.config or None, cache_dir=str(loading), **where
            )
            try:
                builder = within(CONFIG_S, load)  # the library waits for ever
            except ValueError as error:
                if not str(error).startswith(("BuilderConfig", "Config name is missing")):
                    raise
                raise UsageError(f"task.config of {self.repository}: {message_of(error)}") from error
            builder.download_and_prepare()
            builder.as_dataset().save_to_disk(str(folder))
            shutil.rmtree(loading, ignore_errors=True)
        origin = {"repository": self.repository, "config": self.config, "revision": self.revision, "commit": commit}
        write_origin(folder, origin)


def is_split(folder: Path) -> bool:
    """Return whether a folder is one split of a data set that `save_to_disk` wrote."""
    return (folder / "state.json").is_file()


def commit_of(folder: Path) -> str:
    """Return what a kept data set of the hub is, as `owner/name@commit` or `owner/name/config@commit`.

    Empty for any other folder.
    """
    origin = origin_of(folder)
    if "config" not in origin:  # no kept data set of the hub
        return ""
    return "/".join(filter(None, (origin["repository"], origin["config"]))) + f"@{origin['commit']}"
