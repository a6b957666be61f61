"""Baseline: the row of `mle` that a row of a table is compared with."""

from bench.leaderboards.row import TableRow
from bench.leaderboards.table import Table

BASELINE = "mle"
"""The method that all others are compared with."""


def baseline_of(table: Table, row: TableRow) -> int | None:
    """Return the place of the maximum-likelihood row with the same backbone, decoding and submitter; None for itself.

    Of several: for a row that a search has picked those that were picked from as many combinations; the one that it was
    started from; the one that was trained alike; the one that was trained for as long; the one whose backbone has the
    same options; the one that was evaluated alike. Where that leaves several, there is none: nothing tells which of
    them to choose. A row of `mle` is compared with none that was evaluated in other batches.
    """
    places = []
    for place, candidate in enumerate(table.rows):
        alike = all(getattr(candidate, name) == getattr(row, name) for name in ("backbone", "decoding", "submitted_by"))
        if candidate is not row and candidate.method == BASELINE and alike:
            places.append(place)
    if row.method == BASELINE:
        for is_like in (is_trained_alike, is_built_alike, is_evaluated_alike):
            places = [place for place in places if is_like(table.rows[place], row)]
        return places[0] if len(places) == 1 else None
    for is_like in LIKENESS:
        liked = [place for place in places if is_like(table.rows[place], row)]
        places = liked or places
    return places[0] if len(places) == 1 else None


def is_tuned_alike(baseline: TableRow, row: TableRow) -> bool:
    """Whether a row was picked from as many combinations as a row of the baseline."""
    return row.tried > 0 and baseline.tried == row.tried


def is_started_from(baseline: TableRow, row: TableRow) -> bool:
    """Whether a row was trained further from weights that were trained as those of a row of the baseline."""
    start = row.config.get("start") or {}
    return start.get("method") == BASELINE and start.get("trainer") == baseline.config.get("trainer")


def is_trained_alike(baseline: TableRow, row: TableRow) -> bool:
    """Whether all settings of the training are the same."""
    return bool(baseline.config.get("trainer") == row.config.get("trainer"))


def is_trained_as_long(baseline: TableRow, row: TableRow) -> bool:
    """Whether both saw as many batches of as many rows, or a row was started from weights that did."""
    ours = (row.config.get("start") or row.config).get("trainer") or {}
    theirs = baseline.config.get("trainer") or {}
    return all(ours.get(name) == theirs.get(name) for name in ("steps", "epochs", "batch_size"))


def is_built_alike(baseline: TableRow, row: TableRow) -> bool:
    """Whether both backbones have the same options, such as an output layer that is the input embedding."""
    return bool(baseline.config.get("backbone_options") == row.config.get("backbone_options"))


def is_evaluated_alike(baseline: TableRow, row: TableRow) -> bool:
    """Whether both were evaluated with the same settings, in batches of one size."""
    return bool(baseline.config.get("evaluation") == row.config.get("evaluation"))


LIKENESS = (is_tuned_alike, is_started_from, is_trained_alike, is_trained_as_long, is_built_alike, is_evaluated_alike)
"""What tells several rows of the baseline apart, first to last; what holds for none of them tells nothing."""
