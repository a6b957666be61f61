"""The copies on the hub that tasks are read from, as `hub_copies.toml` lists them."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.base.network import is_commit

ORIGIN = "origin.json"
"""In the folder of a copy: what it is a copy of."""


def origin_of(folder: Path) -> Mapping[str, str]:
    """Return what a folder is a copy of: `repository`, `commit` and more; nothing for files that a person put there."""
    try:
        origin = json.loads((folder / ORIGIN).read_bytes())
    except (OSError, ValueError):
        return {}
    return origin if isinstance(origin, dict) and {"repository", "commit"} <= set(origin) else {}


def unpinned(revision: str) -> str:
    """Return ` (unpinned)` for a revision that may be another commit tomorrow, and nothing for a commit."""
    return "" if is_commit(revision) else " (unpinned)"


@dataclass(frozen=True)
class HubCopy:
    """Where a task's rows are on the hub.

    Args:
        repository: of data sets, `owner/name`.
        revision: a commit, or a branch where no commit is known.
        files: patterns of the parquet files of each split.
        note: where the publisher's own files are, for people.
    """

    repository: str
    revision: str
    files: Mapping[str, Sequence[str]]
    note: str

    def described(self, folder: Path) -> str:
        """Return what a folder is a copy of, for people; nothing for files that a person put there."""
        origin = origin_of(folder)
        if origin.get("repository") != self.repository:
            return ""
        return f"{self.repository} at {origin['commit'][:12]}{unpinned(self.revision)}"


HUB: Mapping[str, HubCopy] = {
    task: HubCopy(**facts)
    for task, facts in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}
"""The copies of `hub_copies.toml`, by task."""
