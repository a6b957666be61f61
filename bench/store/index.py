"""The index of a results folder: what its records said when they were last read, so that they need not be read again.

It is derived and may be deleted at any time. It lies in the cache, never in the store, so a store that is only read has
one too. What it says of a cell counts only while every file of the cell has the inode, size and time of change that it
had; where the index is damaged, locked or cannot be written, files are read instead.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.base.cache import cache_root
from bench.base.keys import key_of
from bench.base.version import __version__
from bench.store.records import SCHEMA

if TYPE_CHECKING:
    from bench.store.files import ListedCell

__all__ = ["Index", "opened_index"]

VERSION = 1
"""Raise it when reading a cell comes out otherwise; an index of another version is made anew."""
SMALLEST = 100
"""Cells of a store; fewer are read as fast as an index is."""
BATCH = 200
"""Cells asked for in one query, and learned in one transaction."""
WAIT_S = 1.0
"""How long another process may hold the index before files are read instead."""
TABLES = ("summary", "records")

Content = dict[str, Any]


class Index:
    """What is known of the cells of one store.

    Args:
        connection: to its SQLite file; None for no index, which knows nothing and learns nothing.
    """

    def __init__(self, connection: sqlite3.Connection | None) -> None:
        self.connection = connection
        self.learned: list[tuple[str, bytes, bytes, bytes]] = []

    def known(self, table: str, cells: Sequence[ListedCell]) -> Iterator[tuple[ListedCell, Content | None]]:
        """Yield each cell with what is known of it; None where nothing is, or its files have changed.

        Args:
            table: `summary` or `records`.
            cells: with the stamps of their files as they are now.
        """
        for start in range(0, len(cells), BATCH):
            batch = cells[start : start + BATCH]
            stored = self._stored(table, [cell.place for cell in batch])
            for cell in batch:
                stamp, packed = stored.get(cell.place, (b"", b""))
                content: Content | None = None
                if stamp == cell.stamp:
                    with self._tolerant():
                        content = json.loads(zlib.decompress(packed).decode())
                yield cell, content

    def _stored(self, table: str, folders: Sequence[str]) -> dict[str, tuple[bytes, bytes]]:
        """Return stamp and packed content of the folders that are in the index."""
        rows: list[tuple[str, bytes, bytes]] = []
        if self.connection is None:
            return {}
        with self._tolerant():
            marks = ", ".join("?" * len(folders))
            query = f"SELECT folder, stamp, content FROM {table} WHERE folder IN ({marks})"  # noqa: S608
            rows = self.connection.execute(query, folders).fetchall()
        return {folder: (stamp, content) for folder, stamp, content in rows}

    def put(self, folder: str, stamp: bytes, summary: Content, records: Content) -> None:
        """Learn a cell."""
        if self.connection is None:
            return
        self.learned.append((folder, stamp, _packed(summary), _packed(records)))
        if len(self.learned) >= BATCH:
            self.write()

    def write(self) -> None:
        """Write what was learned."""
        learned, self.learned = self.learned, []
        if self.connection is None or not learned:
            return
        with self._tolerant(), self.connection as transaction:
            for folder, stamp, summary, records in learned:
                transaction.execute("REPLACE INTO summary VALUES (?, ?, ?)", (folder, stamp, summary))
                transaction.execute("REPLACE INTO records VALUES (?, ?, ?)", (folder, stamp, records))

    def forget_all_but(self, folders: Iterable[str]) -> None:
        """Forget cells that are gone."""
        if self.connection is None:
            return
        with self._tolerant(), self.connection as transaction:
            known = {folder for (folder,) in transaction.execute("SELECT folder FROM summary")}
            gone = [(folder,) for folder in known.difference(folders)]
            if gone:
                for table in TABLES:
                    transaction.executemany(f"DELETE FROM {table} WHERE folder = ?", gone)  # noqa: S608

    def close(self) -> None:
        """Write what is left and close the file."""
        self.write()
        if self.connection is not None:
            self.connection.close()

    @contextlib.contextmanager
    def _tolerant(self) -> Iterator[None]:
        """Go on without an index where it fails; a damaged one is deleted, so that the next is made anew."""
        try:
            yield
        except (sqlite3.Error, zlib.error, ValueError) as error:
            connection, self.connection = self.connection, None
            if connection is not None:
                _give_up(connection, error)


@contextlib.contextmanager
def opened_index(root: Path, cells: int) -> Iterator[Index]:
    """Open the index of a store, made if need be.

    Args:
        root: of the store.
        cells: that it has.
    """
    connection = None
    if cells >= SMALLEST:
        connection = _connected(_path_of(root))
    index = Index(connection)
    try:
        yield index
    finally:
        index.close()


def _path_of(root: Path) -> Path:
    """Return where the index of a store lies."""
    return cache_root() / "index" / f"{key_of(str(root.resolve()))}.sqlite"


def _connected(path: Path) -> sqlite3.Connection | None:
    """Open or make an index file; None where that cannot be done."""
    about = json.dumps([VERSION, SCHEMA, __version__])
    connection = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=WAIT_S)
        with connection:
            connection.execute("CREATE TABLE IF NOT EXISTS about (text TEXT PRIMARY KEY)")
            if connection.execute("SELECT text FROM about").fetchall() != [(about,)]:
                _make_tables(connection, about)
        return connection
    except (sqlite3.Error, OSError) as error:
        if connection is not None:
            _give_up(connection, error)
        return None


def _make_tables(connection: sqlite3.Connection, about: str) -> None:
    """Begin an index anew."""
    connection.execute("DELETE FROM about")
    for table in TABLES:
        connection.execute(f"DROP TABLE IF EXISTS {table}")
        connection.execute(f"CREATE TABLE {table} (folder TEXT PRIMARY KEY, stamp BLOB, content BLOB)")
    connection.execute("INSERT INTO about VALUES (?)", (about,))


def _give_up(connection: sqlite3.Connection, error: Exception) -> None:
    """Close an index that failed; delete its file where the file itself is damaged."""
    name = ""
    with contextlib.suppress(sqlite3.Error):
        name = connection.execute("PRAGMA database_list").fetchone()[2]
    with contextlib.suppress(sqlite3.Error):
        connection.close()
    is_damaged = not isinstance(error, sqlite3.OperationalError | OSError)
    if name and is_damaged:
        with contextlib.suppress(OSError):
            Path(name).unlink(missing_ok=True)


def _packed(content: Content) -> bytes:
    """Return content as compressed JSON, whose checksum is looked at when it is unpacked."""
    return zlib.compress(json.dumps(content, separators=(",", ":")).encode(), 1)
