"""Files of pretrained models: compared with their hashes, and taken out of archives."""

from __future__ import annotations

import shutil
import zipfile
import zlib
from pathlib import Path

from bench.base.files import hash_of
from bench.errors import BenchError, DataError

__all__ = ["check_hash", "check_space", "extract", "extract_folder"]

DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, RuntimeError, NotImplementedError)
"""What `zipfile` raises for an archive that is damaged, encrypted, split, or lacks a member."""


def check_space(name: str, folder: Path, n_bytes: int) -> None:
    """Refuse a disk that cannot hold what is about to be written.

    Args:
        name: of the model, for the message.
        folder: on the disk; it need not exist.
        n_bytes: needed.
    """
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < n_bytes:
        raise BenchError(
            f"{name} needs {n_bytes / 1e9:.1f} GB of disk, and '{existing}' has {free / 1e9:.1f} GB free; make room, "
            "or set BENCH_CACHE to a folder on a larger disk"
        )


def check_hash(name: str, path: Path, expected: str) -> None:
    """Refuse a file that is not the pinned one."""
    found = hash_of(path)
    if found != expected:
        raise DataError(
            f"{name}: the sha256 of '{path.name}' is {found[:12]}..., and {expected[:12]}... was expected: it is "
            f"damaged or another file; nothing of it is used. Remove '{path}' if it is still there, and run the same "
            "command again"
        )


def extract(name: str, archive: Path, member: str, target: Path) -> str:
    """Write one member of a zip file to `target`; the names inside the archive never decide where anything goes.

    Args:
        name: of the model, for messages.
        archive: the zip file.
        member: its whole name in the archive, or the end of it.
        target: the file to write.

    Returns:
        The whole name of the member.

    Raises:
        DataError: the archive is damaged or has no such member.
        BenchError: the disk has too little space for the member.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            ends = (info for info in opened.infolist() if f"/{info.filename}".endswith(f"/{member}"))
            info = min(ends, key=lambda info: info.filename, default=None)
            if info is None:
                raise KeyError(f"there is no {member} in it")
            check_space(name, target.parent, info.file_size)
            with opened.open(info) as source, target.open("wb") as written:
                shutil.copyfileobj(source, written, 1 << 20)
            return info.filename
    except DAMAGE as error:
        message = str(error.args[0]) if error.args else type(error).__name__
        raise DataError(f"{name}: '{archive}' has no readable {member} ({message})") from error


def extract_folder(name: str, archive: Path, member: str, target: Path) -> Path:
    """Unpack one folder of a zip file below `target`, and return where it lies; `zipfile` keeps all names below it.

    Args:
        name: of the model, for messages.
        archive: the zip file.
        member: the folder's whole name in the archive.
        target: an existing folder.

    Raises:
        DataError: the archive is damaged or has no such folder.
        BenchError: the disk has too little space for it.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            inside = [info for info in opened.infolist() if info.filename.startswith(f"{member}/")]
            if not inside:
                raise KeyError("there is no such folder in it")
            check_space(name, target, sum(info.file_size for info in inside))
            opened.extractall(target, inside)
            return target / member
    except DAMAGE as error:
        message = str(error.args[0]) if error.args else type(error).__name__
        raise DataError(f"{name}: '{archive}' has no readable folder {member} ({message}); remove it") from error
