"""A kept board: the records of a store as one file of lines, and the sums of its columns beside it. It is only read.

grid.jsonl        one line a record (trained, scores, grid), sorted by `path`: `<task>/<method>/<key>/<name>`; the rest
                  of a line is the record as it was stored, with its hash; a closing line has the SHA-256 of the lines
                  before it and of the file of sums
grid.sums.zip     the files `items-<hash>.safetensors` that scores name, each content once, not compressed

Weights and generated rows are not kept. The same records and sums give the same bytes.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path, PurePosixPath

from bench.base.files import write_atomic
from bench.base.keys import canonical, sha256
from bench.errors import StoreError, UsageError
from bench.store.files import DISK, Files
from bench.store.records import record_bytes

__all__ = ["KeptBoard", "files_at", "is_kept_board", "record_of", "sums_path", "write_kept_board"]

SUFFIX = ".jsonl"
ITEMS = "items-"
PARTS = 4
"""Of the path of a record: task, method, key, name."""
UNIX = 3
"""The system a zip file says it was made on, on whatever system it is made."""


class KeptBoard(Files):
    """The files of a kept board, under paths that begin with its own: `grid.jsonl/<task>/<method>/<key>/<name>`.

    Args:
        path: the file of records; that of the sums lies beside it.

    Raises:
        StoreError: it is damaged.
    """

    again = "get both files of the kept board again from where they came from, e.g. with git checkout"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folders: dict[Path, dict[str, bytes]] = {}
        try:
            lines = path.read_bytes().split(b"\n")
            if lines.pop() != b"":
                raise ValueError("its last line is cut")
            closing = json.loads(lines.pop())
            if closing["sha256"] != _hash_of(lines):
                raise ValueError("its lines do not have the hash they were stored with")
            self.sums_sha256 = str(closing["sums_sha256"])
            for line in lines:
                self._add(line)
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            raise StoreError(self._damaged(path, error)) from error

    def cells(self, root: Path) -> list[Path]:
        """Return the folders of all cells: each has a record of its training."""
        return self.below(root)

    def below(self, place: Path) -> list[Path]:
        """Return the folders of the cells below a path that begins with the board's."""
        return sorted(folder for folder in self.folders if folder.is_relative_to(place))

    def names(self, folder: Path, pattern: str) -> list[str]:
        """Return the names of a cell's records; sums belong to the whole board and are not listed."""
        return sorted(name for name in self.folders.get(folder, ()) if fnmatchcase(name, pattern))

    def exists(self, path: Path) -> bool:
        """Return whether a record, or the sums of a name, are kept."""
        return path.name in self._files(path)

    def read(self, path: Path) -> bytes:
        """Return the line of a record, or the bytes of a file of sums.

        Raises:
            FileNotFoundError: it is not kept.
            StoreError: the file of sums is damaged.
        """
        files = self._files(path)
        if path.name not in files:
            raise FileNotFoundError(f"'{path}' is not kept: a kept board has records and sums only")
        return files[path.name]

    def check_writable(self) -> None:
        """Refuse.

        Raises:
            UsageError: always.
        """
        raise UsageError(
            f"'{self.path}' is a kept board, which is only read and has no weights and no rows; to make results, name "
            f"a folder with --results"
        )

    @cached_property
    def sums(self) -> dict[str, bytes]:
        """The files of sums by name, read when the first is wanted."""
        path = sums_path(self.path)
        try:
            data = path.read_bytes()
            if sha256(data) != self.sums_sha256:
                raise ValueError(f"it does not have the hash that '{self.path}' was stored with")
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                return {name: archive.read(name) for name in archive.namelist()}
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            raise StoreError(self._damaged(path, error)) from error

    def _add(self, line: bytes) -> None:
        """Put the line of a record in its place."""
        place = PurePosixPath(json.loads(line.decode("utf-8", "surrogatepass"))["path"])
        if len(place.parts) != PARTS:
            raise ValueError(f"a record has the path '{place}', expected <task>/<method>/<key>/<name>")
        self.folders.setdefault(self.path / place.parent, {})[place.name] = line

    def _files(self, path: Path) -> Mapping[str, bytes]:
        """Return the files that a path can be one of: the sums of the board, or the records of a cell."""
        if path.name.startswith(ITEMS):
            return self.sums
        return self.folders.get(path.parent, {})

    def _damaged(self, path: Path, error: Exception) -> str:
        """Say that a file cannot be read, why, and what to do."""
        return f"kept board '{path}' cannot be read ({type(error).__name__}: {error}); {self.again}"


def is_kept_board(path: Path) -> bool:
    """Return whether a path names a kept board: a file that ends in `.jsonl`."""
    return path.suffix == SUFFIX and path.is_file()


def files_at(place: Path) -> Files:
    """Return what reads a path: the kept board that it is or lies in, else the disk.

    Raises:
        StoreError: the kept board is damaged.
    """
    for path in (place, *place.parents):
        if is_kept_board(path):
            return KeptBoard(path)
    return DISK


def sums_path(board: Path) -> Path:
    """Return where the sums of a kept board lie."""
    return board.with_suffix(".sums.zip")


def write_kept_board(path: Path, records: Mapping[str, bytes], sums: Mapping[str, bytes]) -> None:
    """Write the two files of a kept board, in place of those there were.

    Args:
        path: of the file of records; ends in `.jsonl`.
        records: stored records by `<task>/<method>/<key>/<name>`.
        sums: the files of sums that scores name, by name.

    Raises:
        StoreError: the disk is full or refuses.
    """
    archive = _zipped(sums)
    lines = [_line(place, record) for place, record in sorted(records.items())]
    closing = canonical({"sha256": _hash_of(lines), "sums_sha256": sha256(archive)})
    write_atomic(sums_path(path), archive, replace=True)
    write_atomic(path, b"".join(line + b"\n" for line in [*lines, closing]), replace=True)


def record_of(line: bytes) -> bytes:
    """Return the line of a record as the file that it was in a results folder."""
    record = json.loads(line.decode("utf-8", "surrogatepass"))
    del record["path"]
    return record_bytes(record)


def _line(place: str, data: bytes) -> bytes:
    """Return a record as a line: its path first, then the record with sorted keys."""
    record = json.loads(data.decode("utf-8", "surrogatepass"))
    record.pop("path", None)
    return b'{"path":' + canonical(place) + b"," + canonical(record).removeprefix(b"{")


def _hash_of(lines: list[bytes]) -> str:
    """Return the SHA-256 of lines with their line breaks."""
    return sha256(line + b"\n" for line in lines)


def _zipped(files: Mapping[str, bytes]) -> bytes:
    """Return files as a zip file, sorted, not compressed and without times: the same files give the same bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(files.items()):
            about = zipfile.ZipInfo(name)
            about.create_system = UNIX
            archive.writestr(about, content)
    return packed.getvalue()
