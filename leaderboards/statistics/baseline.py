"""Baseline: the row that a row of a table is compared with; and which rows are compared over tasks.

Over tasks the baseline and each method have one row. No test score picks a method's setting: that would
compare the best of several looks at the test split with a baseline. What may pick it is what was known before: a search
on the validation split, how the baseline was trained, and how many seeds were run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from bench.base.keys import key_of
from bench.leaderboards.row import TableRow
from bench.leaderboards.statistics.constants import MIN_SEEDS
from bench.leaderboards.table import Table, metric_name

__all__ = ["BASELINE", "NO_CHOICE", "Choice", "baseline_of", "baseline_row", "choices", "compared_rows"]

BASELINE = "mle"
"""The method that all others are compared with."""
NO_CHOICE = "several settings, none picked on validation"
"""Why a method has no number where nothing but test scores would tell its settings apart."""


@dataclass(frozen=True)
class Choice:
    """The row that is shown for a method.

    Args:
        row: it; None where nothing but test scores would tell the method's settings apart.
        settings: how many settings there were to choose from.
        why: what the row is among them, for people; empty where there was only one.
    """

    row: TableRow | None
    settings: int
    why: str = ""


def baseline_of(table: Table, row: TableRow) -> int | None:
    """Return the place of the maximum-likelihood row with the same backbone, decoding and submitter; None for itself.

    Of several: for a row that a search has picked those that were picked from as many combinations; the one that it was
    started from; the one that was trained alike; the one that was trained for as long; the one whose backbone has the
    same options. Where that leaves several, there is none: nothing tells which of them to choose.
    """
    places = []
    for place, candidate in enumerate(table.rows):
        alike = all(getattr(candidate, name) == getattr(row, name) for name in ("backbone", "decoding", "submitted_by"))
        if candidate is not row and candidate.method == BASELINE and alike:
            places.append(place)
    if row.method == BASELINE:
        places = [place for place in places if is_trained_alike(table.rows[place], row)]
        places = [place for place in places if is_built_alike(table.rows[place], row)]
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


LIKENESS = (is_tuned_alike, is_started_from, is_trained_alike, is_trained_as_long, is_built_alike)
"""What tells several rows of the baseline apart, first to last; what holds for none of them tells nothing."""


def baseline_row(table: Table) -> tuple[TableRow, str] | None:
    """Return the row of the baseline that methods are compared with, and the primary column's name.

    Submitted rows are left out, and so are not counted over tasks.

    Of several: one with three seeds or more; of these the one picked from most combinations on validation; then the one
    with most seeds; then the one that most methods are compared with. What is left differs in its decoding, or in
    settings that nothing tells apart, and the best of it counts: a baseline that test scores have picked is too strong,
    if anything.

    Returns:
        None where the table has no primary column, or no baseline with a number in it.
    """
    found = []
    for row in table.rows:  # best first
        for column, value in row.values.items():
            if row.method != BASELINE or row.submitted_by:
                continue
            if metric_name(column) == table.primary and value.mean is not None:
                found.append((row, column))
    if not found:
        return None

    def preferred(pair: tuple[TableRow, str]) -> tuple[bool, int, int, int]:
        row, column = pair
        compared = {other.method for other in compared_rows(table, row)}
        return row.values[column].n < MIN_SEEDS, -row.tried, -row.values[column].n, -len(compared)

    return min(found, key=preferred)  # the first of equals


def compared_rows(table: Table, base: TableRow) -> Iterator[TableRow]:
    """Yield other methods' rows that are compared with one of the baseline: like it in decoding, backbone, training."""
    place = table.rows.index(base)
    for row in table.rows:
        alike = (row.decoding, row.backbone) == (base.decoding, base.backbone)
        if row.method != BASELINE and alike and baseline_of(table, row) == place:
            yield row


def choices(rows: Iterable[TableRow], base: TableRow, column: str) -> dict[str, Choice]:
    """Return for each method the row that is shown for it, in the order of the rows.

    Of several settings: one with three seeds or more; of these one picked on validation, from as many combinations as
    the baseline if there is one; then one that was trained as the baseline was; then the one with most seeds. Where
    that leaves several, there is none.

    Args:
        rows: that are compared with the baseline; those without the column are left out.
        base: the row of the baseline.
        column: they are compared in.
    """
    by_method: dict[str, list[TableRow]] = {}
    for row in rows:
        if column in row.values:
            by_method.setdefault(row.method, []).append(row)
    return {method: _choice(of_method, base, column) for method, of_method in by_method.items()}


def _choice(rows: Sequence[TableRow], base: TableRow, column: str) -> Choice:
    settings = len(set(map(_setting, rows)))
    most_tried = max(row.tried for row in rows)
    most_seeds = max(row.values[column].n for row in rows)
    trainer = base.config.get("trainer")
    rules: Sequence[tuple[str, Callable[[TableRow], bool]]] = (
        (f"with {MIN_SEEDS} seeds", lambda row: row.values[column].n >= MIN_SEEDS),
        ("picked on validation", lambda row: row.tried > 0),
        (f"tuned as {BASELINE} was", lambda row: row.tried == base.tried),
        ("picked from most combinations", lambda row: row.tried == most_tried),
        (f"trained as {BASELINE} was", lambda row: row.config.get("trainer") == trainer),
        ("with most seeds", lambda row: row.values[column].n == most_seeds),
    )
    left, why = list(rows), ""
    for name, holds in rules:
        if len(set(map(_setting, left))) == 1:
            break
        kept = [row for row in left if holds(row)]
        if kept and len(kept) < len(left):
            left, why = kept, name
    if len(set(map(_setting, left))) > 1:
        return Choice(None, settings, NO_CHOICE)
    return Choice(min(left, key=_batch_size), settings, why)


def _setting(row: TableRow) -> str:
    """Return a name of what a row's model was made with; the size of an evaluation's batches only rounds.

    Where nothing is trained, how training was set is nothing either.
    """
    left_out = {"evaluation"}
    if not row.backbone:
        left_out.add("trainer")
    return key_of({name: value for name, value in row.config.items() if name not in left_out})


def _batch_size(row: TableRow) -> int:
    return int(row.config.get("evaluation", {}).get("batch_size", 0))
