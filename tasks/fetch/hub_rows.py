"""Hub rows: which data set of the hub rows are a copy of, and whether that is pinned to a commit."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass

__all__ = ["HubRows", "is_commit", "unpinned"]

COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class HubRows:
    """Rows of a data set of the hub.

    Args:
        repository: `owner/name`.
        revision: as it was asked for: a commit, or a branch or tag; empty for the newest commit.
        commit: that the rows are of.
    """

    repository: str
    revision: str
    commit: str

    @property
    def is_pinned(self) -> bool:
        """Whether the same revision is the same rows for ever."""
        return is_commit(self.revision)

    def as_dict(self) -> dict[str, str]:
        """Return plain content for a record."""
        return asdict(self)


def is_commit(revision: str) -> bool:
    """Return whether a revision is a whole commit, not a branch, a tag or nothing.

    >>> is_commit("0" * 40), is_commit("refs/convert/parquet"), is_commit("")
    (True, False, False)
    """
    return bool(COMMIT.fullmatch(revision))


def unpinned(revision: str) -> str:
    """Return what stands behind a data set whose revision may be another commit tomorrow; nothing behind a pinned one.

    >>> unpinned("main"), unpinned("0" * 40)
    (' (unpinned)', '')
    """
    if is_commit(revision):
        return ""
    return " (unpinned)"
