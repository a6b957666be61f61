"""The hub: a task's parquet files, downloaded at a known commit and kept as JSON lines.

They are downloaded by `downloads` and read by `datasets`. They are kept as JSON lines, because that is a form in which
people may bring the rows by hand, and a task should read one form only.
"""

from __future__ import annotations

import contextlib
import fnmatch
import gzip
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from bench.base.files import write_atomic
from bench.errors import DataError
from bench.tasks.fetch.downloads import Remote, Repository, digest_of, download, listing
from bench.tasks.fetch.folders import claim, discard, publish
from bench.tasks.fetch.hub_rows import HubRows, unpinned
from bench.tasks.fetch.parquet import rows_of

__all__ = ["HubCopy", "fetch", "write_lines"]

ORIGIN = "origin.json"
"""In the folder of a copy: what it is a copy of."""

LEVEL = 3  # of gzip: within a tenth of the size of level 6 on prose, in half the time

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

    def hub_rows(self, folder: Path) -> HubRows | None:
        """Return which commit a folder is a copy of; None where it was brought by hand, or from another place."""
        try:
            origin = json.loads((folder / ORIGIN).read_bytes())
            if origin["repository"] != self.repository:
                return None
            return HubRows(self.repository, self.revision, str(origin["commit"]))
        except (OSError, ValueError, LookupError, TypeError):
            return None

    def described(self, folder: Path) -> str:
        """Return what a folder is a copy of, for people; nothing where it was brought by hand."""
        rows = self.hub_rows(folder)
        if rows is None:
            return ""
        return f"{rows.repository} at {rows.commit[:12]}{unpinned(rows.revision)}"


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
        return f"hub: {copy.described(folder) or copy.repository}, kept in {folder}"
    repository = Repository(copy.repository, copy.revision, _by_hand(copy, folder.name))
    commit, files = listing(repository)
    chosen = {split: _chosen(copy, split, files) for split in copy.files}
    unfinished = claim(folder, resume=True)
    origin = _resumed(unfinished, copy, commit)
    try:
        for split in _smallest_first(chosen):
            if split not in origin["splits"]:
                paths = {file.path: download(repository, commit, file, progress=progress) for file in chosen[split]}
                origin["splits"][split] = _convert(copy, commit, paths, unfinished, split, write)
                _remember(unfinished, origin)
    except DataError:
        discard(unfinished)
        raise
    publish(unfinished, folder)
    return f"hub: {copy.described(folder)}, kept in {folder}"


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
        files.append({"path": name, "bytes": path.stat().st_size, "sha256": digest_of(path)})
    return {"rows": count, "files": files}


def _resumed(unfinished: Path, copy: HubCopy, commit: str) -> dict[str, Any]:
    """Return what an earlier run wrote of the same commit in the same form, or a fresh start."""
    fresh = {"repository": copy.repository, "commit": commit, "columns": dict(copy.columns), "splits": {}}
    with contextlib.suppress(OSError, ValueError, AttributeError):
        earlier: dict[str, Any] = json.loads((unfinished / ORIGIN).read_bytes())
        if {**earlier, "splits": {}} == fresh and set(earlier["splits"]) <= set(copy.files):
            return earlier
    discard(unfinished)
    unfinished.mkdir(parents=True)
    return fresh


def _remember(unfinished: Path, origin: Mapping[str, Any]) -> None:
    text = json.dumps(origin, indent=1, sort_keys=True) + "\n"
    write_atomic(unfinished / ORIGIN, text.encode(), replace=True)


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
