"""Expected files: which of a publisher's files are in a folder."""

from collections.abc import Sequence
from pathlib import Path

from bench.errors import MissingError


def find(folder: Path, names: Sequence[str]) -> Path | None:
    """Return the first file there is, packed with gzip or not.

    Args:
        folder: searched in.
        names: in order of preference; each may be a glob, e.g. `*/input.txt`, that one file should match.
    """
    for name in names:
        for pattern in (name, f"{name}.gz"):
            if files := sorted(path for path in folder.glob(pattern) if path.is_file()):
                return files[0]
    return None


def needed(folder: Path, names: Sequence[str], advice: str) -> Path:
    """Return the first file there is.

    Args:
        folder: searched in.
        names: as for `find`.
        advice: where to get it.

    Raises:
        MissingError: none of them is there.
    """
    path = find(folder, names)
    if path is None:
        raise MissingError(f"{folder}: expected {' or '.join(names)} (.gz too), found none; {advice}")
    return path
