"""`bench data`: where each task's rows come from, what they are, and how they differ from the published ones."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.base.entries import expand, split_names
from bench.base.outward import json_text
from bench.cli_options import data_dir_of, data_dir_option, json_option, set_option, set_texts, task_name
from bench.config.config import parse_sets
from bench.errors import BenchError, UsageError
from bench.tasks import TASKS, find_task

if TYPE_CHECKING:
    from bench.tasks.core.example import Example
    from bench.tasks.core.task import Task

LIST_HEADINGS = ("task", "language", "train / valid / test", "rows from", "hub")
STATS_HEADINGS = (
    "task",
    "split",
    "status",
    "rows",
    "official",
    "skipped",
    "source words",
    "target words",
    "all words",
    "repeated",
    "in train",
    "sha256",
)


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench data`."""
    parser.add_argument("action", choices=list(ACTIONS), metavar="ACTION", help="list, prepare, verify, stats or show")
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="names, 'all' or globs; default all")
    parser.add_argument("--split", choices=["train", "valid", "test"], default="train", help="of the row to show")
    parser.add_argument("--archive", type=Path, metavar="FILE", help="prepare: unpack this into the cache first")
    parser.add_argument("--row", metavar="ID", help="the row to show; default the first")
    set_option(parser, "e.g. task.path=my.txt")
    data_dir_option(parser)
    parser.add_argument("--on-bad-row", choices=["fail", "skip"], default="fail", help="as for bench run; default fail")
    json_option(parser)


def run(given: argparse.Namespace) -> int:
    """Run one of the actions; return the exit code."""
    names = expand(split_names(given.tasks) or ["all"], TASKS, "task", own=True)
    return ACTIONS[given.action](given, names)


# The actions -------------------------------------------------------------------------------------------------------


def list_sources(given: argparse.Namespace, names: list[str]) -> int:
    """Print where each task's rows would come from."""
    from bench.cells.splits import SPLITS, where

    rows: list[dict[str, Any]] = []
    for name in names:
        kind: type[Task] = find_task(name).value
        row: dict[str, Any] = {
            "task": kind.name,
            "language": kind.info.language,
            "from": where(kind, data_dir_of(given)).why,
            "official": {split: kind.info.sizes.get(split) for split in SPLITS},
            "hub": kind.info.hub,
            "revision": revision_of(kind),
            "publisher": kind.info.source,
            "licence": kind.info.licence,
        }
        rows.append(row)
    if given.json:
        print(json.dumps(rows, indent=1))
        return 0
    lines = []
    for row in rows:
        sizes = " / ".join(map(number, row["official"].values()))
        hub = row["hub"] or "-"
        if row["revision"] == "unpinned":
            hub += " (unpinned)"
        lines.append((row["task"], row["language"], sizes, row["from"], hub))
    print_table(LIST_HEADINGS, lines, texts=len(LIST_HEADINGS))
    return 0


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], texts: int) -> None:
    """Print a table as wide as the terminal; its first columns are texts."""
    from bench.leaderboards.render.text.aligned import aligned

    print("\n".join(aligned(headings, rows, texts=texts)))


def revision_of(kind: type[Task]) -> str:
    """Return the commit that a task's rows are taken from the hub at; `unpinned` where no reference states one."""
    from bench.tasks.fetch.hub_copies import HUB
    from bench.tasks.fetch.hub_rows import is_commit

    if kind.name not in HUB:
        return ""
    if is_commit(HUB[kind.name].revision):
        return HUB[kind.name].revision
    return "unpinned"


def prepare_splits(given: argparse.Namespace, names: list[str]) -> int:
    """Bring, read and check the data of tasks, and remember what they are."""
    from bench.cells.splits import place_archive, prepare

    code = 0
    if given.archive is not None:
        if len(names) != 1:
            raise UsageError(f"--archive is for one task, not {len(names)}")
        name = task_name(names[0])
        print(f"{name}: unpacked into {place_archive(name, given.archive)}")
    for task in opened_tasks(given, names, fetch=True):
        try:
            prepare(task)
        except BenchError as error:
            print(f"bench: {error}", file=sys.stderr)
            code = max(code, error.exit_code)
            continue
        print_differences(task)
    return code


def verify_splits(given: argparse.Namespace, names: list[str]) -> int:
    """Say how the data of tasks differs from the published rows."""
    from bench.cells.splits import SPLITS, differences

    by_task: dict[str, Any] = {}
    for task in opened_tasks(given, names, fetch=False):
        by_task[task.name] = {split: differences(task, split) for split in SPLITS}
        if not given.json:
            print_differences(task)
    if given.json:
        print(json.dumps(by_task, indent=1))
    return 0


def count_splits(given: argparse.Namespace, names: list[str]) -> int:
    """Print the splits of tasks in numbers."""
    from bench.cells.splits import SPLITS, problem, stats

    rows: list[dict[str, Any]] = []
    missing = []
    for task in opened_tasks(given, names, fetch=False):
        for split in SPLITS:
            why = problem(task, split)
            if why is None:
                rows.append({"task": task.name, **stats(task, split).as_dict()})
            else:
                missing.append((task.name, split, why))
    if given.json:
        print(json.dumps(rows, indent=1))
        return 0
    print_table(STATS_HEADINGS, [stats_line(row) for row in rows], texts=3)
    for name, split, why in missing:
        print(f"{name} {split}: {why}")
    return 0


def show_row(given: argparse.Namespace, names: list[str]) -> int:
    """Print one row as it was published and as a model reads it."""
    for task in opened_tasks(given, names, fetch=False):
        row = row_of(task, given.split, given.row)
        shown = {
            "task": task.name,
            "split": given.split,
            "status": task.split(given.split).status,
            "id": row.id,
            "source": task.plain_source(row),
            "target": row.target,
            "references": list(row.references),
        }
        if given.json:
            print(json_text(shown, indent=1))
            continue
        if shown["references"] == [row.target]:
            del shown["references"]
        for name, value in shown.items():
            if isinstance(value, list) and value:
                value = json_text(value)
            if value:
                print(f"{name:<11}{value}")
        print()
    return 0


ACTIONS = {
    "list": list_sources,
    "prepare": prepare_splits,
    "verify": verify_splits,
    "stats": count_splits,
    "show": show_row,
}

# What they read and print ------------------------------------------------------------------------------------------


def opened_tasks(given: argparse.Namespace, names: list[str], *, fetch: bool) -> Iterator[Task]:
    """Yield the tasks that were asked for; with `fetch`, their data is downloaded where it can be."""
    from bench.cells.splits import opened

    overrides = parse_sets(set_texts(given))
    for name in names:
        yield opened(find_task(name).value, overrides, data_dir_of(given), given.on_bad_row, fetch=fetch)


def row_of(task: Task, split: str, name: str | None) -> Example:
    """Return a row of a split by its id, or the first one.

    Raises:
        UsageError: the split has no such row.
    """
    rows = task.split(split).examples
    if name is None:
        return rows[0]
    for row in rows:
        if row.id == name:
            return row
    raise UsageError(f"{task.name} has no row '{name}' in {split}; its first is '{rows[0].id}'")


def print_differences(task: Task) -> None:
    """Print where a task's rows come from, and how each split differs from the published one."""
    print(f"{task.name}: {task.source.why}")
    print("\n".join(difference_lines(task)))


def difference_lines(task: Task) -> Iterator[str]:
    """Yield a line for each split and each of its differences."""
    from bench.cells.splits import SPLITS, differences, problem

    for split in SPLITS:
        unlike = differences(task, split)
        if problem(task, split) is not None:
            yield f"  {split:<6}{unlike[0]}"
            continue
        manifest = task.manifest(split)
        rows = f"{manifest.rows:,} rows, {manifest.bytes:,} bytes, sha256 {manifest.sha256[:16]}"
        yield f"  {split:<6}{manifest.status:<9}{rows}"
        for line in unlike:
            yield f"        {line}"


def stats_line(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a split's numbers as the cells of a line."""
    return (
        row["task"],
        row["split"],
        row["status"],
        number(row["rows"]),
        number(row["official"]),
        number(row["skipped"]),
        lengths(row["source"]),
        lengths(row["target"]),
        number(row["words"]),
        number(row["repeated"]),
        number(row["in_train"]),
        row["sha256"][:12],
    )


def lengths(words: Mapping[str, Any] | None) -> str:
    """Return mean and longest length for people.

    >>> lengths({"mean": 2.5, "longest": 1200})
    '2.5 (most 1,200)'
    """
    if words is None:
        return "-"
    return f"{words['mean']:g} (most {words['longest']:,})"


def number(n: int | None) -> str:
    """Return a number for people.

    >>> number(28450), number(None)
    ('28,450', '-')
    """
    if n is None:
        return "-"
    return f"{n:,}"
