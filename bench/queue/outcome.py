"""What became of one cell of a queue, as its child leaves it for workers and for whoever asks.

Q/o/<key>.json                        done, by whoever was first
Q/o/<key>.<generation>.failed.json    failed; a later generation may yet be done
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.base.files import write_atomic
from bench.base.keys import canonical
from bench.errors import StoreError

__all__ = ["CellOutcome", "done_path", "failed_path", "last_outcome"]


@dataclass(frozen=True)
class CellOutcome:
    """What became of one cell.

    Args:
        status: `ok`, `stored` (nothing was missing), `diverged`, `failed`.
        error: why it failed.
        is_missing: whether it failed for want of data or a model.
        is_blocked: whether it failed because of another cell.
        seconds: it took.
        warnings: what a user should know.
    """

    status: str
    error: str = ""
    is_missing: bool = False
    is_blocked: bool = False
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()

    def write(self, queue: Path, key: str, generation: int) -> None:
        """Publish it.

        Raises:
            OSError: the disk is full or refuses; try again.
        """
        path = done_path(queue, key)
        if self.status == "failed":
            path = failed_path(queue, key, generation)
        try:
            write_atomic(path, canonical(asdict(self)))
        except StoreError as error:
            raise OSError(str(error)) from error


def last_outcome(queue: Path, key: str) -> CellOutcome | None:
    """Return what became of a cell: done where it is done, else how it failed last; None for neither."""
    paths = [done_path(queue, key)]
    paths += sorted(queue.glob(f"o/{key}.*.failed.json"), reverse=True)
    for path in paths:
        try:
            content = json.loads(path.read_bytes())
        except FileNotFoundError:
            continue
        return CellOutcome(**{**content, "warnings": tuple(content["warnings"])})
    return None


def done_path(queue: Path, key: str) -> Path:
    """Return where it says that a cell is done."""
    return queue / "o" / f"{key}.json"


def failed_path(queue: Path, key: str, generation: int) -> Path:
    """Return where it says how a cell failed."""
    return queue / "o" / f"{key}.{generation:06}.failed.json"
