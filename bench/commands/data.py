"""`bench data`: where each task's rows come from, what they are, and how they differ from the published ones."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.base.entries import expand, split_names
from bench.cells.splits import SPLITS, differences, opened, place_archive, prepare, problem, stats, where
from bench.config.config import parse_sets
from bench.errors import BenchError, UsageError
from bench.tasks import TASKS
from bench.tasks.core.task import Task

HEADINGS = ("task", "split", "status", "rows", "official", "skipped", "source words", "target words", "all words",
            "repeated", "in train", "sha256")  # fmt: skip


def data(given: argparse.Namespace) -> int:
    """Run one of the commands below `bench data`; return the exit code."""
    names = expand(split_names(given.tasks) or ["all"], TASKS, "task")
    do: dict[str, Callable[[argparse.Namespace, list[str]], int]] = {
        "list": listing, "prepare": preparing, "verify": verifying, "stats": counting, "show": showing,
    }  # fmt: skip
    return do[given.action](given, names)


def listing(given: argparse.Namespace, names: list[str]) -> int:
    """Print where each task's rows would come from."""
    rows: list[dict[str, Any]] = []
    for name in names:
        kind: type[Task] = TASKS[name].load()
        source = where(kind, folder_of(given))
        sizes = {split: kind.info.sizes.get(split) for split in SPLITS}
        rows.append({"task": name, "language": kind.info.language, "from": source.why, "official": sizes,
                     "hub": kind.info.hub, "publisher": kind.info.source, "licence": kind.info.licence})  # fmt: skip
    if given.json:
        print(json.dumps(rows, indent=1))
        return 0
    headings = ("task", "language", "train / valid / test", "rows from", "hub")
    sizes_of = [" / ".join(count(n) for n in row["official"].values()) for row in rows]
    cells = [(row["task"], row["language"], sizes, row["from"], row["hub"] or "-")
             for row, sizes in zip(rows, sizes_of, strict=True)]  # fmt: skip
    print(columns(headings, cells))
    return 0


def preparing(given: argparse.Namespace, names: list[str]) -> int:
    """Bring, read and check the data of tasks, and remember what they are."""
    code = 0
    if given.archive is not None:
        if len(names) != 1:
            raise UsageError(f"--archive is for one task, not {len(names)}")
        print(f"{names[0]}: unpacked into {place_archive(names[0], given.archive)}")
    for task in tasks_of(given, names, fetch=True):
        try:
            prepare(task)
        except BenchError as error:
            print(f"bench: {error}", file=sys.stderr)
            code = max(code, error.exit_code)
            continue
        print(f"{task.name}: {task.source.why}")
        print("\n".join(told(task)))
    return code


def verifying(given: argparse.Namespace, names: list[str]) -> int:
    """Say how the data of tasks differs from the published rows."""
    found: dict[str, Any] = {}
    for task in tasks_of(given, names, fetch=False):
        found[task.name] = {split: differences(task, split) for split in SPLITS}
        if not given.json:
            print(f"{task.name}: {task.source.why}")
            print("\n".join(told(task)))
    if given.json:
        print(json.dumps(found, indent=1))
    return 0


def told(task: Task) -> Iterator[str]:
    """Yield a line for each split and each of its differences."""
    for split in SPLITS:
        unlike = differences(task, split)
        if problem(task, split) is not None:
            yield f"  {split:<6}{unlike[0]}"
            continue
        manifest = task.manifest(split)
        rows = f"{manifest.rows:,} rows, {manifest.bytes:,} bytes, sha256 {manifest.sha256[:16]}"
        yield f"  {split:<6}{manifest.status:<9}{rows}"
        yield from (f"        {line}" for line in unlike)


def counting(given: argparse.Namespace, names: list[str]) -> int:
    """Print the splits of tasks in numbers."""
    found, missing = [], []
    for task in tasks_of(given, names, fetch=False):
        for split in SPLITS:
            why = problem(task, split)
            if why is None:
                found.append({"task": task.name, **stats(task, split).as_dict()})
            else:
                missing.append((task.name, split, why))
    if given.json:
        print(json.dumps(found, indent=1))
        return 0
    print(columns(HEADINGS, [numbers(row) for row in found]))
    for name, split, why in missing:
        print(f"{name} {split}: {why}")
    return 0


def numbers(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a split's numbers as cells."""

    def lengths(of: Mapping[str, Any] | None) -> str:
        return "-" if of is None else f"{of['mean']:g} (most {of['longest']:,})"

    return (
        row["task"], row["split"], row["status"], count(row["rows"]), count(row["official"]), count(row["skipped"]),
        lengths(row["source"]), lengths(row["target"]), count(row["words"]), count(row["repeated"]),
        count(row["in_train"]), row["sha256"][:12],
    )  # fmt: skip


def showing(given: argparse.Namespace, names: list[str]) -> int:
    """Print one row as it was published and as a model reads it."""
    for task in tasks_of(given, names, fetch=False):
        rows = task.split(given.split).examples
        row = rows[0] if given.row is None else next((e for e in rows if e.id == given.row), None)
        if row is None:
            raise UsageError(f"{task.name} has no row '{given.row}' in {given.split}; its first is '{rows[0].id}'")
        shown = {"task": task.name, "split": given.split, "status": task.split(given.split).status, "id": row.id,
                 "source": task.plain_source(row),
                 "target": row.target, "references": list(row.references)}  # fmt: skip
        if given.json:
            print(json.dumps(shown, indent=1, ensure_ascii=False))
            continue
        for name, value in shown.items():
            if value and not (name == "references" and value == [row.target]):
                print(f"{name:<11}{json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value}")
        print()
    return 0


def tasks_of(given: argparse.Namespace, names: list[str], *, fetch: bool) -> Iterator[Task]:
    """Yield the tasks that were asked for."""
    sets = parse_sets([text for texts in given.sets for text in texts])
    for name in names:
        yield opened(TASKS[name].load(), sets, folder_of(given), given.on_bad_row, fetch=fetch)


def folder_of(given: argparse.Namespace) -> Path | None:
    """Return what `--data-dir` said."""
    return Path(given.data_dir) if given.data_dir else None


def columns(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return cells under headings, aligned.

    >>> print(columns(["task", "n"], [["text", "1"]]))
    task  n
    text  1
    """
    widths = [max(map(len, cells)) for cells in zip(headings, *rows, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
                     for line in (headings, *rows))  # fmt: skip


def count(n: int | None) -> str:
    """Return a number for people.

    >>> count(28450), count(None)
    ('28,450', '-')
    """
    return "-" if n is None else f"{n:,}"
