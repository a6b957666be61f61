"""`bench score` and `bench verify`: numbers from stored rows, and whether stored ones are still what they come to."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.base.entries import expand, split_names
from bench.cells.score import Tasks, cells_of, computed, differences, gold_of, score_rows
from bench.config.config import parse_sets
from bench.errors import BenchError
from bench.metrics import METRICS
from bench.store.store import CellFolder, StoredRows


def score(given: argparse.Namespace) -> int:
    """Fill in what is not scored yet; return the exit code."""
    wanted = expand(split_names(given.metrics), METRICS, "metric")
    tasks, new, known, failed = tasks_of(given), 0, 0, 0
    for cell in cells_of(places(given)):
        record = cell.trained() or {}
        for stored in cell.all_rows():
            try:
                task = tasks.of(record, stored)
                families = wanted or task.info.metrics
                for family in (name for name in families if METRICS[name].kind == stored.content["kind"]):
                    made = score_rows(cell, task, family, stored)[1]
                    new, known = new + made, known + (not made)
            except BenchError as error:
                print(f"bench: {cell.path}: {error}", file=sys.stderr)
                failed += 1
    said = f"{new} scores made, {known} were there"
    said += f", {failed} rows files could not be scored" if failed else ""
    print(json.dumps({"new": new, "known": known, "failed": failed}) if given.json else said)
    return 3 if failed else 0


def verify(given: argparse.Namespace) -> int:
    """Compute every stored number again from its rows; return 0 when all are the same, else 1."""
    tasks, same, unlike = tasks_of(given), 0, list[str]()
    for cell in cells_of(places(given)):
        rows = {stored.key: stored for stored in cell.all_rows()}
        for content in cell.all_scores():
            found = unlike_now(cell, content, rows.get(content["rows"]), tasks)
            same += not found
            unlike += [f"{cell.path} · {content['family']}: {line}" for line in found]
    if given.json:
        print(json.dumps({"same": same, "differences": unlike}, indent=1))
    else:
        print("\n".join([*unlike, f"{same} stored scores are what their rows come to, {len(unlike)} differences"]))
    return 1 if unlike else 0


def unlike_now(cell: CellFolder, content: Mapping[str, Any], stored: StoredRows | None, tasks: Tasks) -> list[str]:
    """Say how one family's stored values differ from those its rows come to."""
    if stored is None:
        return ["its rows are not there; bench run makes them again from the model"]
    if stored.sha256 != content["rows_sha256"]:
        return ["its rows are others than it was computed from"]
    if content["family"] not in METRICS:
        return ["this version has no such metric family"]
    metric = METRICS[content["family"]]
    task = tasks.of(cell.trained() or {}, stored)
    values, items = computed(metric, stored, gold_of(task, stored, metric.gold), task)
    found = differences(content, values)
    if "items" in content and (cell.items(content["items"]) != items):
        found.append("what its columns are made of is gone or is not what its rows come to; delete it and bench score")
    return found


def tasks_of(given: argparse.Namespace) -> Tasks:
    """Return where tasks are read from."""
    sets = parse_sets([text for texts in given.sets for text in texts])
    return Tasks(Path(given.data_dir) if given.data_dir else None, sets)


def places(given: argparse.Namespace) -> list[Path]:
    """Return the folders that were named."""
    return [Path(cell) for cell in given.cells] or [Path("results")]
