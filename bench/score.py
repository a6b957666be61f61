"""Scoring: stored rows to stored numbers, without a model, the same bits however many processes made the rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from bench.cell import Cell
from bench.keys import key_of
from bench.metrics import METRICS, Metric
from bench.metrics.score import Gold
from bench.provenance import provenance
from bench.store import StoredRows


def score_cell(cell: Cell) -> list[dict[str, Any]]:
    """Score every rows file of a cell that this run asks for, unless it is scored already."""
    found = []
    for key, what in cell.evaluations.items():
        stored = cell.folder.rows(key)
        if stored is None:
            continue
        for family in cell.task.info.metrics:
            metric = METRICS[family]
            if metric.kind == what.kind:
                found.append(score_rows(cell, family, metric, stored))
    return found


def score_rows(cell: Cell, family: str, metric: Metric, stored: StoredRows) -> dict[str, Any]:
    """Return the stored scores of one metric family over one rows file, computing them if need be."""
    started = time.monotonic()
    gold = gold_of(cell, stored, metric.gold)
    key = key_of({"rows": stored.sha256, "gold": key_of(gold), "family": family, "version": metric.version})
    known = cell.folder.scores(key)
    if known is not None:
        return known
    values = metric.load()(stored.rows, gold)
    content = {
        "family": family,
        "rows": stored.key,
        "rows_sha256": stored.sha256,
        "of": stored.content,
        "values": [value.as_dict() for value in values],
    }
    cell.folder.write_scores(key, content, provenance(started))
    return content


def gold_of(cell: Cell, stored: StoredRows, wanted: Sequence[str]) -> Gold:
    """Return what the metrics compare a rows file with, for exactly its rows."""
    ids = {row["id"] for row in stored.rows}
    if "cut" in stored.content:
        return {name: {} for name in sorted(ids)}
    split = cell.task.split(stored.content["split"])
    return cell.task.gold([e for e in split.examples if e.id in ids], wanted)
