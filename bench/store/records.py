"""Records: the stored files as they are read, with their hashes and their schema checked."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.base.keys import canonical, sha256
from bench.base.version import __version__
from bench.errors import DamagedError
from bench.store.files import DISK, Files
from bench.store.former import present_predictions, present_record

__all__ = [
    "SCHEMA",
    "NewerSchema",
    "StoredRows",
    "check_schema",
    "method_of",
    "read_record",
    "read_rows",
    "record_bytes",
    "rows_name",
    "whole_record",
]

SCHEMA = 1
"""Schema of the files that this version writes; one of a later version is left alone."""
VERSION = re.compile(r"[0-9][0-9A-Za-z.+-]{0,30}")


class NewerSchema(ValueError):
    """A file was written by a later version.

    Args:
        schema: of the file.
        version: that wrote it; empty where the file does not say.
    """

    def __init__(self, schema: int, version: str) -> None:
        writer, self.todo = "", "install a later version with pip install --upgrade objective-bench"
        if version:
            writer = f", written by version {version}"
            self.todo = f"install it with pip install 'objective-bench>={version}'"
        self.todo += "; the file is good, keep it"
        super().__init__(
            f"it has schema {schema}{writer}; this is version {__version__}, which reads up to schema {SCHEMA}"
        )


@dataclass(frozen=True)
class StoredRows:
    """One rows file: what it is and its rows, sorted by id."""

    key: str
    content: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    sha256: str


def rows_name(key: str) -> str:
    """Return the file name of rows."""
    return f"rows-{key}.jsonl.gz"


def method_of(path: Path) -> str:
    """Return the method whose run a file `<root>/<task>/<method>/<key>/<name>` is of."""
    return path.absolute().parent.parent.name


def record_bytes(record: Mapping[str, Any]) -> bytes:
    """Return a JSON record as its file has it."""
    text = json.dumps(record, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False) + "\n"
    return text.encode("utf-8", "surrogatepass")


def read_record(path: Path, kind: str, files: Files = DISK) -> dict[str, Any] | None:
    """Return the content of a JSON record whose hash is right, as this version writes it; None when it is not there.

    Raises:
        DamagedError: it is damaged, or of a later schema.
    """
    content = files.content(path)
    if content is None:
        record = whole_record(path, kind, files)
        if record is None:
            return None
        content = record["content"]
    try:
        return present_record(kind, method_of(path), content)
    except (LookupError, TypeError, AttributeError) as error:
        raise _damaged(path, error, files) from error


def whole_record(path: Path, kind: str, files: Files = DISK) -> dict[str, Any] | None:
    """Return a JSON record with what is beside its content; None when the file is not there.

    Raises:
        DamagedError: it is damaged, or of a later schema.
    """
    try:
        record: dict[str, Any] = json.loads(files.read(path).decode("utf-8", "surrogatepass"))
        check_schema(record["schema"], record.get("provenance"))
        record["content"] = dict(record["content"])
        if record["kind"] != kind or record["sha256"] != sha256(canonical(record["content"])):
            raise ValueError("its content does not have the hash it was stored with")
        return record
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(path, error, files) from error


def read_rows(path: Path, files: Files = DISK) -> StoredRows:
    """Read a rows file, check it line by line against its closing hash, and return its rows as this version makes them.

    Raises:
        DamagedError: it is damaged, or of a later schema.
    """
    try:
        lines = gzip.decompress(files.read(path)).splitlines()
        header, closing = json.loads(lines[0]), json.loads(lines[-1])
        check_schema(header["schema"], closing.get("provenance"))
        digest = sha256(line + b"\n" for line in lines[:-1])
        if closing["sha256"] != digest:
            raise ValueError("its lines do not have the hash they were stored with")
        if path.name != rows_name(header["key"]):
            raise ValueError(f"it is schema {header['schema']}, key {header['key']}")
        rows = present_predictions(method_of(path), header["content"], [json.loads(line) for line in lines[1:-1]])
        return StoredRows(header["key"], header["content"], rows, digest)
    except (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(path, error, files) from error


def check_schema(schema: object, provenance: object) -> None:
    """Do nothing where this version can read a schema.

    Raises:
        NewerSchema: it is that of a later version.
        ValueError: it is no schema.
    """
    if not isinstance(schema, int) or schema < 1:
        raise ValueError(f"its schema is {schema!r:.40}, expected a whole number from 1 to {SCHEMA}")
    if schema == SCHEMA:
        return
    version = provenance.get("bench") if isinstance(provenance, Mapping) else None
    if version == __version__:
        raise ValueError(f"its schema is {schema}, and version {version}, which wrote it, has none above {SCHEMA}")
    if not isinstance(version, str) or not VERSION.fullmatch(version):
        version = ""  # nothing that a file says is repeated unless it is a version
    raise NewerSchema(schema, version)


def _damaged(path: Path, error: Exception, files: Files) -> DamagedError:
    """Return the error that says why a file cannot be read and what to do."""
    if isinstance(error, NewerSchema):
        return DamagedError(path, str(error), error.todo, is_newer=True)
    why = f"{type(error).__name__}: {error}"
    if type(error) is ValueError:  # our own words
        why = str(error)
    return DamagedError(path, why, files.again)
