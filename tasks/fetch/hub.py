"""The hub: files of data sets and models, downloaded by `huggingface_hub` at a recorded commit.

The library has the cache, the locks, the time limits and the way to go on after a lost connection. Added here are a
first question that a silent network answers within seconds, the comparison of each file with the SHA-256 that the hub
lists, and errors that say what to do.
"""

import errno
import fnmatch
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from bench.base.files import hash_of, write_atomic
from bench.base.network import hub_reachable, is_offline
from bench.errors import BenchError, DataError, MissingError, StoreError
from bench.tasks.fetch.hub_copies import ORIGIN, HubCopy

ANSWER_S = 3.5
"""Seconds that the hub has for each answer about files; a file itself has HF_HUB_DOWNLOAD_TIMEOUT for each packet."""
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS)


@dataclass(frozen=True)
class Repository:
    """A repository of the hub at a revision.

    Args:
        name: `owner/name`.
        revision: a commit, branch or tag; empty for the newest commit of the main branch.
        by_hand: what to do without access to the hub, for messages.
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

    if is_offline():
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
    """Return the hub cache's copy of a file.

    Args:
        repository: the repository of the file.
        commit: a revision of the repository.
        file: as `listing` gives it.

    Raises:
        MissingError: the hub cannot give it.
        DataError: it has another SHA-256 than listed.
        StoreError: the hub's cache cannot be written.
    """
    from huggingface_hub import hf_hub_download

    with reading(repository):
        path = Path(
            hf_hub_download(
                repository.name,
                file.path,
                repo_type=repository.kind,
                revision=commit,
                endpoint=os.environ.get("HF_ENDPOINT"),
                etag_timeout=ANSWER_S,
            )
        )
    if file.sha256 in (None, hash_of(path)):
        return path
    raise DataError(
        f"{repository.name} at {commit[:12]}: {file.path} has other content than the hub lists; remove "
        f"'{path.resolve()}' and run the same command again"
    )


@lru_cache(maxsize=1)
def library() -> Any:
    """Return the module `datasets`; from now on it has no progress bars, log lines and download counts.

    What it logs is an exception too, which the caller reports. Its import takes a second, which a plan over other data
    should not cost.
    """
    import datasets
    from huggingface_hub import utils

    datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False
    modules: list[Any] = [datasets, utils]
    for module in modules:
        module.logging.set_verbosity(module.logging.CRITICAL)
        module.disable_progress_bars()
    return datasets


@contextmanager
def reading(repository: Repository) -> Iterator[None]:
    """Turn what libraries raise while they ask the hub, and read what came, into errors that say what to do."""
    try:
        yield
    except BenchError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in NO_SPACE:
            raise StoreError(
                f"cannot write '{error.filename or 'a downloaded file'}' ({error.strerror}); make room, or set HF_HOME "
                "and BENCH_CACHE to folders on another disk"
            ) from error
        raise _explained(error, repository) from error


def _explained(error: Exception, repository: Repository) -> BenchError:
    """Return what a failed call means: a MissingError where the hub failed, a DataError where its files are bad."""
    from huggingface_hub import errors

    if isinstance(error, errors.LocalEntryNotFoundError) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    kind = "data set" if repository.kind == "dataset" else repository.kind
    status = getattr(getattr(error, "response", None), "status_code", None)
    reasons: dict[type[Exception], str] = {
        errors.GatedRepoError: f"it asks for your consent; give it at {repository.page} and run `hf auth login`",
        errors.RevisionNotFoundError: f"it has no revision '{repository.revision}'; {repository.page}/tree/main lists "
        "its branches and tags",
        errors.RepositoryNotFoundError: f"there is no such {kind}, or it is private",
        errors.OfflineModeIsEnabled: "HF_HUB_OFFLINE is set",
        errors.LocalEntryNotFoundError: message_of(error),
        errors.HfHubHTTPError: f"it answers {status}",
        TimeoutError: "it does not answer",
        ConnectionError: message_of(error),
    }
    for known, reason in reasons.items():
        if isinstance(error, known):
            return repository.missing(reason)
    if type(error).__module__.partition(".")[0] in ("httpx", "httpx2", "requests", "urllib3", "aiohttp"):
        does_not_answer = "Timeout" in type(error).__name__
        return repository.missing("it does not answer" if does_not_answer else message_of(error))
    return DataError(f"{repository.name}: cannot be read ({message_of(error)})")


def message_of(error: BaseException) -> str:
    """Return the message of a library's error in one line, or of its cause where it only says that something failed."""
    if type(error).__name__ == "DatasetGenerationError" and error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error).split())[:200] or type(error).__name__


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


def fetch(copy: HubCopy, folder: Path) -> str:
    """Download every split and put its parquet files into `folder`, which is made whole or not at all.

    Args:
        copy: where the rows are.
        folder: the task's folder in the cache; its name is the task's. A split's files are named
            `train-00000-of-00003.parquet` and so on, the names under which tasks read published rows.

    Returns:
        Where the rows are from, for people; `origin.json` in the folder has it for programs.

    Raises:
        MissingError: the hub cannot give them; the message says how to get them by hand.
        DataError: what came is not as the hub lists it, or a split has no file.
        StoreError: they cannot be written.
    """
    by_hand = f"by hand: {copy.note}, read with `--data-dir DIR` from DIR/{folder.name}/, as published"
    repository = Repository(copy.repository, copy.revision, by_hand)

    def fill(unfinished: Path) -> None:
        commit, listed = listing(repository)
        chosen = {split: _chosen(copy, split, listed) for split in copy.files}
        for split in sorted(chosen, key=lambda split: sum(file.bytes for file in chosen[split])):  # errors show early
            for number, file in enumerate(chosen[split]):
                path = download(repository, commit, file)
                with reading(repository):
                    shutil.copyfile(path, unfinished / f"{split}-{number:05d}-of-{len(chosen[split]):05d}.parquet")
        write_origin(unfinished, {"repository": copy.repository, "commit": commit})

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
