"""Completion status: which evaluations of a run are still to be made.

A run that was joined from a snapshot has neither weights nor predictions. Its scores take their place.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.base.registry import Resolved
from bench.cells.cell import Cell
from bench.cells.forgetting import FORGETTING
from bench.metrics import find_metric, metrics_of
from bench.store.store import CellFolder


def required_families(cell: Cell, metrics: Sequence[str] = ()) -> list[Resolved]:
    """Return the metric families of a run: those of its task, by the models of its preset, and more by name."""
    of_task = metrics_of(cell.task.info.metrics, cell.config.preset)
    if any(what.kind == FORGETTING for what in cell.evaluations.values()):
        of_task.append(FORGETTING)
    return [find_metric(name) for name in dict.fromkeys([*of_task, *metrics])]


def missing_evaluations(cell: Cell, metrics: Sequence[str] = ()) -> list[str]:
    """Return the keys of a run's evaluations that have to be made.

    Those have no predictions. In a run that was joined from a snapshot, scores take the place of predictions, if every
    required metric is there.
    """
    missing = [key for key in cell.evaluations if cell.folder.rows(key) is None]
    if not missing or not is_from_snapshot(cell.folder):
        return missing
    scores = cell.folder.all_scores()
    return [key for key in missing if not _has_numbers(cell, key, scores, metrics)]


def is_from_snapshot(folder: CellFolder) -> bool:
    """Return whether a run has neither weights nor predictions, as those that were joined from a snapshot.

    A baseline needs no weights, and a run that is yet to be trained will have them.
    """
    digest = (folder.trained() or {}).get("model", {}).get("checkpoint_sha256")
    return digest is not None and not folder.has_checkpoint(digest) and not folder.names("rows-*.jsonl.gz")


def _has_numbers(cell: Cell, key: str, scores: Sequence[Mapping[str, Any]], metrics: Sequence[str]) -> bool:
    """Return whether every required family of an evaluation has its numbers, of the current version."""
    kind = cell.evaluations[key].kind
    families = [family for family in required_families(cell, metrics) if family.value.kind == kind]
    required = [(family.name, family.value.version, dict(family.code)) for family in families]
    known = [
        (each["family"], each.get("version", 0), dict(each.get("code", {}))) for each in scores if each["rows"] == key
    ]
    return bool(required) and all(each in known for each in required)
