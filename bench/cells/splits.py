"""Data: what a task's splits are, where they are from, and how they differ from the published ones."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.base.files import write_atomic
from bench.base.keys import canonical, key_of
from bench.base.options import fill, options_of
from bench.config.config import Override, section_values
from bench.config.resolve import known
from bench.errors import MissingError, UsageError
from bench.tasks.core.manifest import Manifest, Split, row_content
from bench.tasks.core.published_hashes import known_rows
from bench.tasks.core.task import Task
from bench.tasks.fetch.archives import unpack
from bench.tasks.fetch.sources import Source, cache_folder, resolve
from bench.tasks.files.bad_rows import OnBadRow

__all__ = ["SPLITS", "Lengths", "SplitStats", "differences", "opened", "place_archive", "prepare", "prepared", "stats"]

SPLITS = ("train", "valid", "test")
MOST_BYTES, MOST_FILES = 1 << 36, 1 << 22
"""What a publisher's archive may unpack to: NYT has 1.8 million files, WikiText and Wikibio a gigabyte or two."""


def opened(
    kind: type[Task], sets: Sequence[Override], data_dir: Path | None, on_bad_row: OnBadRow = "fail", *, fetch: bool
) -> Task:
    """Return a task with its data in reach; nothing is read yet.

    Args:
        kind: of the task.
        sets: overrides, of which those for tasks are taken.
        data_dir: what `--data-dir` said.
        on_bad_row: what becomes of training rows that cannot be used.
        fetch: whether the hub may be asked.
    """
    options = options_of(kind)
    given = known(section_values(list(sets), "task", {kind.name}), options)
    task = kind(**fill(options, given, f"task '{kind.name}'"))
    bring = kind.fetch if fetch and kind.info.hub else None
    task.load(resolve(kind.name, data_dir, bring, kind.info.folders), on_bad_row=on_bad_row)
    return task


def place_archive(task: str, archive: Path) -> Path:
    """Unpack a publisher's archive into a task's folder in the cache; folders that hold one folder only are left out.

    Args:
        task: its name.
        archive: a zip, tar or any part of a split zip.

    Raises:
        UsageError: the cache has this task already.
        DataError: the archive is damaged or hostile.
    """
    folder = cache_folder() / task
    if folder.exists():
        raise UsageError(f"'{folder}' is there already and stays as it is; remove it to unpack '{archive}' there")
    staged = folder.with_name(f".{task}.unpacked.{os.getpid()}")
    try:
        unpack(archive, staged, most_bytes=MOST_BYTES, most_files=MOST_FILES)
        inner = staged
        while len(entries := list(inner.iterdir())) == 1 and entries[0].is_dir():
            inner = entries[0]
        inner.rename(folder)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return folder


def prepare(task: Task) -> dict[str, Manifest]:
    """Read every split there is and remember what it is, for `differences` of a later day.

    Raises:
        MissingError: only the built-in sample is there; the message says how to get the data.
    """
    if task.source.folder is None:
        place = f"put it into a folder '{task.name}' below --data-dir DIR or BENCH_DATA"
        raise MissingError(
            f"{task.name}: {task.source.why}; get it from {task.info.source or 'your files'} and {place}"
        )
    manifests = {name: task.manifest(name) for name in SPLITS if readable(task, name)}
    if not manifests:
        raise MissingError(
            f"{task.name}: {task.source.folder} has none of the splits {', '.join(SPLITS)}: {problem(task, 'test')}"
        )
    content = {"task": task.name, "splits": {name: manifest.as_dict() for name, manifest in manifests.items()}}
    write_atomic(_record(task), json.dumps(content, indent=1).encode(), replace=True)
    return manifests


def readable(task: Task, split: str) -> bool:
    """Return whether a split's files are there; a file that is there and broken raises."""
    return problem(task, split) is None


def problem(task: Task, split: str) -> str | None:
    """Return why a split is not there, or None."""
    try:
        task.split(split)
    except MissingError as error:
        if type(error) is not MissingError:  # DataError: it is there, and is broken
            raise
        return str(error)
    return None


def prepared(task: Task) -> dict[str, dict[str, Any]]:
    """Return what `prepare` remembers of each split, nothing where it has not been."""
    try:
        return dict(json.loads(_record(task).read_text())["splits"])
    except (OSError, ValueError, KeyError):
        return {}


def _record(task: Task) -> Path:
    name = f"{task.name}-{key_of([str(task.source.folder), sorted(map(str, task.given.items()))])}.json"
    return cache_folder() / "prepared" / name


def differences(task: Task, split: str) -> list[str]:
    """Say exactly how a split differs from the published one, and from what it was when it was prepared."""
    if (why := problem(task, split)) is not None:
        return [f"is not there: {why}"]
    manifest, lines = task.manifest(split), []
    official = task.info.sizes.get(split)
    if official is not None and manifest.rows != official:
        lines.append(f"has {manifest.rows:,} rows, published are {official:,} ({manifest.rows - official:+,})")
    published = known_rows(task.name, split)
    if published and manifest.rows == official and manifest.sha256 not in published:
        hashes = " or ".join(sha256[:16] for sha256 in published)
        lines.append(
            f"has as many rows as published, but others: their SHA-256 is {manifest.sha256[:16]}..., that of "
            f"the published ones {hashes}..."
        )
    if manifest.skipped:
        lines.append(f"left out {manifest.skipped:,} rows, e.g. {', '.join(task.split(split).skipped[0])}")
    before = prepared(task).get(split)
    if before is not None:
        for name, value in manifest.as_dict().items():
            if before.get(name) != value:
                lines.append(f"has changed since it was prepared: {name} was {before.get(name)}, is {value}")
    if repeats := repeated(task.split(split)):
        lines.append(f"has {len(repeats):,} rows that another row has word for word, e.g. '{repeats[0]}'")
    return lines


def repeated(split: Split) -> list[str]:
    """Return the ids of rows whose content an earlier row has."""
    seen: set[bytes] = set()
    repeats = []
    for example in split.examples:
        content = row_content(example)
        name = content.pop("id")
        digest = hashlib.sha256(canonical(content)).digest()[:12]
        if digest in seen:
            repeats.append(name)
        seen.add(digest)
    return repeats


@dataclass(frozen=True)
class Lengths:
    """Words of a text of each row."""

    mean: float
    median: float
    longest: int

    @classmethod
    def of(cls, counts: Sequence[int]) -> Lengths | None:
        """Summarise, or return None where no row has such a text."""
        if not any(counts):
            return None
        return cls(round(statistics.fmean(counts), 1), statistics.median(counts), max(counts))


@dataclass(frozen=True)
class SplitStats:
    """One split in numbers.

    Args:
        official: published rows, None where nothing is published.
        skipped: rows left out.
        source: words a model reads, without truncation.
        target: words it learns to write.
        words: of all targets, by the task's own count.
        repeated: rows whose source and target another row of the split has too.
        in_train: rows of another split that are training rows too, by source and target.
    """

    split: str
    status: str
    rows: int
    official: int | None
    skipped: int
    source: Lengths | None
    target: Lengths | None
    words: int
    repeated: int
    in_train: int | None
    references: float
    sha256: str

    def as_dict(self) -> dict[str, Any]:
        """Return plain content."""
        return asdict(self)


def stats(task: Task, split: str) -> SplitStats:
    """Count a split."""
    counted = task.split(split)
    texts = texts_of(task, counted)
    in_train = None
    if split != "train" and readable(task, "train"):
        train = set(texts_of(task, task.split("train")))
        in_train = sum(text in train for text in texts)
    targets = [task.words_of(target) for _, target in texts]
    references = [len(example.references) for example in counted.examples]
    return SplitStats(
        split=split,
        status=counted.status,
        rows=len(texts),
        official=task.info.sizes.get(split),
        skipped=len(counted.skipped),
        source=Lengths.of([len(source.split()) for source, _ in texts]),
        target=Lengths.of(targets),
        words=sum(targets),
        repeated=len(texts) - len(set(texts)),
        in_train=in_train,
        references=round(statistics.fmean(references or [0]), 2),
        sha256=task.manifest(split).sha256,
    )


def texts_of(task: Task, split: Split) -> list[tuple[str, str]]:
    """Return the source that a model would read and the target of every row."""
    return [(task.plain_source(example), example.target) for example in split.examples]


def where(kind: type[Task], data_dir: Path | None) -> Source:
    """Return where a task's rows would come from, without the hub."""
    return resolve(kind.name, data_dir, None, kind.info.folders)
