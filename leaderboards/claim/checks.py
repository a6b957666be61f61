"""Regression checks: what a pilot of ours has shown, looked at again. They are no claims of a paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.leaderboards.claim.claim_files import ClaimFile, RegressionCheck
from bench.leaderboards.claim.evidence import Evidence, column_of, gather
from bench.leaderboards.table import Table

__all__ = ["Check", "checked", "holds"]


@dataclass(frozen=True)
class Check:
    """A regression check of ours and its evidence; `passed` is None where nothing is stored."""

    check: RegressionCheck
    evidence: Evidence
    passed: bool | None

    @property
    def state(self) -> str:
        """It in one word: `pass`, `fail` or `not run`."""
        if self.passed is None:
            return "not run"
        if self.passed:
            return "pass"
        return "fail"


def checked(file: ClaimFile, tables: Sequence[Table], preset: str) -> list[Check]:
    """Return the regression checks of a file on the tables of one preset."""
    found = []
    for check in file.checks:
        run = file.run_of(check)
        of_check = [table for table in tables if table.task == run.task and table.preset == preset]
        evidence = gather(check, of_check, run.where)
        found.append(Check(check, evidence, holds(check, evidence)))
    return found


def holds(check: RegressionCheck, evidence: Evidence) -> bool | None:
    """Return whether a regression check holds in the mean over seeds, a bound in every one; None without a seed."""
    effect = evidence.effect
    if effect is None:
        return None
    if check.relation == "near":
        return abs(effect) <= check.within
    if check.relation in ("above", "below"):
        return min(evidence.by_seed.values()) >= 0
    if check.factor:
        return _times(check, evidence) >= check.factor
    return effect >= check.floor


def _times(check: RegressionCheck, evidence: Evidence) -> float:
    """Return how many times the other row's mean a row has; the other's is its own less the effect."""
    assert evidence.row is not None
    assert evidence.effect is not None
    column = column_of(check.column, [evidence.row])
    assert column is not None
    ours = evidence.row.values[column].mean
    assert ours is not None
    return ours / (ours - check.sign * evidence.effect)
