"""Downloads: what the hub is asked and the files that it sends, each within a bound of time.

The download itself, its cache and its locks are `huggingface_hub`'s. The bounds are by hand, because the library's own
are for each packet and each try, and `datasets` has none: a hub that hangs would stop a run for minutes. The check of
what came is by hand too, because the library compares sizes only.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from bench.errors import DataError, MissingError

__all__ = [
    "ANSWER_S",
    "STALL_S",
    "Remote",
    "Repository",
    "asked",
    "digest_of",
    "download",
    "listing",
    "stalled",
    "within",
]

ANSWER_S = 3.5
"""Seconds the hub has to say which files there are."""
STALL_S = 300.0
"""Seconds without a single new byte after which a download is given up."""
CALL = "call of the hub"
"""Name of the threads that ask."""
SILENT = "it does not answer"

T = TypeVar("T")


PAGES = {"dataset": "https://huggingface.co/datasets/", "model": "https://huggingface.co/"}
"""Where people find a repository, by its kind."""
KINDS = {"dataset": "data set", "model": "model"}
"""What the kinds of repositories are called in messages."""


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
        """Where people find it."""
        return f"{PAGES[self.kind]}{self.name}"

    def missing(self, reason: str) -> MissingError:
        """Return the error that says why the hub cannot give it, and what to do."""
        return MissingError(f"the hub cannot give {self.name}: {reason}; {self.by_hand}")


@dataclass(frozen=True)
class Remote:
    """A file of a repository: its path, its size in bytes and, where the hub knows it, its SHA-256."""

    path: str
    bytes: int | None
    sha256: str | None


def listing(repository: Repository) -> tuple[str, list[Remote]]:
    """Return the commit of a revision and its files.

    Raises:
        MissingError: the hub does not say within `ANSWER_S`.
    """
    from huggingface_hub import HfApi

    hub = HfApi(endpoint=endpoint())
    info_of: dict[str, Callable[..., Any]] = {"dataset": hub.dataset_info, "model": hub.model_info}
    ask = partial(
        info_of[repository.kind],
        repository.name,
        revision=repository.revision or None,
        files_metadata=True,
        timeout=ANSWER_S,
    )
    info = asked(ask, within(ANSWER_S), repository)
    files = []
    for sibling in info.siblings or []:
        sha256 = sibling.lfs.sha256 if sibling.lfs else None
        files.append(Remote(sibling.rfilename, sibling.size, sha256))
    return str(info.sha), files


def download(repository: Repository, commit: str, file: Remote, *, progress: bool = True) -> Path:
    """Return the cached copy of a file; one that is not what the hub says is downloaded once more.

    Args:
        repository: it is of.
        commit: of the repository.
        file: as `listing` gives it.
        progress: show a bar while downloading, where stderr is a terminal.

    Raises:
        MissingError: the hub cannot give it, or has stopped sending.
        DataError: it came twice with other content than listed.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url, try_to_load_from_cache
    from tqdm.auto import tqdm

    bar: Any = None
    if not progress:
        bar = partial(tqdm, disable=True)
    where: dict[str, Any] = {
        "repo_id": repository.name,
        "filename": file.path,
        "repo_type": repository.kind,
        "revision": commit,
    }
    if not isinstance(try_to_load_from_cache(**where), str):  # a download asks this for a long time before giving up
        url = hf_hub_url(**where, endpoint=endpoint())
        ask_size = partial(get_hf_file_metadata, url, timeout=ANSWER_S, endpoint=endpoint())
        asked(ask_size, within(ANSWER_S), repository)
    for again in (False, True):
        bring = partial(
            hf_hub_download,
            **where,
            tqdm_class=bar,
            endpoint=endpoint(),
            etag_timeout=ANSWER_S,
            force_download=again,
        )
        path = Path(asked(bring, stalled([blobs_of(repository)]), repository))
        if file.bytes in (None, path.stat().st_size) and file.sha256 in (None, digest_of(path)):
            return path
    raise DataError(
        f"{repository.name} at {commit[:12]}: {file.path} came with other content than the hub lists, twice; remove "
        f"'{path}' and try again later"
    )


def asked(ask: Callable[[], T], late: Callable[[], str], repository: Repository) -> T:
    """Run a call to the hub until it returns or raises, or until `late` says why nobody should wait any longer.

    The hub's own limits are per packet and per try, and looking up a name has none.

    Raises:
        MissingError: saying why, and what to do.
    """
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(ask())
        except BaseException as error:  # reported below, in the thread that asked
            failure.append(error)

    if os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0"):
        raise repository.missing("HF_HUB_OFFLINE is set")
    thread = threading.Thread(target=run, daemon=True, name=CALL)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
        if thread.is_alive() and (said := late()):
            raise repository.missing(said)
    if failure:
        raise repository.missing(_reason(failure[0], repository)) from failure[0]
    return outcome[0]


def _reason(error: BaseException, repository: Repository) -> str:
    """Say what a failed call means, in a few words."""
    from huggingface_hub import errors

    if isinstance(error, errors.LocalEntryNotFoundError):
        error = error.__cause__ or error
    if isinstance(error, errors.GatedRepoError):
        return f"it asks for your consent; give it at {repository.page} and say `hf auth login`"
    if isinstance(error, errors.RevisionNotFoundError):
        return f"it has no revision {repository.revision}"
    if isinstance(error, errors.RepositoryNotFoundError):
        return f"there is no such {KINDS[repository.kind]}, or it is private"
    if isinstance(error, errors.OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE is set"
    if isinstance(error, errors.HfHubHTTPError):
        return f"it answers {error.response.status_code}"
    if "Timeout" in type(error).__name__:
        return SILENT
    text = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return text.removesuffix(": ")


def within(seconds: float) -> Callable[[], str]:
    """Return a function that says so when some seconds are over."""
    end = time.monotonic() + seconds

    def late() -> str:
        return SILENT if time.monotonic() > end else ""

    return late


def stalled(folders: Sequence[Path]) -> Callable[[], str]:
    """Return a function that says so when nothing below some folders has changed for `STALL_S`.

    Another process may be the one that downloads, so that the files are looked at and not this process's own bytes.
    """
    seen: list[tuple[str, int, int]] | None = None
    changed = time.monotonic()

    def late() -> str:
        nonlocal seen, changed
        with contextlib.suppress(OSError):
            now = _files_below(folders)
            if now != seen:
                seen, changed = now, time.monotonic()
        waited = time.monotonic() - changed
        if waited > STALL_S:
            return f"nothing has come for {waited:.0f} s"
        return ""

    return late


def _files_below(folders: Sequence[Path]) -> list[tuple[str, int, int]]:
    """Return name, bytes and time of every file below some folders."""
    files = []
    for folder in folders:
        for file in folder.rglob("*"):
            state = file.stat()
            files.append((str(file), state.st_size, state.st_mtime_ns))
    return sorted(files)


def blobs_of(repository: Repository) -> Path:
    """Return the folder of the hub's cache that a repository's files are downloaded to."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE) / f"{repository.kind}s--{repository.name.replace('/', '--')}" / "blobs"


def endpoint() -> str:
    """Return the address of the hub."""
    return os.environ.get("HF_ENDPOINT") or "https://huggingface.co"


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
