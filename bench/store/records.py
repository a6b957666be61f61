"""Records: the stored files as they are read, with their hashes and their schema checked."""

from __future__ import annotations

import gzip
import json
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

SCHEMA = 1
"""Schema of the files that this version writes; one of a later version is left alone."""


class NewerSchema(ValueError):
    """A file was written by a later version."""

    todo = "install a later version with pip install --upgrade objective-bench; the file is good, keep it"


@dataclass(frozen=True)
class StoredRows:
    """The content of a predictions file: its header and its rows, sorted by id."""

    key: str
    content: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    sha256: str


def rows_name(key: str) -> str:
    """Return the file name of predictions."""
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
    """Return a JSON record with its hash and provenance; None when the file is not there.

    Raises:
        DamagedError: it is damaged, or of a later schema.
    """
    try:
        record: dict[str, Any] = json.loads(files.read(path).decode("utf-8", "surrogatepass"))
        check_schema(record["schema"])
        record["content"] = dict(record["content"])
        if record["kind"] != kind or record["sha256"] != sha256(canonical(record["content"])):
            raise ValueError("its content does not have the hash it was stored with")
        return record
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(path, error, files) from error


def read_rows(path: Path, files: Files = DISK) -> StoredRows:
    """Read a predictions file, check the hash that closes it, and return its rows as this version writes them.

    Raises:
        DamagedError: it is damaged, or of a later schema.
    """
    try:
        lines = gzip.decompress(files.read(path)).splitlines()
        header, closing = json.loads(lines[0]), json.loads(lines[-1])
        check_schema(header["schema"])
        digest = sha256(line + b"\n" for line in lines[:-1])
        if closing["sha256"] != digest:
            raise ValueError("its lines do not have the hash they were stored with")
        if path.name != rows_name(header["key"]):
            raise ValueError(f"it is schema {header['schema']}, key {header['key']}")
        rows = present_predictions(method_of(path), header["content"], [json.loads(line) for line in lines[1:-1]])
        return StoredRows(header["key"], header["content"], rows, digest)
    except (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(path, error, files) from error


def check_schema(schema: object) -> None:
    """Do nothing where this version can read a schema.

    Raises:
        NewerSchema: it is that of a later version.
        ValueError: it is no schema.
    """
    if not isinstance(schema, int) or schema < 1:
        raise ValueError(f"its schema is {schema!r:.40}, expected a whole number from 1 to {SCHEMA}")
    if schema > SCHEMA:
        raise NewerSchema(f"it has schema {schema}; this is version {__version__}, which reads up to schema {SCHEMA}")


def _damaged(path: Path, error: Exception, files: Files) -> DamagedError:
    """Return the error with the reason why a file cannot be read, and the remedy."""
    if isinstance(error, NewerSchema):
        return DamagedError(path, str(error), error.todo)
    why = f"{type(error).__name__}: {error}"
    if type(error) is ValueError:  # the message of a check above, which is a whole sentence
        why = str(error)
    return DamagedError(path, why, files.remedy(path))
