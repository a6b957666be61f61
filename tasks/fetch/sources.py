"""Where a task's rows come from: a data folder, the cache, the hub, or the built-in sample, in this order."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.base.machine import cache_root
from bench.base.network import hub_reachable
from bench.errors import MissingError
from bench.tasks.fetch import hub
from bench.tasks.fetch.hub_copies import HUB

SAMPLE = "sample"
"""In place of a folder: the built-in sample, although other rows of the task may be here or on the hub."""


@dataclass(frozen=True)
class Source:
    """A folder with the publisher's files, or None for the built-in sample; `why` is printed and recorded."""

    folder: Path | None
    why: str


def expanded(path: str) -> Path:
    """Return a typed path with `~` replaced by the home folder."""
    try:
        return Path(path).expanduser()
    except RuntimeError as problem:
        raise MissingError(f"{path:.200}: {problem}") from None


def resolve(
    task: str, data_dir: str | Path | None = None, folders: Sequence[str] = (), *, fetch: bool = False
) -> Source:
    """Find a task's folder.

    The order is `--data-dir`, `BENCH_DATA`, the cache, the hub, the built-in sample. A folder that was named and does
    not exist is an error, never a silent fall back to the sample.

    Args:
        task: the task's name; its folder lies below the given ones.
        data_dir: the value of `--data-dir`, a folder or `sample`.
        folders: other names that the task's folder may have below the given ones.
        fetch: whether the hub may be asked, if it has a copy of the task's rows.

    Raises:
        MissingError: `data_dir` or `BENCH_DATA` is given and does not exist.
    """
    if data_dir == SAMPLE:
        return Source(None, "built-in sample (--data-dir sample)")
    for label, place in (("--data-dir", data_dir), ("BENCH_DATA", os.environ.get("BENCH_DATA"))):
        if place is None or place == "":
            continue
        root = Path(place).expanduser()
        if not root.is_dir():
            raise MissingError(f"{label} names '{root}', which is no folder; it should hold '{task}/' with its files")
        for name in (task, *folders):
            if (root / name).is_dir():
                return Source(root / name, f"{label}: {root / name}")
    cached = cache_root() / task
    if cached.is_dir():
        copied = HUB[task].described(cached) if task in HUB else ""
        return Source(cached, f"cache: {cached}" + (f" (hub: {copied})" if copied else ""))
    where = f"no folder '{task}' below --data-dir, BENCH_DATA or {cache_root()}"
    if not fetch or task not in HUB:
        return Source(None, f"built-in sample ({where})")
    if not hub_reachable():
        return Source(None, f"built-in sample ({where}, and the hub is not reachable)")
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        return Source(cached, hub.fetch(HUB[task], cached))
    except (MissingError, OSError) as error:
        return Source(None, f"built-in sample ({where}, and the hub's copy cannot be used: {error})")
