"""Parts: the files an archive was split into, read as one."""

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
    stem = archive.with_suffix("")
    beside = archive.parent.glob("*") if PART.search(archive.name) or archive.suffix.lower() == ".zip" else []
    numbered = {int(found[1]): path for path in beside if path.with_suffix("") == stem
                and (found := PART.search(path.name))}  # fmt: skip
    last = [stem.with_suffix(stem.suffix + ".zip")] if PART.search(archive.name) else [archive]
    if not numbered:
        if not archive.is_file():
            raise MissingError(f"there is no archive '{archive}'")
        return [archive]
    missing = sorted({*range(min(1, *numbered), max(numbered) + 1)} - set(numbered))
    if missing:
        raise MissingError(f"'{stem}.z{missing[0]:02}' is missing; the parts of an archive belong into one folder")
    return [path for _, path in sorted(numbered.items())] + [path for path in last if path.is_file()]


class Parts(io.RawIOBase):
    """Files one after another, as one that can be read and sought."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = paths
        try:
            self.files = [open(path, "rb") for path in paths]  # noqa: SIM115  (closed in close)
        except OSError as error:
            raise DataError(f"'{error.filename}' cannot be read: {error.strerror}") from error
        self.ends = list(itertools.accumulate(path.stat().st_size for path in paths))
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
        start = self.start(part)
        self.files[part].seek(self.at - start)
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

    def start(self, part: int) -> int:
        """Where a part begins."""
        return self.ends[part - 1] if part else 0

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
        member.header_offset = file.start(member.volume) + offset
