"""Split archives: the files an archive was split into, read as one."""

from __future__ import annotations

import bisect
import errno
import io
import itertools
import re
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.errors import DataError, MissingError

__all__ = ["Parts", "parts_of", "place_members"]

PART = re.compile(r"\.z(\d\d)$", re.IGNORECASE)


def parts_of(archive: Path) -> list[Path]:
    """Return the files of an archive in order: itself, or with `x.z01` beside or in place of it, all parts.

    Split by `zip -s` the last part is `x.zip`; cut with `split`, every part is `x.zNN`.

    Raises:
        MissingError: there is no such file, or a part is missing.
    """
    stem, is_part = archive.with_suffix(""), PART.search(archive.name) is not None
    numbered: dict[int, Path] = {}
    if is_part or archive.suffix.lower() == ".zip":
        numbered = _numbered(stem)
    if not numbered:
        if not archive.is_file():
            raise MissingError(f"there is no archive '{archive}'")
        return [archive]
    missing = sorted({*range(min(1, *numbered), max(numbered) + 1)} - set(numbered))
    if missing:
        raise MissingError(f"'{stem}.z{missing[0]:02}' is missing; the parts of an archive belong into one folder")
    last = archive
    if is_part:
        last = stem.with_suffix(stem.suffix + ".zip")
    parts = [numbered[number] for number in sorted(numbered)]
    if last.is_file():
        parts.append(last)
    return parts


def _numbered(stem: Path) -> dict[int, Path]:
    """Return the files beside each other that are called `stem.zNN`, by number."""
    numbered: dict[int, Path] = {}
    for path in stem.parent.glob("*"):
        if path.with_suffix("") == stem and (match := PART.search(path.name)):
            numbered[int(match[1])] = path
    return numbered


class Parts(io.RawIOBase):
    """Files one after another, as one that can be read and sought."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = paths
        try:
            self.files = [open(path, "rb") for path in paths]  # noqa: SIM115  (closed in close)
        except OSError as error:
            raise DataError(f"'{error.filename}' cannot be read: {error.strerror}") from error
        self.ends = list(itertools.accumulate(path.stat().st_size for path in paths))
        self.starts = [0, *self.ends]
        self.size = self.ends[-1]
        self.at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence]
        if position < 0:
            raise OSError(errno.EINVAL, f"byte {position} of a file")
        self.at = position
        return position

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        if self.at >= self.size or not len(view):
            return 0
        part = bisect.bisect_right(self.ends, self.at)
        self.files[part].seek(self.at - self.starts[part])
        count = self.files[part].readinto(view[: self.ends[part] - self.at])
        self.at += count
        return count

    def read(self, size: int | None = -1) -> bytes:
        """Read across the borders between parts: fewer bytes than asked for mean the end."""
        left = max(0, self.size - self.at)
        if size is not None and size >= 0:
            left = min(left, size)
        pieces = []
        while left > 0 and (piece := super().read(left)):
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)

    def close(self) -> None:
        for file in getattr(self, "files", []):
            file.close()
        super().close()


def place_members(file: Parts, archive: zipfile.ZipFile, members: Iterable[zipfile.ZipInfo]) -> None:
    """Put right where the members of a zip lie: in a split one they are counted from the start of their part.

    Raises:
        ValueError: a member is in no part.
    """
    if len(file.paths) == 1:
        return
    file.seek(archive.start_dir)
    for member in members:
        header = file.read(46)
        name, extra, comment = (int.from_bytes(header[at : at + 2], "little") for at in (28, 30, 32))
        offset = int.from_bytes(header[42:46], "little")
        file.seek(name + extra + comment, io.SEEK_CUR)
        if member.volume >= len(file.paths) or offset == 0xFFFFFFFF:
            raise ValueError(f"a member in part {member.volume + 1} of {len(file.paths)}")
        member.header_offset = file.starts[member.volume] + offset
    _set_ends(archive)


def _set_ends(archive: zipfile.ZipFile) -> None:
    """Say where each member ends at the latest, after their places were put right.

    Python refuses members that overlap since its security releases of 2024, and takes these ends when it opens a file.
    """
    if "_end_offset" not in zipfile.ZipInfo.__slots__:
        return
    end = archive.start_dir
    for member in sorted(archive.infolist(), key=lambda member: member.header_offset, reverse=True):
        member._end_offset = end  # type: ignore[attr-defined]
        end = member.header_offset
