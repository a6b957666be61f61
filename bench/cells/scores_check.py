"""Scores check: whether the stored values of a cell are what its rows come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.base.entries import Loaded
from bench.cells.score import Tasks, computed, differences, gold_of, raised
from bench.errors import BenchError, DamagedError
from bench.metrics import find_metric
from bench.store.store import CellFolder, StoredRows

__all__ = ["CheckedScores", "checked_scores"]


@dataclass
class CheckedScores:
    """What the stored scores of a cell are beside what its rows come to.

    Args:
        same: how many are the same.
        differences: how the others differ, a line each.
        not_checked: what could not be compared because data or code is not here, and why.
    """

    same: int = 0
    differences: list[str] = field(default_factory=list)
    not_checked: dict[str, BenchError] = field(default_factory=dict)


def checked_scores(cell: CellFolder, tasks: Tasks) -> CheckedScores:
    """Compare every stored score of a cell with what its rows come to.

    Raises:
        DamagedError: one of its files is damaged.
    """
    checked = CheckedScores()
    rows = {stored.key: stored for stored in cell.all_rows()}
    for content in cell.all_scores():
        place = f"{cell.path} · {content['family']}"
        try:
            lines = unlike_now(cell, content, rows.get(content["rows"]), tasks)
        except DamagedError:
            raise
        except BenchError as error:
            checked.not_checked[place] = error
            continue
        checked.same += not lines
        checked.differences += [f"{place}: {line}" for line in lines]
    return checked


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
    task = tasks.of(cell.trained() or {}, stored, cell)
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
