"""`bench verify`: whether stored numbers are still what their rows come to; in a kept board, their sums."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bench.base.entries import Loaded
from bench.cli_options import cell_folders, rows_options, tasks_of
from bench.errors import BenchError, DamagedError
from bench.metrics import find_metric
from bench.store.kept_board import KeptBoard
from bench.store.store import CellFolder, StoredRows

if TYPE_CHECKING:
    from bench.cells.score import Tasks


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench verify`."""
    rows_options(parser)


def run(given: argparse.Namespace) -> int:
    """Compute every stored number again, from its rows or, in a kept board, its sums; return 0 if all are the same."""
    from bench.cells.score import cells_of
    from bench.cells.sums_check import SumsCheck

    tasks = tasks_of(given)
    same, by_rows = 0, False
    unlike: list[str] = []
    kept = SumsCheck()
    for cell in cells_of(cell_folders(given)):
        if isinstance(cell.files, KeptBoard):
            kept.add(cell)
            continue
        by_rows = True
        try:
            n, lines = checked(cell, tasks)
        except DamagedError as error:
            n, lines = 0, [str(error)]
        same += n
        unlike += lines
    found: dict[str, Any] = {"same": same, "differences": [*unlike, *kept.differences]}
    if kept.cells:
        found |= kept.counts()
    if given.json:
        print(json.dumps(found, indent=1))
    else:
        if by_rows:
            print("\n".join([*unlike, f"{same} stored scores are what their rows come to, {len(unlike)} differences"]))
        if kept.cells:
            print("\n".join(kept.lines()))
    return int(bool(found["differences"]))


def checked(cell: CellFolder, tasks: Tasks) -> tuple[int, list[str]]:
    """Return how many scores of a cell are what their rows come to, and how the others differ.

    Raises:
        DamagedError: one of its files is damaged.
    """
    same, unlike = 0, []
    rows = {stored.key: stored for stored in cell.all_rows()}
    for content in cell.all_scores():
        lines = unlike_now(cell, content, rows.get(content["rows"]), tasks)
        same += not lines
        unlike += [f"{cell.path} · {content['family']}: {line}" for line in lines]
    return same, unlike


def metric_of(content: Mapping[str, Any]) -> Loaded | None:
    """Return the metric family of a scores file; None where it is not there any more.

    One of the user's own is looked for where it was: its module has to be importable.
    """
    name = content["family"]
    if "code" in content:
        name = content["code"]["class"]
    try:
        return find_metric(name)
    except BenchError:
        return None


def unlike_now(cell: CellFolder, content: Mapping[str, Any], stored: StoredRows | None, tasks: Tasks) -> list[str]:
    """Say how one family's stored values differ from those its rows come to."""
    from bench.cells.score import computed, differences, gold_of, raised

    if stored is None:
        return ["its rows are not there; bench run makes them again from the model"]
    if stored.sha256 != content["rows_sha256"]:
        return ["its rows are others than it was computed from"]
    metric = metric_of(content)
    if metric is None:
        return ["this version has no such metric family"]
    if metric.code.get("source_sha256") != content.get("code", {}).get("source_sha256"):
        return [
            f"the source of {metric.code['class']} has changed since; bench score computes it anew, and bench "
            f"clean --old-scores removes the old"
        ]
    if content.get("version", 0) < metric.value.version:
        return [
            f"is of version {content.get('version', 0)}, this program has version {metric.value.version}; bench score "
            f"computes it anew, and the old stays"
        ]
    task = tasks.of(cell.trained() or {}, stored)
    gold = gold_of(task, stored, metric.value.gold)
    try:
        values, sums = computed(metric.value, stored, gold, task, metric.code)
    except BenchError:
        raise
    except Exception as error:
        return [f"cannot be computed: {raised(error)}"]
    lines = differences(content, values)
    if "items" in content and (cell.sums(content["items"]) != sums):
        lines.append("what its columns are made of is gone or is not what its rows come to; delete it and bench score")
    return lines
