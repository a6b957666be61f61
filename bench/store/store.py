"""The store: three immutable kinds of file under content-addressed names.

results/<task>/<method>/<trained key>/
    trained.json               the record of the training; written last, so its checkpoint is whole
    model-<hash>.safetensors   the checkpoint, named by its content
    config.yaml                repeats the run
    tokenizer.json             of the model, for runs of other tasks that start from it
    rows-<key>.jsonl.gz        predictions: a header line, one line an example, a closing line with the hash of these
    scores-<key>.json          the values of one metric family over one predictions file
    items-<hash>.safetensors   the sufficient statistics of these values, example by example, for significance tests
    grid-<key>.json            a search over settings that this run was picked from, every combination with its loss
    failed.json                the last attempt, if it failed; removed once an attempt succeeds

A key is the hash of all that decides the content, so running again makes only missing files. The `content` of a file is
canonical (same inputs, same bytes); its `provenance` (time, host, versions) is not.

A store is a folder of these files, or a snapshot (`snapshot.py`): the same records as tables, without weights and
predictions.
"""

from __future__ import annotations

import contextlib
import gzip
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from bench.base.files import hash_of
from bench.base.keys import canonical, sha256
from bench.errors import DamagedError, MissingError
from bench.store.files import DISK, SCHEMA, Files, StoredRows, kind_of, record_bytes, rows_name
from bench.store.former import former_folder, present_columns, present_predictions, present_record
from bench.store.snapshot import files_at

if TYPE_CHECKING:
    from bench.metrics.sums import Sums
    from bench.store.sums_file import SumsFile

TOKENIZER = "tokenizer.json"
T = TypeVar("T")


@dataclass(frozen=True)
class CellFolder:
    """The folder of one run.

    Args:
        path: of the folder; in a snapshot it begins with the snapshot's path.
        files: reads and writes there.
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
            MissingError: the run is in a snapshot, which has no weights.
        """
        if self.files.is_snapshot:
            raise MissingError(
                f"'{self.path}' has no weights: a snapshot has records and statistics only; train the run with bench "
                f"run and name its folder"
            )
        return self.path / f"model-{digest[:16]}.safetensors"

    def has_checkpoint(self, digest: str) -> bool:
        """Return whether the checkpoint with a SHA-256 is there; a snapshot has none."""
        return not self.files.is_snapshot and self.has(self.checkpoint(digest).name)

    def trained(self) -> dict[str, Any] | None:
        """Return the content of `trained.json`, or None when the run is not trained."""
        return self.content("trained.json")

    def content(self, name: str) -> dict[str, Any] | None:
        """Return the content of a JSON record as this version writes it; None when it is not there.

        Raises:
            DamagedError: it is damaged, or of a later schema.
        """
        record = self.files.record(self.path / name)
        if record is None:
            return None
        try:
            return present_record(kind_of(name), self._method, record["content"])
        except (LookupError, TypeError, AttributeError) as error:
            raise self.files.damaged(self.path / name, error) from error

    def contents(self, pattern: str) -> list[dict[str, Any]]:
        """Return the contents of the JSON records whose names fit a pattern like `grid-*.json`, in name order.

        Raises:
            DamagedError: one is damaged, or of a later schema.
        """
        return [content for content in map(self.content, self.names(pattern)) if content is not None]

    def record(self, name: str) -> dict[str, Any]:
        """Return `content` and `provenance` of a record as it was stored.

        Raises:
            DamagedError: it is damaged.
            MissingError: it is not there.
        """
        record = self.files.record(self.path / name)
        if record is None:
            raise MissingError(f"'{self.path / name}' is not there")
        return record

    def write_record(
        self, name: str, content: Mapping[str, Any], provenance: Mapping[str, Any], *, replace: bool = False
    ) -> None:
        """Store a JSON record; one that is there stays, unless `replace` is set.

        Raises:
            UsageError: the run is in a snapshot.
            StoreError: the disk is full or refuses.
        """
        record = record_bytes(kind_of(name), content, provenance)
        self.files.write(self.path / name, record, replace=replace)

    def write_trained(self, content: Mapping[str, Any], provenance: Mapping[str, Any]) -> dict[str, Any]:
        """Store the record of a training whose checkpoint is there, and return the record that is stored then.

        It may be that of another process, which was first. Checkpoints that it does not name are removed.
        """
        self.write_record("trained.json", content, provenance)
        stored = self.trained()
        assert stored is not None
        kept = None
        if "model" in stored:
            kept = self.checkpoint(stored["model"]["checkpoint_sha256"]).name
        for name in self.names("model-*.safetensors"):
            if name != kept:
                self.files.remove(self.path / name)
        return stored

    def clear_failed(self) -> None:
        """Forget the failed attempt: a later one has succeeded."""
        with contextlib.suppress(OSError):
            self.files.remove(self.path / "failed.json")

    def rows_path(self, key: str) -> Path:
        """Return the path of a predictions file."""
        return self.path / rows_name(key)

    def rows(self, key: str) -> StoredRows | None:
        """Return predictions as this version makes them, or None when they are not there.

        Raises:
            DamagedError: their file is damaged, or of a later schema.
        """
        path = self.rows_path(key)
        if not self.has(path.name):
            return None
        stored = self.files.rows(path)
        try:
            return replace(stored, rows=present_predictions(self._method, stored.content, stored.rows))
        except (LookupError, TypeError, AttributeError) as error:
            raise self.files.damaged(path, error) from error

    def write_rows(
        self, key: str, content: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], provenance: Mapping[str, Any]
    ) -> None:
        """Store predictions, one row for each example id, sorted by id."""
        header = {"schema": SCHEMA, "kind": "rows", "key": key, "content": content}
        lines = [canonical(header), *(canonical(row) for row in rows)]
        digest = sha256(line + b"\n" for line in lines)
        lines.append(canonical({"sha256": digest, "provenance": provenance}))
        self.files.write(self.rows_path(key), lambda file: _gzip(file, lines))

    def row_keys(self) -> list[str]:
        """Return the keys of its predictions, sorted."""
        return [name.removeprefix("rows-").removesuffix(".jsonl.gz") for name in self.names("rows-*.jsonl.gz")]

    def all_rows(self) -> list[StoredRows]:
        """Return every predictions file of the run."""
        return [stored for stored in map(self.rows, self.row_keys()) if stored is not None]

    def write_sums(self, sums: Mapping[str, Sums]) -> str:
        """Store the sufficient statistics of columns; return the hash that their scores file names."""
        from bench.store.sums_file import packed_sums

        content = packed_sums(sums)
        digest = sha256(content)[:16]
        self.files.write(self.sums_path(digest), content)
        return digest

    def sums_path(self, digest: str) -> Path:
        """Return the path of a file of sufficient statistics."""
        return self.path / f"items-{digest}.safetensors"

    def sums(self, digest: str) -> dict[str, Sums]:
        """Return the sufficient statistics of each column; nothing where the file is not there.

        Raises:
            DamagedError: it is not the file that was stored.
        """
        file = self.sums_file(digest)
        return {} if file is None else {name: file.column(name) for name in file.columns}

    def sums_file(self, digest: str) -> SumsFile | None:
        """Return a file of sufficient statistics, whose columns are unpacked one by one; None where it is not there.

        Raises:
            DamagedError: it is not the file that was stored.
        """
        file = self.files.sums_file(self.sums_path(digest))
        if file is not None:
            file.columns = present_columns(self._method, file.columns)
        return file

    def all_scores(self) -> list[dict[str, Any]]:
        """Return the content of every scores file, of each metric family only the latest version."""
        return latest(self.contents("scores-*.json"))

    @cached_property
    def _method(self) -> str:
        """The method that the run is stored under."""
        return Path(os.path.abspath(self.path)).parent.name


class Store:
    """All runs of a results folder or snapshot, or of several that are read as one.

    Args:
        roots: results folders, which the first write makes, and folders of snapshots, which are never written; one or
            more. A run is taken from the first that has it.

    Attributes:
        root: the first of them.
        files: reads and writes there.
        damaged: the damaged files that were found while it was read, by path.

    Raises:
        StoreError: a snapshot is damaged.
    """

    def __init__(self, *roots: Path) -> None:
        self._places = [(root, files_at(root)) for root in roots]
        self.root, self.files = self._places[0]
        self.damaged: dict[Path, DamagedError] = {}

    def cell(self, task: str, method: str, key: str) -> CellFolder:
        """Return the folder of a run, there or not; an earlier version may have stored it under another name."""
        names = [name for name in (method, former_folder(method)) if name]
        folders = [CellFolder(root / task / name / key, files) for root, files in self._places for name in names]
        return next((folder for folder in folders if folder.has("trained.json")), folders[0])

    def cells(self, tasks: Collection[str] | None = None) -> Iterator[CellFolder]:
        """Yield the folder of every run, of some tasks or of all, in name order; one results folder after another."""
        for root, files in self._places:
            for path in files.cells(root, tasks):
                yield CellFolder(path, files)

    def readable(self, read: Callable[[], T]) -> T | None:
        """Return the result of reading, such as by `cell.trained`; None where a file is damaged, which is noted."""
        try:
            return read()
        except DamagedError as error:
            self.damaged.setdefault(error.path, error)
            return None


def cell_at(path: Path) -> CellFolder:
    """Return the run in a folder, which may be in a snapshot.

    Raises:
        StoreError: the snapshot is damaged.
    """
    return CellFolder(path, files_at(path))


def cells_below(place: Path) -> list[CellFolder]:
    """Return the trained runs at or below a folder or snapshot.

    Raises:
        StoreError: the snapshot is damaged.
    """
    files = files_at(place)
    return [CellFolder(path, files) for path in files.below(place)]


def check_checkpoint(cell: CellFolder) -> None:
    """Do nothing where the checkpoint of a run is as it was stored, or is not there.

    Raises:
        DamagedError: it is damaged, or the record of the training is.
    """
    digest = (cell.trained() or {}).get("model", {}).get("checkpoint_sha256")
    if digest is None or not cell.has_checkpoint(digest):
        return
    path = cell.checkpoint(digest)
    try:
        if hash_of(path) != digest:
            raise ValueError("it does not have the hash it was stored with")
    except (OSError, ValueError) as error:
        raise cell.files.damaged(path, error) from error


def latest(scores: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return scores, of each metric family over the same predictions those of the latest version."""
    versions: dict[tuple[str, str], int] = {}
    for content in scores:
        family = _family_of(content)
        versions[family] = max(versions.get(family, 0), content.get("version", 0))
    return [content for content in scores if content.get("version", 0) == versions[_family_of(content)]]


def _family_of(scores: Mapping[str, Any]) -> tuple[str, str]:
    """Return the metric family of scores and the predictions that they are computed from."""
    return scores.get("family", ""), scores.get("rows", "")


def _gzip(file: BinaryIO, lines: Sequence[bytes]) -> None:
    """Write lines compressed, without name and time: the same lines give the same bytes."""
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as packed:
        packed.write(b"".join(line + b"\n" for line in lines))
