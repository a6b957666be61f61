"""The hub: files of data sets and models, downloaded by `huggingface_hub` at a recorded commit.

The library has the cache, the locks, the time limits and the way to go on after a lost connection. Added here are a
first question that a silent network answers within seconds, the comparison of each file with the SHA-256 that the hub
lists, and errors that say what to do. A task's files are kept as JSON lines, in which people may bring rows by hand
too, so that a task reads one form.
"""

from __future__ import annotations

import errno
import fnmatch
import gzip
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from bench.base.files import hash_of, write_atomic
from bench.base.network import hub_reachable
from bench.errors import BenchError, DataError, MissingError, StoreError
from bench.tasks.fetch.hub_copies import ORIGIN, HubCopy
from bench.tasks.fetch.library import message_of

__all__ = [
    "RemoteFile",
    "Repository",
    "download",
    "fetch",
    "listing",
    "make_folder",
    "one_at_a_time",
    "reading",
    "rows_of",
    "write_lines",
    "write_origin",
]

ANSWER_S = 3.5
"""Seconds that the hub has for each answer about files; a file itself has HF_HUB_DOWNLOAD_TIMEOUT for each packet."""
BATCH = 512
"""Rows that are Python objects at a time; a news article has some kilobytes."""
GZIP_LEVEL = 3  # within a tenth of the size of level 6 on prose, in half the time
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS)

HubRow = dict[str, Any]
Write = Callable[[Iterator[HubRow], Path, str], None]


@dataclass(frozen=True)
class Repository:
    """A repository of the hub at a revision.

    Args:
        name: `owner/name`.
        revision: a commit, branch or tag; empty for the newest commit of the main branch.
        by_hand: what people do who cannot reach the hub, for messages.
        kind: `dataset` or `model`, the hub's own words.
    """

    name: str
    revision: str
    by_hand: str
    kind: str = "dataset"

    @property
    def page(self) -> str:
        """The address of its page."""
        return f"https://huggingface.co/{'datasets/' if self.kind == 'dataset' else ''}{self.name}"

    def missing(self, reason: str) -> MissingError:
        """Return the error that says why the hub cannot give it, and what to do."""
        return MissingError(f"the hub cannot give {self.name}: {reason}; {self.by_hand}")


@dataclass(frozen=True)
class RemoteFile:
    """A file of a repository: its path, its size in bytes and, where the hub knows it, its SHA-256."""

    path: str
    bytes: int
    sha256: str | None


def listing(repository: Repository) -> tuple[str, list[RemoteFile]]:
    """Return the commit of a revision and its files.

    Raises:
        MissingError: the hub cannot be reached, or has no such repository or revision.
    """
    from huggingface_hub import HfApi

    if os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0"):
        raise repository.missing("HF_HUB_OFFLINE is set")
    if not hub_reachable():
        raise repository.missing("it does not answer")
    with reading(repository):
        info: Any = HfApi(endpoint=os.environ.get("HF_ENDPOINT")).repo_info(
            repository.name,
            repo_type=repository.kind,
            revision=repository.revision or None,
            files_metadata=True,
            timeout=ANSWER_S,
        )
    files = []
    for file in info.siblings or []:
        files.append(RemoteFile(file.rfilename, file.size or 0, file.lfs.sha256 if file.lfs else None))
    return str(info.sha), files


def download(repository: Repository, commit: str, file: RemoteFile) -> Path:
    """Return the hub cache's copy of a file; one with another SHA-256 than listed is downloaded once more.

    Args:
        repository: the repository of the file.
        commit: a revision of the repository.
        file: as `listing` gives it.

    Raises:
        MissingError: the hub cannot give it.
        DataError: it came twice with other content than listed.
        StoreError: the hub's cache cannot be written.
    """
    from huggingface_hub import hf_hub_download

    for again in (False, True):
        with reading(repository):
            path = Path(
                hf_hub_download(
                    repository.name,
                    file.path,
                    repo_type=repository.kind,
                    revision=commit,
                    endpoint=os.environ.get("HF_ENDPOINT"),
                    etag_timeout=ANSWER_S,
                    force_download=again,
                )
            )
        if file.sha256 in (None, hash_of(path)):
            return path
    raise DataError(
        f"{repository.name} at {commit[:12]}: {file.path} came with other content than the hub lists, twice; remove "
        f"'{path}' and try again later"
    )


@contextmanager
def reading(repository: Repository) -> Iterator[None]:
    """Turn what libraries raise while they ask the hub, and read what came, into errors that say what to do."""
    try:
        yield
    except BenchError:
        raise
    except OSError as error:
        if error.errno in NO_SPACE:
            raise StoreError(
                f"cannot write '{error.filename or 'a downloaded file'}' ({error.strerror}); make room, or set HF_HOME "
                "and BENCH_CACHE to folders on another disk"
            ) from error
        raise _explained(error, repository) from error
    except Exception as error:
        raise _explained(error, repository) from error


def _explained(error: Exception, repository: Repository) -> MissingError:
    """Return what a failed call means: a MissingError where the hub failed, a DataError where its files are bad."""
    from huggingface_hub import errors

    if isinstance(error, errors.LocalEntryNotFoundError) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    if isinstance(error, errors.GatedRepoError):
        return repository.missing(f"it asks for your consent; give it at {repository.page} and run `hf auth login`")
    if isinstance(error, errors.RevisionNotFoundError):
        there = f"{repository.page}/tree/main lists its branches and tags"
        return repository.missing(f"it has no revision '{repository.revision}'; {there}")
    if isinstance(error, errors.RepositoryNotFoundError):
        kind = "data set" if repository.kind == "dataset" else repository.kind
        return repository.missing(f"there is no such {kind}, or it is private")
    if isinstance(error, errors.OfflineModeIsEnabled):
        return repository.missing("HF_HUB_OFFLINE is set")
    if isinstance(error, errors.HfHubHTTPError):
        return repository.missing(f"it answers {error.response.status_code}")
    if "Timeout" in type(error).__name__:
        return repository.missing("it does not answer")
    if type(error).__module__.partition(".")[0] in ("httpx", "httpx2", "requests", "urllib3", "aiohttp"):
        return repository.missing(f"{type(error).__name__}: {message_of(error)}")
    if isinstance(error, (ConnectionError, errors.LocalEntryNotFoundError)):
        return repository.missing(message_of(error))
    return DataError(f"{repository.name}: cannot be read ({message_of(error)})")


@contextmanager
def one_at_a_time(lock: Path) -> Iterator[None]:
    """Let one process at a time go on; the others wait. The folder of the lock is made.

    Raises:
        StoreError: the disk refuses the lock, or what is written while it is held.
    """
    from filelock import FileLock

    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(lock, fallback_to_soft=False):
            yield
    except (OSError, NotImplementedError) as error:  # the second: a file system without locks
        reason = getattr(error, "strerror", None) or error
        remedy = "make room, or set BENCH_CACHE to another folder"
        raise StoreError(f"cannot write below '{lock.parent}' ({reason}); {remedy}") from error


def make_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Make a folder whole or not at all, once: of several processes one fills it and the others wait for that.

    Args:
        folder: nothing happens if it exists.
        fill: writes the content into a folder of another name, which is removed if anything goes wrong.

    Raises:
        StoreError: the disk refuses.
    """
    if folder.is_dir():
        return
    with one_at_a_time(folder.with_name(f".{folder.name}.lock")):
        if folder.is_dir():
            return
        unfinished = folder.with_name(f".{folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)  # of a process that was killed
        unfinished.mkdir()
        try:
            fill(unfinished)
            os.sync()  # one call for what may be thousands of files
            unfinished.rename(folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def write_origin(folder: Path, origin: Mapping[str, Any]) -> None:
    """Write into a folder what it is a copy of."""
    write_atomic(folder / ORIGIN, (json.dumps(origin, indent=1, sort_keys=True) + "\n").encode())


# The copies that tasks are read from --------------------------------------------------------------------------------


def write_lines(rows: Iterator[HubRow], folder: Path, split: str) -> None:
    """Write rows to `<split>.jsonl.gz`, the same bytes for the same rows."""

    def lines(file: BinaryIO) -> None:
        with (
            gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0) as packed,
            io.BufferedWriter(packed, 1 << 20) as buffer,
        ):
            for row in rows:
                buffer.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")

    write_atomic(folder / f"{split}.jsonl.gz", lines)


def fetch(copy: HubCopy, folder: Path, *, write: Write = write_lines) -> str:
    """Download every split and write it to `folder`, which is made whole or not at all.

    Args:
        copy: where the rows are.
        folder: the task's folder in the cache; its name is the task's.
        write: writes the rows of a split into a folder in the form that the task reads.

    Returns:
        Where the rows are from, for people; `origin.json` in the folder says it for programs.

    Raises:
        MissingError: the hub cannot give them; the message says how to get them by hand.
        DataError: they came, and are not what they should be.
        StoreError: they cannot be written.
    """
    by_hand = f"by hand: {copy.note}, read with `--data-dir DIR` from DIR/{folder.name}/, as published"
    if copy.lines:
        fields = ", ".join(column.removesuffix("[]") for column in copy.columns)
        by_hand += f", or as {{{','.join(copy.files)}}}.jsonl.gz with {fields}"
    repository = Repository(copy.repository, copy.revision, by_hand)

    def fill(unfinished: Path) -> None:
        commit, listed = listing(repository)
        splits: dict[str, Any] = {}
        chosen = {split: _chosen(copy, split, listed) for split in copy.files}
        for split in sorted(chosen, key=lambda split: sum(file.bytes for file in chosen[split])):  # errors show early
            paths = {file.path: download(repository, commit, file) for file in chosen[split]}
            count = 0

            def counted(paths: Mapping[str, Path] = paths) -> Iterator[HubRow]:
                nonlocal count
                for name, path in paths.items():
                    for row in rows_of(path, copy.columns, f"{copy.repository} at {commit[:12]}, {name}"):
                        count += 1
                        yield row

            write(counted(), unfinished, split)
            if not count:
                raise DataError(f"{copy.repository} at {commit[:12]}: split {split} has no rows in {', '.join(paths)}")
            files = [
                {"path": name, "bytes": path.stat().st_size, "sha256": hash_of(path)} for name, path in paths.items()
            ]
            splits[split] = {"rows": count, "files": files}
        write_origin(unfinished, {"repository": copy.repository, "commit": commit, "splits": splits})

    make_folder(folder, fill)
    return f"hub: {copy.described(folder) or copy.repository}, kept in {folder}"


def _chosen(copy: HubCopy, split: str, files: Sequence[RemoteFile]) -> list[RemoteFile]:
    """Return the files of a split, by name."""
    patterns = copy.files[split]
    chosen = [file for file in files if any(fnmatch.fnmatchcase(file.path, pattern) for pattern in patterns)]
    if not chosen:
        found = [file.path for file in files if file.path.endswith(".parquet")]
        raise DataError(
            f"{copy.repository} at {copy.revision}: no file for split {split}, expected {' or '.join(patterns)}; its "
            f"parquet files: {', '.join(found[:6]) or 'none'}"
        )
    return sorted(chosen, key=lambda file: file.path)


def rows_of(path: Path, columns: Sequence[str], where: str) -> Iterator[HubRow]:
    """Yield the rows of a parquet file, with some of its text columns.

    Args:
        path: the file.
        columns: as in `HubCopy`.
        where: what messages call the file.

    Raises:
        DataError: it is no parquet file, is damaged, lacks a column, or a column holds something else than text.
    """
    from pyarrow.parquet import ParquetFile

    names = [column.removesuffix("[]") for column in columns]
    try:
        # One thread reads, in small steps: several would read many row groups ahead of a caller that takes its time.
        with ParquetFile(path, buffer_size=1 << 16, pre_buffer=False) as opened:
            for column in columns:
                _check_column(opened.schema_arrow, column, where)
            for batch in opened.iter_batches(batch_size=BATCH, columns=names, use_threads=False):
                yield from batch.to_pylist()
    except BenchError:
        raise
    except Exception as error:  # a damaged file can make its reader raise anything
        raise DataError(
            f"{where}: cannot be read as parquet ({message_of(error)}); remove '{path}' to get it again"
        ) from error


def _check_column(schema: Any, column: str, where: str) -> None:
    """Refuse a schema in which a column is missing or does not hold text."""
    from pyarrow import types

    kind: Any = None
    fields = {field.name: field.type for field in schema}
    for name in column.removesuffix("[]").split("."):
        if name not in fields:
            raise DataError(f"{where}: no column '{column}'; there is {', '.join(fields) or 'nothing'}")
        kind = fields[name]
        fields = {field.name: field.type for field in kind} if types.is_struct(kind) else {}
    expected, text = "text", kind
    if column.endswith("[]"):
        expected = "a list of texts"
        text = kind.value_type if types.is_list(kind) or types.is_large_list(kind) else None
    if text is not None and types.is_dictionary(text):
        text = text.value_type
    if text is None or not (types.is_string(text) or types.is_large_string(text)):
        raise DataError(f"{where}: column '{column}' holds {kind}, expected {expected}")
