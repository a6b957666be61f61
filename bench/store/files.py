"""Files of a store on disk: how runs are found, and how their files are read, checked and written.

`Snapshot` has the same methods for a snapshot.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from bench.base.files import write_atomic
from bench.base.keys import canonical, sha256
from bench.base.version import __version__
from bench.errors import DamagedError

if TYPE_CHECKING:
    from bench.store.sums_file import SumsFile

SCHEMA = 1
"""Schema of the files that this version writes; one of a later version is left alone."""
RECORDS = ("trained.json", "failed.json")
"""A folder with one of them is a run."""
MADE_AGAIN = {
    "trained.json": "bench run trains the run again; its predictions and scores stay",
    "scores-": "bench score makes it again",
    "items-": "bench score makes it again",
    "model-": "remove trained.json in the same folder, too; bench run trains the run again",
    "": "bench run makes it again",
}
"""How a file is made again once it is removed, by the beginning of its name."""
UNREADABLE = (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""Errors of reading a file that is damaged, or of another program."""


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


class Files:
    """Files of runs on disk. A path is `<root>/<task>/<method>/<key>/<name>`."""

    is_snapshot = False
    """Whether there are records and statistics only, which are never written."""
    submitted_by = ""
    """The people who have submitted a snapshot; empty for results of this machine and this repository."""

    def cells(self, root: Path, tasks: Collection[str] | None = None) -> Iterator[Path]:
        """Yield the folders of the runs of a store that are trained or failed, of some tasks or all, in name order."""
        for path in run_folders(root, tasks):
            if any((path / name).exists() for name in RECORDS):
                yield path

    def below(self, place: Path) -> list[Path]:
        """Return the folders of the trained runs at or below a folder, in name order, but hidden ones."""
        folders = [path.parent for path in sorted(place.rglob("trained.json"))]
        return [folder for folder in folders if not any(p.startswith(".") for p in folder.relative_to(place).parts)]

    def names(self, folder: Path, pattern: str) -> list[str]:
        """Return the names in a run's folder that fit a pattern like `scores-*.json`, sorted."""
        return sorted(path.name for path in folder.glob(pattern))

    def exists(self, path: Path) -> bool:
        """Return whether a file is there; a folder in place of a file is found when it is read."""
        return path.exists()

    def record(self, path: Path) -> dict[str, Any] | None:
        """Return `content` and `provenance` of a JSON record; None when it is not there.

        Raises:
            DamagedError: it is damaged, or of a later schema.
        """
        try:
            record: dict[str, Any] = json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
            check_schema(record["schema"])
            content = dict(record["content"])
            if record["kind"] != kind_of(path.name) or record["sha256"] != sha256(canonical(content)):
                raise ValueError("its content does not have the hash it was stored with")
            return {"content": content, "provenance": record["provenance"]}
        except (FileNotFoundError, NotADirectoryError):
            return None
        except UNREADABLE as error:
            raise self.damaged(path, error) from error

    def rows(self, path: Path) -> StoredRows:
        """Return predictions; the hash that closes their file is checked.

        Raises:
            DamagedError: the file is damaged, or of a later schema.
        """
        try:
            lines = gzip.decompress(path.read_bytes()).splitlines()
            header, closing = json.loads(lines[0]), json.loads(lines[-1])
            check_schema(header["schema"])
            digest = sha256(line + b"\n" for line in lines[:-1])
            if closing["sha256"] != digest:
                raise ValueError("its lines do not have the hash they were stored with")
            if path.name != rows_name(header["key"]):
                raise ValueError(f"it is schema {header['schema']}, key {header['key']}")
            return StoredRows(header["key"], header["content"], [json.loads(line) for line in lines[1:-1]], digest)
        except UNREADABLE as error:
            raise self.damaged(path, error) from error

    def sums_file(self, path: Path) -> SumsFile | None:
        """Return sufficient statistics; None where their file is not there.

        Raises:
            DamagedError: it is not the file that was stored.
        """
        from bench.store.sums_file import SumsFile

        try:
            content = path.read_bytes()
            if sha256(content)[:16] != path.stem.removeprefix("items-"):
                raise ValueError("its bytes do not have the hash in its name")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            raise self.damaged(path, error) from error
        return SumsFile.parsed(content, path)

    def damaged(self, path: Path, error: Exception) -> DamagedError:
        """Return the error with the reason why a file cannot be read, and how it is replaced."""
        if isinstance(error, NewerSchema):
            return DamagedError(path, str(error), error.todo)
        why = f"{type(error).__name__}: {error}"
        if type(error) is ValueError:  # the message of a check, which is a whole sentence
            why = str(error)
        return DamagedError(path, why, self.remedy(path))

    def remedy(self, path: Path) -> str:
        """Return the end of an error message: how a damaged file is replaced."""
        made = next(made for start, made in MADE_AGAIN.items() if path.name.startswith(start))
        return f"remove it, then {made}"

    def check_writable(self) -> None:
        """Do nothing: the disk refuses by itself.

        Raises:
            UsageError: files can only be read, as in a snapshot.
        """

    def write(self, path: Path, content: bytes | Callable[[BinaryIO], object], *, replace: bool = False) -> None:
        """Write a file whole or not at all, as `write_atomic` does.

        Raises:
            UsageError: files can only be read here.
            StoreError: the disk is full or refuses.
        """
        self.check_writable()
        write_atomic(path, content, replace=replace)

    def remove(self, path: Path) -> None:
        """Remove a file if it is there.

        Raises:
            UsageError: files can only be read here.
        """
        self.check_writable()
        path.unlink(missing_ok=True)


DISK = Files()


def kind_of(name: str) -> str:
    """Return the kind of a record by the name of its file.

    >>> kind_of("scores-0a.json"), kind_of("trained.json")
    ('scores', 'trained')
    """
    return name.partition(".")[0].partition("-")[0]


def rows_name(key: str) -> str:
    """Return the file name of predictions."""
    return f"rows-{key}.jsonl.gz"


def record_bytes(kind: str, content: Mapping[str, Any], provenance: Mapping[str, Any]) -> bytes:
    """Return a JSON record as its file has it, with the hash of its canonical content."""
    digest = sha256(canonical(content))
    record = {"schema": SCHEMA, "kind": kind, "sha256": digest, "content": content, "provenance": provenance}
    text = json.dumps(record, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False) + "\n"
    return text.encode("utf-8", "surrogatepass")


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


def run_folders(root: Path, tasks: Collection[str] | None = None) -> Iterator[Path]:
    """Yield every folder at the depth of runs, finished or not, in name order; names of tasks begin with a-z or 0-9."""
    for task in _folders(root):
        if re.match("[a-z0-9]", task.name) and (tasks is None or task.name in tasks):
            for method in _folders(task):
                yield from _folders(method)


def _folders(place: Path) -> list[Path]:
    """Return the folders in a place, in name order; none if it was removed in the meantime."""
    try:
        return sorted(path for path in place.iterdir() if path.is_dir())
    except OSError:
        return []
