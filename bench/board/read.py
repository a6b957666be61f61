"""The leaderboards of a store, with their statistics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.errors import MissingError, StoreError
from bench.leaderboards.table import Table, notes_of, tables
from bench.store.store import Store

if TYPE_CHECKING:
    from bench.leaderboards.leaderboards import Leaderboards

__all__ = ["leaderboards_of", "refuse_empty"]


def leaderboards_of(
    store: Store, tasks: Sequence[str] | None = None, columns: str = "default", limited: bool = False
) -> Leaderboards:
    """Return the leaderboards of a store; numpy is loaded only where there is something to show.

    Raises:
        MissingError: when the store holds nothing to show.
        StoreError: likewise, and it has damaged files.
    """
    found, left_out = tables(store, tasks, columns, limited)
    if store.damaged and not found:
        raise StoreError(f"'{store.root}' has nothing to show but {len(store.damaged)} damaged files")
    refuse_empty(found, notes_of(left_out), store.root)
    from bench.leaderboards.leaderboards import with_statistics

    damaged = [_relative(path, store.root) for path in store.damaged]
    return with_statistics(found, left_out, damaged=damaged)


def refuse_empty(found: Sequence[Table], notes: Sequence[str], results: Path) -> None:
    """Refuse to show nothing.

    Raises:
        MissingError: there is no table.
    """
    if found:
        return
    why = ""
    if notes:
        why = f" ({'; '.join(notes)})"
    makes = "bench run --task logicnlg --method mle makes some"
    if any("--limit" in note for note in notes):
        makes = "the table of a limited run is printed by the run alone; the same command without --limit makes scores"
    raise MissingError(f"no scores in '{results}'{why}; {makes}")


def _relative(path: Path, root: Path) -> str:
    """Return a path below a store: a page should show no folder of this machine."""
    if path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    return path.name
