"""Competence gates: a model speaks about a claim only where its baseline beats the task's trivial controls.

A model that writes worse headlines than the first words of the source says nothing about headlines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.leaderboards.claim.claim_files import Claim, Gate, Run
from bench.leaderboards.controls import reads_exemplars
from bench.leaderboards.row import TableRow
from bench.leaderboards.table import Table, metric_name

__all__ = ["Competence", "competence"]


@dataclass(frozen=True)
class Competence:
    """Whether the models of a run may speak about a claim.

    Args:
        passed: whether the baseline is better than every control; None where a row is not stored.
        why: the numbers, or what is not stored.
    """

    passed: bool | None
    why: str


def competence(claim: Claim, run: Run, table: Table) -> Competence | None:
    """Return whether a run's baseline beats the trivial controls of its task; None where the run has no gate.

    Args:
        claim: exemplar copies gate only those about methods that read exemplars.
        run: of the claim.
        table: where the claim's rows are.
    """
    gate = run.gate
    if gate is None:
        return None
    baselines = [row for row in gate.baseline.rows(table.rows, run.where) if _mean(row, gate.column) is not None]
    if not baselines:
        return Competence(None, f"no row of {gate.baseline.label} with '{gate.column}'")
    ours = _mean(baselines[0], gate.column)
    assert ours is not None
    wanted = gate.controls
    if is_about_exemplars(claim):
        wanted += gate.exemplar_controls
    lost, missing = [], []
    for method in wanted:
        theirs = _best(table.rows, method, gate)
        if theirs is None:
            missing.append(method)
        elif not _is_better(ours, theirs, gate.lower):
            lost.append(f"of {method} {theirs:.2f}")
    if lost:
        return Competence(False, f"{gate.column} of {gate.baseline.method} {ours:.2f}, {', '.join(lost)}")
    if missing:
        return Competence(None, f"not stored of the trivial controls: {', '.join(missing)}")
    return Competence(True, f"{gate.baseline.method} beats {', '.join(wanted)} in {gate.column}: {ours:.2f}")


def is_about_exemplars(claim: Claim) -> bool:
    """Return whether a claim is about a method that reads exemplars."""
    sides = [side for side in (claim.better, claim.than) if side is not None]
    return any(reads_exemplars(side.method) for side in sides)


def _best(rows: Sequence[TableRow], method: str, gate: Gate) -> float | None:
    """Return the best mean of a trivial control's rows; None where none is stored."""
    means = [mean for row in rows if row.method == method and (mean := _mean(row, gate.column)) is not None]
    if not means:
        return None
    if gate.lower:
        return min(means)
    return max(means)


def _mean(row: TableRow, column: str) -> float | None:
    """Return a row's mean of a metric; None where it has none."""
    for name, value in row.values.items():
        if metric_name(name) == column and value.mean is not None:
            return value.mean
    return None


def _is_better(ours: float, theirs: float, lower: bool) -> bool:
    if lower:
        return ours < theirs
    return ours > theirs
