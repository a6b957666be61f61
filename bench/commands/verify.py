"""`bench verify`: whether stored numbers are still what their rows come to."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bench.cli_options import cell_folders, rows_options, tasks_of
from bench.metrics import METRICS
from bench.store.store import CellFolder, StoredRows

if TYPE_CHECKING:
    from bench.cells.score import Tasks


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench verify`."""
    rows_options(parser)


def run(given: argparse.Namespace) -> int:
    """Compute every stored number again from its rows; return 0 when all are the same, else 1."""
    from bench.cells.score import cells_of

    tasks = tasks_of(given)
    same = 0
    unlike: list[str] = []
    for cell in cells_of(cell_folders(given)):
        rows = {stored.key: stored for stored in cell.all_rows()}
        for content in cell.all_scores():
            lines = unlike_now(cell, content, rows.get(content["rows"]), tasks)
            same += not lines
            unlike += [f"{cell.path} · {content['family']}: {line}" for line in lines]
    if given.json:
        print(json.dumps({"same": same, "differences": unlike}, indent=1))
    else:
        print("\n".join([*unlike, f"{same} stored scores are what their rows come to, {len(unlike)} differences"]))
    return int(bool(unlike))


def unlike_now(cell: CellFolder, content: Mapping[str, Any], stored: StoredRows | None, tasks: Tasks) -> list[str]:
    """Say how one family's stored values differ from those its rows come to."""
    from bench.cells.score import computed, differences, gold_of

    if stored is None:
        return [cell.files.no_rows]
    if stored.sha256 != content["rows_sha256"]:
        return ["its rows are others than it was computed from"]
    if content["family"] not in METRICS:
        return ["this version has no such metric family"]
    metric = METRICS[content["family"]]
    task = tasks.of(cell.trained() or {}, stored)
    values, items = computed(metric, stored, gold_of(task, stored, metric.gold), task)
    lines = differences(content, values)
    if "items" in content and (cell.items(content["items"]) != items):
        lines.append("what its columns are made of is gone or is not what its rows come to; delete it and bench score")
    return lines
