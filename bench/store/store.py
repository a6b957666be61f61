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

A key is the hash of what decides the content, so running again does only what is missing. `content` of a file is
canonical (same inputs, same bytes); `provenance` beside it (time, host, versions) is not.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from bench.base.files import write_atomic
from bench.base.keys import canonical, sha256
from bench.errors import StoreError

if TYPE_CHECKING:
    from bench.metrics.sums import Sums

SCHEMA = 1
TOKENIZER = "tokenizer.json"


@dataclass(frozen=True)
class StoredRows:
    """One rows file: what it is and its rows, sorted by id."""

    key: str
    content: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    sha256: str


@dataclass(frozen=True)
class CellFolder:
    """The folder of one trained cell."""

    path: Path

    def checkpoint(self, digest: str) -> Path:
        """Where the checkpoint with a SHA-256 lies."""
        return self.path / f"model-{digest[:16]}.safetensors"

    def trained(self) -> dict[str, Any] | None:
        """Return the content of `trained.json`, or None when the cell is not trained."""
        return read_record(self.path / "trained.json", "trained")

    def failed(self) -> dict[str, Any] | None:
        """Return the last failed attempt, or None."""
        return read_record(self.path / "failed.json", "failed")

    def write_trained(self, content: Mapping[str, Any], provenance: Mapping[str, Any]) -> dict[str, Any]:
        """Store what was trained, its checkpoint beside it; return what is stored: another run may have been first.

        Then only the checkpoint that the record vouches for is left.
        """
        write_record(self.path / "trained.json", "trained", content, provenance)
        stored = self.trained()
        assert stored is not None
        kept = None
        if "model" in stored:
            kept = self.checkpoint(stored["model"]["checkpoint_sha256"])
        for path in self.path.glob("model-*.safetensors"):
            if path != kept:
                path.unlink(missing_ok=True)
        return stored

    def write_failed(self, content: Mapping[str, Any], provenance: Mapping[str, Any]) -> None:
        """Note a failed attempt; the next run tries again."""
        write_record(self.path / "failed.json", "failed", content, provenance, replace=True)

    def clear_failed(self) -> None:
        """Forget the failed attempt: a later one has succeeded."""
        with contextlib.suppress(OSError):
            (self.path / "failed.json").unlink(missing_ok=True)

    def rows_path(self, key: str) -> Path:
        """Name of a rows file."""
        return self.path / rows_name(key)

    def rows(self, key: str) -> StoredRows | None:
        """Return a rows file, or None when it is not there; a damaged one raises StoreError."""
        path = self.rows_path(key)
        if not path.exists():
            return None
        return read_rows(path)

    def write_rows(
        self, key: str, content: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], provenance: Mapping[str, Any]
    ) -> None:
        """Store rows, one per example id, sorted by id."""
        header = {"schema": SCHEMA, "kind": "rows", "key": key, "content": content}
        lines = [canonical(header), *(canonical(row) for row in rows)]
        digest = sha256(line + b"\n" for line in lines)
        lines.append(canonical({"sha256": digest, "provenance": provenance}))
        write_atomic(self.rows_path(key), lambda file: _gzip(file, lines))

    def all_rows(self) -> list[StoredRows]:
        """Return every rows file of the cell."""
        return [read_rows(path) for path in sorted(self.path.glob("rows-*.jsonl.gz"))]

    def scores(self, key: str) -> dict[str, Any] | None:
        """Return the content of a scores file, or None."""
        return read_record(self.path / f"scores-{key}.json", "scores")

    def write_scores(
        self, key: str, content: Mapping[str, Any], provenance: Mapping[str, Any], *, replace: bool = False
    ) -> None:
        """Store one metric family's values over one rows file; `replace` is for what was left for want of a model."""
        write_record(self.path / f"scores-{key}.json", "scores", content, provenance, replace=replace)

    def write_items(self, items: Mapping[str, Sums]) -> str:
        """Store what columns are made of, row by row; return the hash that its scores file names."""
        from bench.store.sums_file import packed_items

        content = packed_items(items)
        digest = hashlib.sha256(content).hexdigest()[:16]
        write_atomic(self.items_path(digest), content)
        return digest

    def items_path(self, digest: str) -> Path:
        """Name of a file of items."""
        return self.path / f"items-{digest}.safetensors"

    def items(self, digest: str) -> dict[str, Sums]:
        """Return what each column is made of; nothing where the file is not there.

        Raises:
            StoreError: it is not the file that was stored.
        """
        from bench.store.sums_file import unpacked_items

        path = self.items_path(digest)
        if not path.is_file():
            return {}
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest()[:16] != digest:
            raise StoreError(f"{path}: is damaged; delete it and bench score makes it again")
        return unpacked_items(content, str(path))

    def write_grid(self, key: str, content: Mapping[str, Any], provenance: Mapping[str, Any]) -> None:
        """Store the search over settings that this cell was picked from."""
        write_record(self.path / f"grid-{key}.json", "grid", content, provenance)

    def grids(self) -> list[dict[str, Any]]:
        """Return the searches this cell was picked from."""
        contents = [read_record(path, "grid") for path in sorted(self.path.glob("grid-*.json"))]
        return [content for content in contents if content is not None]

    def all_scores(self) -> list[dict[str, Any]]:
        """Return every scores file's content; where a family was made anew by a later version, only that one's."""
        contents = [read_record(path, "scores") for path in sorted(self.path.glob("scores-*.json"))]
        scores = [content for content in contents if content is not None]
        latest: dict[tuple[str, str], int] = {}
        for content in scores:
            family = _family_of(content)
            latest[family] = max(latest.get(family, 0), content.get("version", 0))
        return [content for content in scores if content.get("version", 0) == latest[_family_of(content)]]


class Store:
    """All cells below one folder.

    Args:
        root: the results folder; made when first written to.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def cell(self, task: str, method: str, key: str) -> CellFolder:
        """Return a cell's folder, whether or not it is there."""
        return CellFolder(self.root / task / method / key)

    def cells(self) -> Iterator[CellFolder]:
        """Yield every cell folder there is, in name order."""
        if self.root.is_dir():
            for path in sorted(self.root.glob("[a-z0-9]*/*/*")):
                if path.is_dir() and ((path / "trained.json").exists() or (path / "failed.json").exists()):
                    yield CellFolder(path)


def _family_of(scores: Mapping[str, Any]) -> tuple[str, str]:
    """Return the metric family of a scores file and the rows it is over."""
    return scores.get("family", ""), scores.get("rows", "")


def rows_name(key: str) -> str:
    """Return the file name of rows."""
    return f"rows-{key}.jsonl.gz"


def write_record(
    path: Path, kind: str, content: Mapping[str, Any], provenance: Mapping[str, Any], *, replace: bool = False
) -> None:
    """Write a JSON record with the hash of its canonical content."""
    record = {
        "schema": SCHEMA,
        "kind": kind,
        "sha256": sha256(canonical(content)),
        "content": content,
        "provenance": provenance,
    }
    text = json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    write_atomic(path, text.encode("utf-8", "surrogatepass"), replace=replace)


def read_record(path: Path, kind: str) -> dict[str, Any] | None:
    """Read a JSON record and check its hash; None when the file is not there."""
    try:
        record = json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
        content: dict[str, Any] = dict(record["content"])
        good = record["kind"] == kind and record["sha256"] == sha256(canonical(content))
        schema = record["schema"]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(_damaged(path, f"{type(error).__name__}: {error}")) from error
    if not good:
        raise StoreError(_damaged(path, "its content does not have the hash it was stored with"))
    if schema != SCHEMA:
        raise StoreError(_damaged(path, f"it has schema {schema}, this version reads schema {SCHEMA}"))
    return content


def read_rows(path: Path) -> StoredRows:
    """Read a rows file and check it line by line against its closing hash."""
    try:
        with gzip.open(path, "rb") as file:
            lines = file.read().splitlines()
        header, closing = json.loads(lines[0]), json.loads(lines[-1])
        digest = sha256(line + b"\n" for line in lines[:-1])
        if closing["sha256"] != digest:
            raise ValueError("its lines do not have the hash they were stored with")
        if header["schema"] != SCHEMA or path.name != rows_name(header["key"]):
            raise ValueError(f"it is schema {header['schema']}, key {header['key']}")
        rows = [json.loads(line) for line in lines[1:-1]]
        return StoredRows(header["key"], header["content"], rows, digest)
    except (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError, RecursionError) as error:
        raise StoreError(_damaged(path, f"{type(error).__name__}: {error}")) from error


def _gzip(file: BinaryIO, lines: Sequence[bytes]) -> None:
    """Write lines compressed, without name and time: the same lines give the same bytes."""
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as packed:
        packed.write(b"".join(line + b"\n" for line in lines))


def _damaged(path: Path, why: str) -> str:
    """Say that a file cannot be read, why, and what to do."""
    return f"stored file '{path}' cannot be read ({why}); remove it and run the same command again to make it anew"
