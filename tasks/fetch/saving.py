"""Saving: a data set of the hub, or a folder of files, loaded by `datasets` and put into the cache by `save_to_disk`.

The files of the hub are downloaded by `downloads`, not by the library, because a hub that hangs should cost seconds.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from bench.base.files import write_atomic
from bench.errors import DataError, MissingError, UsageError
from bench.tasks.fetch import downloads
from bench.tasks.fetch.downloads import Remote, Repository, asked, blobs_of, download, endpoint, stalled, within
from bench.tasks.fetch.folders import claim, discard, publish
from bench.tasks.fetch.library import library, said
from bench.tasks.files.saved import choices

__all__ = ["bring", "convert", "origin_of", "revisions", "unknown_revision"]

CONFIG_S = 10.0
"""Seconds the hub has to say which files a configuration has: some requests, one after another."""
ORIGIN = "origin.json"

T = TypeVar("T")


def bring(repository: Repository, config: str, commit: str, files: Sequence[Remote], folder: Path) -> None:
    """Download the files of a configuration and save its rows to `folder`, which is put in place whole or not at all.

    Args:
        repository: of the hub.
        config: name of the configuration; empty for the only or default one.
        commit: of the repository.
        files: all there are, as `listing` gives them.
        folder: of the cache.

    Raises:
        MissingError: the hub cannot give it.
        UsageError: it has no such configuration.
        DataError: it has no rows that `datasets` can read.
    """
    where = f"{repository.name} at {commit[:12]}"
    origin = {"repository": repository.name, "config": config, "revision": repository.revision, "commit": commit}
    unfinished = claim(folder)
    try:
        with library() as datasets:
            builder = _builder(datasets, repository, config, commit, unfinished / "loading")
            for file in _needed(builder, commit, files):
                download(repository, commit, file)
            save = partial(_save, builder, unfinished)
            _readable(save, stalled([blobs_of(repository), unfinished]), repository, where)
        write_atomic(unfinished / ORIGIN, (json.dumps(origin, indent=1, sort_keys=True) + "\n").encode())
        publish(unfinished, folder)
    except BaseException:
        discard(unfinished)
        raise


def convert(place: Path, config: str, folder: Path) -> None:
    """Save the rows of a folder of files to `folder`, which is put in place whole or not at all.

    Args:
        place: parquet, jsonl, csv or whatever else `datasets` reads.
        config: name of the configuration that its README describes; empty for the only or default one.
        folder: of the cache.

    Raises:
        UsageError: it has no such configuration.
        DataError: it has no rows that `datasets` can read.
    """
    unfinished = claim(folder)
    try:
        with library() as datasets:
            try:
                builder = datasets.load_dataset_builder(
                    str(place), config or None, cache_dir=str(unfinished / "loading")
                )
                _save(builder, unfinished)
            except Exception as error:  # a file can make its reader raise anything
                if _is_about_configs(error):
                    names = datasets.get_dataset_config_names(str(place))
                    raise _no_config(str(place), config, names) from error
                raise DataError(f"task.hub: {place} cannot be read ({said(error)})") from error
        publish(unfinished, folder)
    except BaseException:
        discard(unfinished)
        raise


def origin_of(folder: Path) -> Mapping[str, str]:
    """Return what a kept data set of the hub is: `repository`, `config`, `revision` as it was typed, and `commit`.

    Empty for any other folder.
    """
    try:
        origin = json.loads((folder / ORIGIN).read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(origin, dict) or set(origin) != {"repository", "config", "revision", "commit"}:
        return {}
    return origin


def unknown_revision(error: MissingError) -> bool:
    """Return whether the hub could not give something because there is no such revision."""
    from huggingface_hub.errors import RevisionNotFoundError

    return isinstance(error.__cause__, RevisionNotFoundError)


def revisions(repository: Repository) -> list[str]:
    """Return the branches and tags of a repository; none where the hub does not say."""
    from huggingface_hub import HfApi

    ask = partial(HfApi(endpoint=endpoint()).list_repo_refs, repository.name, repo_type="dataset")
    try:
        refs = asked(ask, within(downloads.ANSWER_S), repository)
    except MissingError:
        return []
    return [ref.name for ref in (*refs.branches, *refs.tags)]


def _builder(datasets: Any, repository: Repository, config: str, commit: str, work: Path) -> Any:
    """Return what the library knows of a configuration; no rows are downloaded yet."""
    where = f"{repository.name} at {commit[:12]}"
    how = {"revision": commit, "download_config": datasets.DownloadConfig(cache_dir=str(work / "downloads"))}
    load = partial(datasets.load_dataset_builder, repository.name, config or None, cache_dir=str(work), **how)
    try:
        return asked(load, within(CONFIG_S), repository)
    except MissingError as error:
        if _is_about_configs(error.__cause__):
            ask = partial(datasets.get_dataset_config_names, repository.name, **how)
            raise _no_config(where, config, asked(ask, within(CONFIG_S), repository)) from error
        raise _damage(error, where) from error.__cause__


def _needed(builder: Any, commit: str, files: Sequence[Remote]) -> list[Remote]:
    """Return the files of a configuration; the library names them `hf://datasets/owner/name@commit/path`."""
    by_path = {file.path: file for file in files}
    needed = []
    for urls in (builder.config.data_files or {}).values():
        for url in urls:
            file = by_path.get(str(url).partition(f"@{commit}/")[2])
            if file is not None:
                needed.append(file)
    return needed


def _save(builder: Any, folder: Path) -> None:
    """Make the rows and save them; what the library made on the way is removed."""
    builder.download_and_prepare()
    rows = builder.as_dataset()
    rows.save_to_disk(str(folder))
    shutil.rmtree(builder.cache_dir, ignore_errors=True)
    shutil.rmtree(folder / "loading", ignore_errors=True)


def _readable(ask: Callable[[], T], late: Callable[[], str], repository: Repository, where: str) -> T:
    """Run a call that asks the hub and reads what came."""
    try:
        return asked(ask, late, repository)
    except MissingError as error:
        raise _damage(error, where) from error.__cause__


def _damage(error: MissingError, where: str) -> MissingError:
    """Return the error itself where the hub failed, or a DataError where its files cannot be read."""
    import pyarrow
    from datasets.exceptions import DatasetsError
    from huggingface_hub.errors import LocalEntryNotFoundError

    cause = error.__cause__
    of_files = (DatasetsError, FileNotFoundError, ValueError, RuntimeError, pyarrow.ArrowException)
    if isinstance(cause, of_files) and not isinstance(cause, LocalEntryNotFoundError):
        return DataError(f"{where}: cannot be read ({said(cause)})")
    return error


def _is_about_configs(error: BaseException | None) -> bool:
    """Return whether the library refuses the name of a configuration, or wants one; it has no error of its own."""
    return isinstance(error, ValueError) and str(error).startswith(("BuilderConfig", "Config name is missing"))


def _no_config(where: str, config: str, names: Sequence[str]) -> UsageError:
    if not config:
        return UsageError(f"{where} has several configurations; set task.config; {choices('', names)}")
    return UsageError(f"task.config: {where} has no configuration '{config}'; {choices(config, names)}")
