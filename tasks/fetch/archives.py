"""Archives: zip and tar files unpacked without trusting what they say of themselves.

Names, kinds and sizes in an archive are claims by whoever made it. Nothing is written outside the folder, no link or
device is made, and what is written is counted as it comes out.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, cast

from bench.errors import DataError, StoreError
from bench.tasks.fetch.folders import claim, discard, publish
from bench.tasks.fetch.split_archives import Parts, parts_of, place_members

__all__ = ["safe_name", "unpack"]

MOST_RATIO = 200
"""Bytes an archive may unpack to for each of its own, beyond the first `FREE`: text packs to a third or a tenth."""
FREE = 16 << 20
DEEPEST = 32  # folders in a name
CHUNK = 1 << 18
LARGEST_READ = 1 << 20  # no honest tar header is longer; larger ones would be read into memory at once
DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,
    RuntimeError,
    LookupError,
    OverflowError,
    MemoryError,
    struct.error,
)
"""What the libraries raise for an archive that is damaged or lies."""
PACKED: tuple[tuple[bytes, Callable[[Any], Any]], ...] = (
    (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ\0", lzma.LZMAFile),
)


def unpack(archive: Path, folder: Path, *, most_bytes: int, most_files: int) -> bool:
    """Unpack an archive into a folder, which is put in place whole or not at all.

    Args:
        archive: a zip, a tar (plain, gzip, bzip2, xz), or one part of a split zip (`x.z01`, `x.z02`, ..., `x.zip`);
            what it is, is read from its bytes.
        folder: must not be there yet; where another process makes it first, that one stays.
        most_bytes: it may unpack to.
        most_files: it may have, folders included.

    Returns:
        Whether this call made the folder.

    Raises:
        DataError: the archive is damaged, larger than allowed, or has a member no honest archive has.
        MissingError: there is no such archive, or a part of it is missing.
        StoreError: the disk refuses.
    """
    if folder.is_dir():
        return False
    parts = parts_of(archive)
    unfinished = claim(folder)
    try:
        with closing(Parts(parts)) as file:
            sink = _Sink(unfinished, archive, most_bytes, most_files, file.size)
            form = _form(file)
            try:
                form(file, sink)
            except DataError:
                raise
            except DAMAGE as error:
                text = " ".join(str(error).split())[:200] or type(error).__name__
                raise sink.bad(f"is damaged or cut short ({text}); get it again") from error
            if not sink.files:
                raise sink.bad("has no members; get it again")
        return publish(unfinished, folder)
    except BaseException:
        discard(unfinished)
        raise


def safe_name(name: str) -> PurePosixPath:
    r"""Return a member's name as a path that stays inside the folder it is unpacked to.

    Raises:
        ValueError: it does not, or no file can have it; the message says why.

    >>> str(safe_name("./train/rows.csv"))
    'train/rows.csv'
    >>> safe_name("../rows.csv")
    Traceback (most recent call last):
    ValueError: leads out of the folder
    """
    if re.search(r"[\x00-\x1f\x7f]", name):
        raise ValueError("has a control character in its name")
    if name.startswith("/") or "\\" in name or re.match("[A-Za-z]:", name):
        raise ValueError("has an absolute name or another system's")
    path = PurePosixPath(name)  # drops "." and doubled slashes
    if ".." in path.parts:
        raise ValueError("leads out of the folder")
    try:
        longest = max((len(part.encode()) for part in path.parts), default=0)
    except UnicodeEncodeError:
        raise ValueError("has a name that is no text") from None
    if not path.parts or longest > 255 or len(path.parts) > DEEPEST:
        raise ValueError("has a name no file can have")
    return path


class _Sink:
    """The folder that is filled, with what may still go into it."""

    def __init__(self, folder: Path, archive: Path, most_bytes: int, most_files: int, packed: int) -> None:
        self.folder, self.archive = folder, archive
        self.most_bytes, self.most_files = most_bytes, most_files
        self.most_unpacked = min(most_bytes, FREE + MOST_RATIO * packed)
        self.bytes = self.files = 0
        self.member = ""

    def bad(self, what: str) -> DataError:
        """Return the error that names archive and member; the name may be anything, so it is shown escaped."""
        where = str(self.archive)
        if self.member:
            where += f", member {ascii(self.member[:120])}"
        return DataError(f"{where}: {what}")

    def begin(self, name: str, what: str) -> Path:
        """Count a member, check its name and kind (`what` is empty for files and folders); return where it goes."""
        self.member = name
        self.files += 1
        if self.files > self.most_files:
            raise self.bad(f"more than {self.most_files:,} members; this is not the expected archive")
        if what:
            raise self.bad(f"is {what}; only plain files and folders are unpacked")
        try:
            return self.folder / safe_name(name)
        except ValueError as error:
            raise self.bad(f"{error}; nothing was unpacked") from error

    def make_folder(self, place: Path) -> None:
        """Make a folder and those above it."""
        try:
            place.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise self.bad("is a folder where a file is; nothing was unpacked") from None
        except OSError as error:
            raise StoreError(f"cannot write '{place}': {error.strerror or error}") from error

    def write(self, place: Path, chunks: Iterator[bytes]) -> int:
        """Write a file that is not there yet; return its bytes."""
        self.make_folder(place.parent)
        started = self.bytes
        try:
            file = open(place, "xb")  # noqa: SIM115  (errors of opening it are not those of reading the archive)
        except (FileExistsError, IsADirectoryError):
            raise self.bad("is there twice; nothing was unpacked") from None
        except OSError as error:
            raise StoreError(f"cannot write '{place}': {error.strerror or error}") from error
        with file:
            for chunk in chunks:
                self.count(len(chunk))
                try:
                    file.write(chunk)
                except OSError as error:
                    raise StoreError(f"cannot write '{place}': {error.strerror or error}") from error
        return self.bytes - started

    def count(self, n: int) -> None:
        """Count bytes before they are written."""
        self.bytes += n
        if self.bytes > self.most_bytes:
            raise self.bad(f"more than {self.most_bytes:,} bytes unpacked; this is not the expected archive")
        if self.bytes > self.most_unpacked:
            raise self.bad(f"unpacks to more than {MOST_RATIO} times its size, which no text does")


def _form(file: Parts) -> Callable[[Parts, _Sink], None]:
    """Return what unpacks an archive, by its first bytes."""
    head = file.read(512)
    file.seek(0)
    if head.startswith((b"PK\3\4", b"PK\5\6", b"PK\7\x08", b"PK00")):
        return _unpack_zip
    return _unpack_tar


def _unpack_zip(file: Parts, sink: _Sink) -> None:
    with zipfile.ZipFile(cast("IO[bytes]", file)) as archive:
        members = archive.infolist()
        place_members(file, archive, members)
        if sum(member.file_size for member in members) > sink.most_bytes:
            raise sink.bad(f"more than {sink.most_bytes:,} bytes unpacked; this is not the expected archive")
        for member in members:
            kind, what = stat.S_IFMT(member.external_attr >> 16), "a link or a device"
            if kind in (0, stat.S_IFREG, stat.S_IFDIR):
                what = ""
            place = sink.begin(member.orig_filename, what)
            if member.is_dir():
                sink.make_folder(place)
                continue
            with archive.open(member) as content:
                written = sink.write(place, iter(lambda content=content: content.read(CHUNK), b""))  # type: ignore[misc]
            if written != member.file_size:
                raise sink.bad(f"has {written:,} bytes, {member.file_size:,} were announced; get it again")


def _unpack_tar(file: Parts, sink: _Sink) -> None:
    head = file.read(8)
    file.seek(0)
    content = _Forward(_decompressed(file, head), sink)
    with tarfile.TarFile(fileobj=cast("IO[bytes]", content), mode="r", encoding="utf-8") as archive:
        for member in archive:
            what = "a link, a device or stranger"
            if member.isdir() or (member.isreg() and not member.issparse()):
                what = ""
            place = sink.begin(member.name, what)
            if member.isdir():
                sink.make_folder(place)
                continue
            data = archive.extractfile(member)
            assert data is not None
            written = sink.write(place, iter(lambda data=data: data.read(CHUNK), b""))  # type: ignore[misc]
            if written != member.size:
                raise sink.bad(f"has {written:,} bytes, {member.size:,} were announced; get it again")
    if content.last != bytes(tarfile.BLOCKSIZE):  # tarfile takes a broken header for the end
        raise sink.bad("is followed by something that is neither a member nor the end; get the archive again")
    while content.read(CHUNK):  # to the check sum
        pass


def _decompressed(file: Parts, head: bytes) -> BinaryIO:
    """Return a file as it is below gzip, bzip2 or xz, which its first bytes tell."""
    for magic, reader in PACKED:
        if head.startswith(magic):
            return cast(BinaryIO, reader(file))
    return cast(BinaryIO, file)


class _Forward:
    """A stream that tarfile reads: it goes forward only, in small reads, and counts what comes out of it."""

    def __init__(self, file: BinaryIO, sink: _Sink) -> None:
        self.file, self.sink = file, sink
        self.at = 0
        self.last = b""

    def tell(self) -> int:
        return self.at

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= LARGEST_READ:
            raise ValueError(f"a header of {size:,} bytes")
        self.last = self.file.read(size)
        self.at += len(self.last)
        allowed = self.sink.most_unpacked + (self.sink.most_files + 20) * 4 * tarfile.BLOCKSIZE
        if self.at > allowed:
            raise self.sink.bad(f"more than {allowed:,} bytes come out of it; this is not the expected archive")
        return self.last

    def seek(self, position: int) -> int:
        last = self.last
        while self.at < position and self.read(min(CHUNK, position - self.at)):
            pass
        self.last = last
        if self.at != position:
            raise EOFError(f"it ends at byte {self.at:,}, byte {position:,} was announced")
        return position
