"""Old scores: those of a metric of the user's own whose source has changed since, with the sums that only they name.

They are right for the source they name, and stand in a column of their own. So they go only when that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bench.errors import DamagedError
from bench.store.cleaning import Unneeded, is_busy, measured
from bench.store.files import DISK
from bench.store.records import read_record
from bench.store.store import CellFolder

__all__ = ["Current", "old_scores"]

Current = Callable[[str], str | None]
"""Takes the class of a metric as records have it, `module:name`; gives the hash of its source, None where it is not
here."""


def old_scores(root: Path, current: Current) -> Iterator[Unneeded]:
    """Yield the scores of a results folder that no source makes any more, and what only they are made of.

    A cell that changed within the last hour is left alone, and so is one with a damaged scores file.

    Args:
        root: of the store.
        current: the source of a metric today. Scores of one that is not here stay.
    """
    for listed in DISK.scan(root):
        if is_busy(listed.path):
            continue
        try:
            yield from _in_cell(CellFolder(listed.path), current)
        except DamagedError:
            continue


def _in_cell(cell: CellFolder, current: Current) -> list[Unneeded]:
    """Return what is old in one cell.

    Raises:
        DamagedError: a scores file cannot be read, and nobody knows which sums it names.
    """
    old, named_by_old, named = [], set[str](), set[str]()
    for name in cell.names("scores-*.json"):
        content = read_record(cell.path / name, "scores")
        if content is None:
            continue
        sums = set[str]()
        if "items" in content:
            sums.add(str(content["items"]))
        if not _is_old(content, current):
            named |= sums
            continue
        code = content["code"]
        why = f"scores of {code['class']} as it was, source {code['source_sha256'][:8]}"
        old.append(measured(cell.path / name, why))
        named_by_old |= sums
    for digest in sorted(named_by_old - named):
        path = cell.sums_path(digest)
        if path.exists():
            old.append(measured(path, "sums that only scores of an older source are made of"))
    return old


def _is_old(content: Mapping[str, object], current: Current) -> bool:
    """Whether scores are of another source than their metric has today."""
    code = content.get("code")
    if not isinstance(code, Mapping):
        return False
    today = current(str(code["class"]))
    return today is not None and today != code["source_sha256"]
