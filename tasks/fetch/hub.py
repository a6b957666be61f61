"""The hub: a task's parquet files, downloaded at a known commit and kept as JSON lines.

The download itself, its cache and its locks are `huggingface_hub`'s. Here are the bounds on how long it may take, the
checks of what came, and the conversion.
"""

from __future__ import annotations

import contextlib
import fnmatch
import gzip
import hashlib
import io
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from bench.base.files import write_atomic
from bench.errors import DataError, MissingError
from bench.tasks.fetch.folders import claim, discard, publish
from bench.tasks.fetch.parquet import rows_of

__all__ = ["ANSWER_S", "STALL_S", "HubCopy", "fetch", "write_lines"]

ANSWER_S = 3.5
"""Seconds the hub has to say which files there are."""
STALL_S = 300.0
"""Seconds without a single new byte after which a download is given up."""
SILENT = "it does not answer"
LEVEL = 3  # of gzip: within a tenth of the size of level 6 on prose, in half the time

T = TypeVar("T")
HubRow = dict[str, Any]
Write = Callable[[Iterator[HubRow], Path, str], None]


@dataclass(frozen=True)
class HubCopy:
    """Where a task's rows are on the hub.

    Args:
        repository: of data sets, `owner/name`.
        revision: a commit, or a branch where no commit is known.
        files: patterns of the parquet files of each split.
        columns: our field -> their column; dots lead into records, `[]` at the end says a list of texts.
        note: where the publisher's own files are, for people.
        lines: the task reads JSON lines with our fields too, besides the publisher's files.
    """

    repository: str
    revision: str
    files: Mapping[str, tuple[str, ...]]
    columns: Mapping[str, str]
    note: str
    lines: bool = True

    @property
    def page(self) -> str:
        """Where people find it."""
        return f"https://huggingface.co/datasets/{self.repository}"


@dataclass(frozen=True)
class Remote:
    """A file of a repository: its path, its size in bytes and, where the hub knows it, its SHA-256."""

    path: str
    bytes: int | None
    sha256: str | None


def write_lines(rows: Iterator[HubRow], folder: Path, split: str) -> None:
    """Write rows to `<split>.jsonl.gz`, the same bytes for the same rows."""

    def lines(file: BinaryIO) -> None:
        with (
            gzip.GzipFile("", "wb", LEVEL, file, mtime=0) as packed,
            io.BufferedWriter(packed, 1 << 20) as buffer,
        ):
            for row in rows:
                buffer.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")

    write_atomic(folder / f"{split}.jsonl.gz", lines, replace=True)


def fetch(copy: HubCopy, folder: Path, *, progress: bool = True, write: Write = write_lines) -> str:
    """Download every split and write it to `folder`, which is put in place whole or not at all.

    A run that ended early is taken up again after the last split it finished; files that are in the hub's own cache
    are not downloaded again. Two processes may do this at once: one folder stays.

    Args:
        copy: where the rows are.
        folder: the task's folder in the cache; its name is the task's.
        progress: show a bar while downloading, where stderr is a terminal.
        write: puts the rows of a split into a folder in the form the task reads.

    Returns:
        Where the rows are from, for people; `origin.json` in the folder says it for programs.

    Raises:
        MissingError: the hub cannot give them, or has stopped sending; says how to get them by hand.
        DataError: they came, and are not what they should be.
        StoreError: they cannot be written.
    """
    if folder.is_dir():
        return f"hub: {copy.repository}, kept in {folder}"
    commit, files = _listing(copy, folder.name)
    chosen = {split: _chosen(copy, split, files) for split in copy.files}
    unfinished = claim(folder, resume=True)
    origin = _resumed(unfinished, copy, commit)
    try:
        for split in _smallest_first(chosen):
            if split not in origin["splits"]:
                paths = {file.path: _download(copy, commit, file, folder.name, progress) for file in chosen[split]}
                origin["splits"][split] = _convert(copy, commit, paths, unfinished, split, write)
                _remember(unfinished, origin)
    except DataError:
        discard(unfinished)
        raise
    publish(unfinished, folder)
    return f"hub: {copy.repository} at {commit[:12]}, kept in {folder}"


def _smallest_first(chosen: Mapping[str, Sequence[Remote]]) -> list[str]:
    """Return the splits by the size of their files: what is wrong shows early."""

    def size(split: str) -> tuple[int, str]:
        return sum(file.bytes or 0 for file in chosen[split]), split

    return sorted(chosen, key=size)


def _by_hand(copy: HubCopy, task: str) -> str:
    """Say how people without the hub get a task's rows."""
    text = f"by hand: {copy.note}, read with `--data-dir DIR` from DIR/{task}/, as published"
    if copy.lines:
        text += f", or as {{{','.join(copy.files)}}}.jsonl.gz with {', '.join(copy.columns)}"
    return text


def _convert(copy: HubCopy, commit: str, paths: Mapping[str, Path], folder: Path, split: str, write: Write) -> Any:
    """Write the rows of a split; return how many they are and what files they are from."""
    count = 0

    def counted() -> Iterator[HubRow]:
        nonlocal count
        for name, path in paths.items():
            for row in rows_of(path, copy.columns, f"{copy.repository} at {commit[:12]}, {name}"):
                count += 1
                yield row

    write(counted(), folder, split)
    if not count:
        raise DataError(f"{copy.repository} at {commit[:12]}: split {split} has no rows in {', '.join(paths)}")
    files = []
    for name, path in paths.items():
        files.append({"path": name, "bytes": path.stat().st_size, "sha256": _digest(path)})
    return {"rows": count, "files": files}


def _resumed(unfinished: Path, copy: HubCopy, commit: str) -> dict[str, Any]:
    """Return what an earlier run wrote of the same commit in the same form, or a fresh start."""
    fresh = {"repository": copy.repository, "commit": commit, "columns": dict(copy.columns), "splits": {}}
    with contextlib.suppress(OSError, ValueError, AttributeError):
        earlier: dict[str, Any] = json.loads((unfinished / "origin.json").read_bytes())
        if {**earlier, "splits": {}} == fresh and set(earlier["splits"]) <= set(copy.files):
            return earlier
    discard(unfinished)
    unfinished.mkdir(parents=True)
    return fresh


def _remember(unfinished: Path, origin: Mapping[str, Any]) -> None:
    text = json.dumps(origin, indent=1, sort_keys=True) + "\n"
    write_atomic(unfinished / "origin.json", text.encode(), replace=True)


def _listing(copy: HubCopy, task: str) -> tuple[str, list[Remote]]:
    """Return the commit of the revision and its files."""
    from huggingface_hub import HfApi

    ask = partial(
        HfApi(endpoint=_endpoint()).dataset_info,
        copy.repository,
        revision=copy.revision,
        files_metadata=True,
        timeout=ANSWER_S,
    )
    info = _asked(ask, _within(ANSWER_S), copy, task)
    files = []
    for sibling in info.siblings or []:
        sha256 = sibling.lfs.sha256 if sibling.lfs else None
        files.append(Remote(sibling.rfilename, sibling.size, sha256))
    return str(info.sha), files


def _chosen(copy: HubCopy, split: str, files: Sequence[Remote]) -> list[Remote]:
    """Return the files of a split, by name."""
    patterns = copy.files[split]
    chosen: set[Remote] = set()
    for pattern in patterns:
        chosen |= {file for file in files if fnmatch.fnmatchcase(file.path, pattern)}
    if not chosen:
        there = [file.path for file in files if file.path.endswith(".parquet")]
        raise DataError(
            f"{copy.repository} at {copy.revision}: no file for split {split}, expected {' or '.join(patterns)}; its "
            f"parquet files: {', '.join(there[:6]) or 'none'}"
        )
    return sorted(chosen, key=lambda file: file.path)


def _download(copy: HubCopy, commit: str, file: Remote, task: str, progress: bool) -> Path:
    """Return the cached copy of a file; one that is not what the hub says is downloaded once more."""
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_download, hf_hub_url, try_to_load_from_cache
    from tqdm.auto import tqdm

    bar: Any = None
    if not progress:
        bar = partial(tqdm, disable=True)
    blobs = Path(constants.HF_HUB_CACHE) / f"datasets--{copy.repository.replace('/', '--')}" / "blobs"
    where: dict[str, Any] = {
        "repo_id": copy.repository,
        "filename": file.path,
        "repo_type": "dataset",
        "revision": commit,
    }
    if not isinstance(try_to_load_from_cache(**where), str):  # a download asks this for a long time before giving up
        url = hf_hub_url(**where, endpoint=_endpoint())
        ask_size = partial(get_hf_file_metadata, url, timeout=ANSWER_S, endpoint=_endpoint())
        _asked(ask_size, _within(ANSWER_S), copy, task)
    for again in (False, True):
        download = partial(
            hf_hub_download,
            **where,
            tqdm_class=bar,
            endpoint=_endpoint(),
            etag_timeout=ANSWER_S,
            force_download=again,
        )
        path = Path(_asked(download, _stalled(blobs), copy, task))
        if file.bytes in (None, path.stat().st_size) and file.sha256 in (None, _digest(path)):
            return path
    raise DataError(
        f"{copy.repository} at {commit[:12]}: {file.path} came with other content than the hub lists, twice; remove "
        f"'{path}' and try again later"
    )


def _asked(ask: Callable[[], T], late: Callable[[], str], copy: HubCopy, task: str) -> T:
    """Run a call to the hub until it returns or raises, or until `late` says why nobody should wait any longer.

    The hub's own limits are per packet and per try, and looking up a name has none.
    """
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(ask())
        except BaseException as error:  # reported below, in the thread that asked
            failure.append(error)

    if os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0"):
        raise _missing(copy, task, "HF_HUB_OFFLINE is set")
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
        if thread.is_alive() and (said := late()):
            raise _missing(copy, task, said)
    if failure:
        raise _missing(copy, task, _reason(failure[0], copy)) from failure[0]
    return outcome[0]


def _missing(copy: HubCopy, task: str, reason: str) -> MissingError:
    return MissingError(f"the hub cannot give {copy.repository}: {reason}; {_by_hand(copy, task)}")


def _reason(error: BaseException, copy: HubCopy) -> str:
    """Say what a failed call means, in a few words."""
    from huggingface_hub import errors

    if isinstance(error, errors.LocalEntryNotFoundError):
        error = error.__cause__ or error
    if isinstance(error, errors.GatedRepoError):
        return f"it asks for your consent; give it at {copy.page} and say `hf auth login`"
    if isinstance(error, errors.RevisionNotFoundError):
        return f"it has no revision {copy.revision}"
    if isinstance(error, errors.RepositoryNotFoundError):
        return "there is no such data set, or it is private"
    if isinstance(error, errors.OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE is set"
    if isinstance(error, errors.HfHubHTTPError):
        return f"it answers {error.response.status_code}"
    if "Timeout" in type(error).__name__:
        return SILENT
    text = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return text.removesuffix(": ")


def _within(seconds: float) -> Callable[[], str]:
    """Return a function that says so when some seconds are over."""
    end = time.monotonic() + seconds

    def late() -> str:
        return SILENT if time.monotonic() > end else ""

    return late


def _stalled(blobs: Path) -> Callable[[], str]:
    """Return a function that says so when nothing below a folder of the hub's cache has changed for `STALL_S`.

    Another process may be the one that downloads, so that the files are looked at and not this process's own bytes.
    """
    seen: list[tuple[str, int, int]] | None = None
    changed = time.monotonic()

    def late() -> str:
        nonlocal seen, changed
        with contextlib.suppress(OSError):
            now = sorted((file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in os.scandir(blobs))
            if now != seen:
                seen, changed = now, time.monotonic()
        waited = time.monotonic() - changed
        if waited > STALL_S:
            return f"nothing has come for {waited:.0f} s"
        return ""

    return late


def _endpoint() -> str:
    return os.environ.get("HF_ENDPOINT") or "https://huggingface.co"


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
