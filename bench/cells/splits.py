"""Splits: where the rows of a task are, how to get them, and how each split differs from the published one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.base.options import read_options
from bench.config.config import Override, section_values
from bench.errors import MissingError
from bench.tasks.core.manifest import known_rows
from bench.tasks.core.task import Task
from bench.tasks.fetch.hub_copies import HUB
from bench.tasks.fetch.sources import Source, resolve

SPLITS = ("train", "valid", "test")


def where(kind: type[Task], data_dir: Path | None) -> Source:
    """Return where the rows of a task are on this machine; nothing is downloaded."""
    return resolve(kind.name, data_dir, kind.info.folders)


def opened(kind: type[Task], sets: Sequence[Override], data_dir: Path | None, *, fetch: bool) -> Task:
    """Return a task with its data in reach; nothing is read yet."""
    given = section_values(list(sets), "task", {kind.name})
    task = kind(**read_options(kind, given, f"task '{kind.name}'", only_known=True))
    task.load(resolve(kind.name, data_dir, kind.info.folders, fetch=fetch))
    return task


def how_to_get(kind: type[Task], *, by_hand: bool = False) -> str:
    """Say how to get the published rows of a task: from the hub, or, `by_hand`, without it."""
    place = f"put its files into a folder '{kind.name}' below --data-dir DIR or BENCH_DATA"
    if kind.info.source:
        place = f"get it from {kind.info.source} and {place}"
    if kind.name in HUB and not by_hand:
        repository = HUB[kind.name].repository
        return f"bench list --data {kind.name} --fetch downloads {repository}, and so does bench run; or {place}"
    return place


def described(task: Task, split: str) -> dict[str, Any]:
    """Return what a split is and how it differs from the published one; `status` is `missing` where it is not there."""
    try:
        task.split(split)
    except MissingError as error:
        if type(error) is not MissingError:  # DataError: it is there and is broken
            raise
        return {"split": split, "status": "missing", "rows": 0, "differences": [str(error)]}
    return {**task.manifest(split).as_dict(), "differences": differences(task, split)}


def differences(task: Task, split: str) -> list[str]:
    """Return one line for each way in which a split differs from the published one."""
    manifest, lines = task.manifest(split), []
    official, published = task.info.sizes.get(split), known_rows(task.name, split)
    if official is not None and manifest.rows != official:
        lines.append(f"has {manifest.rows:,} rows, published are {official:,} ({manifest.rows - official:+,})")
    elif published and manifest.sha256 not in published:
        hashes = " or ".join(sha256[:16] for sha256 in published)
        lines.append(
            f"has as many rows as published, but others: their SHA-256 is {manifest.sha256[:16]}..., not {hashes}"
        )
    if manifest.skipped:
        lines.append(f"left out {manifest.skipped:,} rows, e.g. {', '.join(task.split(split).skipped[0])}")
    return lines
