"""The store: three immutable kinds of file under content-addressed names.

results/<task>/<method>/<trained key>/
    trained.json               what was trained and how; written last, so it vouches for the checkpoint beside it
    model-<hash>.safetensors   the checkpoint, named by its content: two runs at once cannot mix theirs up
    config.yaml                repeats the cell
    tokenizer.json             of the model, for cells of other tasks that start from it
    rows-<rows key>.jsonl.gz   one header line, one line per row, one closing line with the hash of the lines before
    scores-<scores key>.json   one metric family over one rows file
    items-<hash>.safetensors   what its columns are made of, row by row: what significance is tested on
    grid-<hash>.json           a search over settings that this cell was picked from, every combination with its loss
    failed.json                the last attempt, if it failed; gone once an attempt succeeds
results/.places/               where on this machine rows lay (`places.py`), which is of no record and leaves with none

A key is the hash of what decides the content, so running again does only what is missing. `content` of a file is
canonical (same inputs, same bytes); `provenance` beside it (time, host, versions) is not.

A store is a folder of these files, or a snapshot (`snapshot.py`): the same records as tables, without weights and rows.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from bench.base.keys import canonical, sha256
from bench.base.redaction import redacted, refuse_secrets
from bench.errors import DamagedError, MissingError
from bench.store.files import DISK, Disk, Files
from bench.store.former import former_folder, present_columns
from bench.store.records import (
    SCHEMA,
    StoredRows,
    method_of,
    read_record,
    read_rows,
    record_bytes,
    rows_name,
    whole_record,
)
from bench.store.snapshot import files_at
from bench.store.sums_header import column_names

if TYPE_CHECKING:
    from bench.metrics.sums import Sums
    from bench.store.sums_file import SumsFile

__all__ = [
    "TOKENIZER",
    "CellFolder",
    "Store",
    "StoredRows",
    "cell_at",
    "cells_below",
    "latest",
    "read_record",
    "read_rows",
]

TOKENIZER = "tokenizer.json"
SUMS_AGAIN = "delete it and bench score makes it again"


@dataclass(frozen=True)
class CellFolder:
    """The folder of one trained cell.

    Args:
        path: of the folder; in a snapshot it begins with the board's path.
        files: what reads and writes there.
    """

    path: Path
    files: Files = field(default=DISK, compare=False)

    @property
    def root(self) -> Path:
        """The results folder or snapshot that it is in, absolute."""
        return Path(os.path.abspath(self.path)).parent.parent.parent

    def names(self, pattern: str) -> list[str]:
        """Return the names of its files that fit a pattern like `scores-*.json`, sorted."""
        return self.files.names(self.path, pattern)

    def has(self, name: str) -> bool:
        """Return whether it has a file."""
        return self.files.exists(self.path / name)

    def checkpoint(self, digest: str) -> Path:
        """Return where the checkpoint with a SHA-256 lies.

        Raises:
            MissingError: the cell is in a snapshot, which has no weights.
        """
        if not isinstance(self.files, Disk):
            raise MissingError(
                f"'{self.path}' has no weights: a snapshot has records and statistics only; train the cell with bench "
                f"run and name its folder"
            )
        return self.path / f"model-{digest[:16]}.safetensors"

    def has_checkpoint(self, digest: str) -> bool:
        """Return whether the checkpoint with a SHA-256 is there; a snapshot has none."""
        return isinstance(self.files, Disk) and self.has(self.checkpoint(digest).name)

    def trained(self) -> dict[str, Any] | None:
        """Return the content of `trained.json`, or None when the cell is not trained."""
        return read_record(self.path / "trained.json", "trained", self.files)

    def record(self, name: str) -> dict[str, Any]:
        """Return a whole record that is there, with what is beside its content.

        Raises:
            DamagedError: it is damaged.
            MissingError: it is not there.
        """
        record = whole_record(self.path / name, name.partition(".")[0].partition("-")[0], self.files)
        if record is None:
            raise MissingError(f"'{self.path / name}' is not there")
        return record

    def failed(self) -> dict[str, Any] | None:
        """Return the last failed attempt, or None."""
        return read_record(self.path / "failed.json", "failed", self.files)

    def provenance(self) -> dict[str, Any]:
        """Return the circumstances that `trained.json` was made in; nothing when the cell is not trained."""
        record = whole_record(self.path / "trained.json", "trained", self.files)
        if record is None:
            return {}
        return dict(record["provenance"])

    def write_trained(self, content: Mapping[str, Any], provenance: Mapping[str, Any]) -> dict[str, Any]:
        """Store what was trained, its checkpoint beside it; return what is stored: another run may have been first.

        Then only the checkpoint that the record vouches for is left.
        """
        self._write_record("trained.json", "trained", content, provenance)
        stored = self.trained()
        assert stored is not None
        kept = None
        if "model" in stored:
            kept = self.checkpoint(stored["model"]["checkpoint_sha256"]).name
        for name in self.names("model-*.safetensors"):
            if name != kept:
                self.files.remove(self.path / name)
        return stored

    def write_failed(self, content: Mapping[str, Any], provenance: Mapping[str, Any]) -> None:
        """Note a failed attempt; the next run tries again."""
        self._write_record("failed.json", "failed", content, provenance, replace=True)

    def clear_failed(self) -> None:
        """Forget the failed attempt: a later one has succeeded."""
        with contextlib.suppress(OSError):
            self.files.remove(self.path / "failed.json")

    def rows_path(self, key: str) -> Path:
        """Name of a rows file."""
        return self.path / rows_name(key)

    def rows(self, key: str) -> StoredRows | None:
        """Return a rows file, or None when it is not there; a damaged one raises StoreError."""
        if not self.has(rows_name(key)):
            return None
        return read_rows(self.rows_path(key), self.files)

    def write_rows(
        self, key: str, content: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], provenance: Mapping[str, Any]
    ) -> None:
        """Store rows, one per example id, sorted by id.

        Raises:
            StoreError: a row holds a secret.
        """
        header = {"schema": SCHEMA, "kind": "rows", "key": key, "content": content}
        lines = [canonical(header), *(canonical(row) for row in rows)]
        refuse_secrets(b"\n".join(lines), f"a row of '{self.rows_path(key)}'")
        digest = sha256(line + b"\n" for line in lines)
        lines.append(canonical({"sha256": digest, "provenance": provenance}))
        self.files.write(self.rows_path(key), lambda file: _gzip(file, lines))

    def all_rows(self) -> list[StoredRows]:
        """Return every rows file of the cell."""
        return [read_rows(self.path / name, self.files) for name in self.names("rows-*.jsonl.gz")]

    def scores(self, key: str) -> dict[str, Any] | None:
        """Return the content of a scores file, or None."""
        return read_record(self.path / f"scores-{key}.json", "scores", self.files)

    def write_scores(
        self, key: str, content: Mapping[str, Any], provenance: Mapping[str, Any], *, replace: bool = False
    ) -> None:
        """Store one metric family's values over one rows file; `replace` is for what was left for want of a model."""
        self._write_record(f"scores-{key}.json", "scores", content, provenance, replace=replace)

    def write_sums(self, sums: Mapping[str, Sums]) -> str:
        """Store the sums that columns are made of, row by row; return the hash that their scores file names."""
        from bench.store.sums_file import packed_sums

        content = packed_sums(sums)
        digest = hashlib.sha256(content).hexdigest()[:16]
        self.files.write(self.sums_path(digest), content)
        return digest

    def sums_path(self, digest: str) -> Path:
        """Path of a file of sums."""
        return self.path / f"items-{digest}.safetensors"

    def sums(self, digest: str) -> dict[str, Sums]:
        """Return the sums of each column; nothing where the file is not there.

        Raises:
            DamagedError: it is not the file that was stored.
        """
        file = self.sums_file(digest)
        if file is None:
            return {}
        return file.all_columns()

    def sums_file(self, digest: str) -> SumsFile | None:
        """Return a file of sums whose columns are unpacked one by one; None where it is not there.

        Raises:
            DamagedError: it is not the file that was stored.
        """
        from bench.store.sums_file import SumsFile

        path = self.sums_path(digest)
        file = self.files.sums_file(path)
        if file is None and self.has(path.name):
            file = SumsFile.parsed(self.checked_sums(digest), str(path))
        if file is None:
            return None
        return SumsFile(file.tensors, present_columns(method_of(path), file.columns), file.where)

    def sum_columns(self, digest: str) -> list[str] | None:
        """Return the names of the columns in a file of sums; None where it is not there.

        Raises:
            DamagedError: it is not the file that was stored.
            ValueError: it is no file of sums.
        """
        path = self.sums_path(digest)
        held = self.files.sum_columns(path)
        if held is None and self.has(path.name):
            return column_names(self.checked_sums(digest))
        return held

    def checked_sums(self, digest: str) -> bytes:
        """Return the bytes of a file of sums.

        Raises:
            DamagedError: it is not the file that was stored.
        """
        path = self.sums_path(digest)
        try:
            content = self.files.read(path)
        except OSError as error:
            raise DamagedError(path, f"{type(error).__name__}: {error}", SUMS_AGAIN) from error
        if hashlib.sha256(content).hexdigest()[:16] != digest:
            raise DamagedError(path, "it is damaged: its bytes do not have the hash in its name", SUMS_AGAIN)
        return content

    def write_grid(self, key: str, content: Mapping[str, Any], provenance: Mapping[str, Any]) -> None:
        """Store the search over settings that this cell was picked from."""
        self._write_record(f"grid-{key}.json", "grid", content, provenance)

    def grids(self) -> list[dict[str, Any]]:
        """Return the searches this cell was picked from."""
        return self._contents("grid-*.json", "grid")

    def all_scores(self) -> list[dict[str, Any]]:
        """Return every scores file's content; where a family was made anew by a later version, only that one's."""
        return latest(self._contents("scores-*.json", "scores"))

    def _contents(self, pattern: str, kind: str) -> list[dict[str, Any]]:
        """Return the contents of the records whose names fit a pattern, in name order."""
        contents = [read_record(self.path / name, kind, self.files) for name in self.names(pattern)]
        return [content for content in contents if content is not None]

    def _write_record(
        self, name: str, kind: str, content: Mapping[str, Any], provenance: Mapping[str, Any], *, replace: bool = False
    ) -> None:
        """Write a JSON record with the hash of its canonical content, without secrets."""
        content, provenance = redacted(content), redacted(provenance)
        record = {
            "schema": SCHEMA,
            "kind": kind,
            "sha256": sha256(canonical(content)),
            "content": content,
            "provenance": provenance,
        }
        self.files.write(self.path / name, record_bytes(record), replace=replace)


class Store:
    """All cells of one results folder or snapshot.

    Args:
        root: the results folder, made when first written to; or the file of a snapshot, which is only read.

    Attributes:
        damaged: the damaged files that were met while it was read, by path.

    Raises:
        StoreError: the snapshot is damaged.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = files_at(root)
        self.damaged: dict[Path, DamagedError] = {}

    @property
    def parts(self) -> Sequence[Store]:
        """The stores it is read from: itself."""
        return [self]

    def cell(self, task: str, method: str, key: str) -> CellFolder:
        """Return a cell's folder, whether or not it is there; where only an earlier version trained it, that one's."""
        cell = CellFolder(self.root / task / method / key, self.files)
        if former := former_folder(method):
            stored = CellFolder(self.root / task / former / key, self.files)
            if stored.has("trained.json") and not cell.has("trained.json"):
                return stored
        return cell

    def cells(self) -> Iterator[CellFolder]:
        """Yield every cell folder there is, in name order."""
        for path in self.files.cells(self.root):
            yield CellFolder(path, self.files)

    def note(self, error: DamagedError) -> None:
        """Remember a damaged file that was passed over."""
        self.damaged.setdefault(error.path, error)


class Stores(Store):
    """Several stores that are read as one: a cell is taken from the first that has it. Nothing is written.

    Args:
        roots: results folders and snapshots.

    Raises:
        ValueError: no root is given.
        StoreError: a snapshot is damaged.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        if not roots:
            raise ValueError("expected at least one store")
        super().__init__(roots[0])
        self._parts = [Store(root) for root in roots]
        for part in self._parts:
            part.damaged = self.damaged

    @property
    def parts(self) -> Sequence[Store]:
        """The stores, in the order they were given."""
        return self._parts

    def cell(self, task: str, method: str, key: str) -> CellFolder:
        """Return a cell's folder in the first store that has it."""
        folders = [part.cell(task, method, key) for part in self.parts]
        return next((folder for folder in folders if folder.has("trained.json")), folders[0])

    def cells(self) -> Iterator[CellFolder]:
        """Yield every cell folder there is, store by store."""
        for part in self.parts:
            yield from part.cells()


def cell_at(path: Path) -> CellFolder:
    """Return the cell of a folder that somebody typed, which may lie in a snapshot.

    Raises:
        StoreError: the snapshot is damaged.
    """
    return CellFolder(path, files_at(path))


def cells_below(place: Path) -> list[CellFolder]:
    """Return the trained cells at or below a folder or snapshot.

    Raises:
        StoreError: the snapshot is damaged.
    """
    files = files_at(place)
    return [CellFolder(path, files) for path in files.below(place)]


def latest(scores: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return scores but those of a metric family that a later version made anew."""
    versions: dict[tuple[str, str], int] = {}
    for content in scores:
        family = _family_of(content)
        versions[family] = max(versions.get(family, 0), content.get("version", 0))
    return [content for content in scores if content.get("version", 0) == versions[_family_of(content)]]


def _family_of(scores: Mapping[str, Any]) -> tuple[str, str]:
    """Return the metric family of a scores file and the rows it is over."""
    return scores.get("family", ""), scores.get("rows", "")


def _gzip(file: BinaryIO, lines: Sequence[bytes]) -> None:
    """Write lines compressed, without name and time: the same lines give the same bytes."""
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as packed:
        packed.write(b"".join(line + b"\n" for line in lines))
