"""Baseline: the row that a row of a table is compared with."""

from __future__ import annotations

from bench.leaderboards.row import TableRow
from bench.leaderboards.table import Table

__all__ = ["BASELINE", "baseline_of"]

BASELINE = "mle"
"""The method that all others are compared with."""


def baseline_of(table: Table, row: TableRow) -> int | None:
    """Return the place of the maximum-likelihood row with the same backbone and decoding; None for itself.

    Of several, the one that was trained alike, else the one that was picked from as many combinations of settings;
    without one, none: which is meant would be a choice.
    """
    places = []
    for place, candidate in enumerate(table.rows):
        alike = (candidate.backbone, candidate.decoding) == (row.backbone, row.decoding)
        if candidate is not row and candidate.method == BASELINE and alike:
            places.append(place)
    trained_alike = [i for i in places if table.rows[i].config.get("trainer") == row.config.get("trainer")]
    if len(trained_alike) == 1:
        return trained_alike[0]
    if row.tried and row.method != BASELINE:
        tuned_alike = [i for i in places if table.rows[i].tried == row.tried]
        if len(tuned_alike) == 1:
            return tuned_alike[0]
    if len(places) == 1 and row.method != BASELINE:
        return places[0]
    return None
