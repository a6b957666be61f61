"""Tuning: what stands under a table about the search its rows were picked from."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence

from bench.base.ties import TIE
from bench.leaderboards.row import TableRow
from bench.leaderboards.statistics.baseline import baseline_of
from bench.leaderboards.statistics.tuning import (
    budget_orders,
    expected_best,
    expected_maximum,
    first_changes,
    selection_gain,
)
from bench.leaderboards.table import Table

__all__ = ["tuning_remarks"]


def tuning_remarks(table: Table) -> list[str]:
    """Return what each method was picked from and by, what fewer trials would have given, and what was not tuned."""
    tuned = sorted((row for row in table.rows if row.tried), key=lambda row: -row.tried)
    lines = []
    for text in dict.fromkeys(row.picked for row in tuned):
        lines.append(f"{text}: {', '.join(dict.fromkeys(row.method for row in tuned if row.picked == text))}")
    repeated = {row.method: len(row.tie_break_losses) for row in table.rows if row.tie_break_losses}
    lines += [
        f"picked among {n} of these at full length, since they were within {TIE} nats of the best: {methods}"
        for n, methods in by_number(repeated)
    ]
    lines += expected_best_lines(table.rows)
    lines += more_tuned_lines(table)
    untuned = sorted({row.untuned for row in table.rows if row.untuned})
    if untuned:
        lines.append(
            f"untuned: at one shared value of {', '.join(untuned)} the order of these rows is partly that value's; "
            f"--grid tunes each on the validation split"
        )
    return lines


def by_number(number_of: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """Yield each number with the methods that have it, the largest first.

    >>> list(by_number({"mle": 3, "face": 18, "trime": 3}))
    [(18, 'face'), (3, 'mle, trime')]
    """
    for number in sorted(set(number_of.values()), reverse=True):
        yield number, ", ".join(method for method, n in number_of.items() if n == number)


def expected_best_lines(rows: Sequence[TableRow]) -> list[str]:
    """Say the expected best of k trials of each method, and whether the order of methods changes with k."""
    lines = []
    for backbone in dict.fromkeys(row.backbone for row in rows):
        trials = {row.label: row.trial_losses for row in rows if row.backbone == backbone and is_tuned(row)}
        most = max(map(len, trials.values()), default=0)
        if most < 2:
            continue
        where = f"on {backbone}" if backbone else "without a backbone"
        curves = []
        for method, losses in trials.items():
            best = [expected_best(losses, k) for k in range(1, len(losses) + 1)]
            curves.append(f"{method} {' '.join(map(loss_text, best))}")
        lines.append(
            f"expected best validation NLL of 1 to {most} trials {where} (nats per token; Dodge et al. 2019): "
            f"{'; '.join(curves)}"
        )
        if len(trials) > 1:
            lines.append(order_line(where, budget_orders(trials)))
    return lines


def is_tuned(row: TableRow) -> bool:
    """Return whether its settings were tried and make a difference: those of a bigram do not."""
    return len(row.trial_losses) == 1 or len(set(row.trial_losses)) > 1


def order_line(where: str, orders: Sequence[tuple[str, ...]]) -> str:
    """Say whether the order of methods by expected best changes with the number of trials."""
    changes = first_changes(orders)
    if len(changes) == 1:
        return f"the order of methods {where} is the same for 1 to {len(orders)} trials: {', '.join(changes[0][1])}"
    said = "; ".join(f"from {k} on {', '.join(order)}" for k, order in changes)
    return f"the order of methods {where} changes with the number of trials: {said}"


def more_tuned_lines(table: Table) -> list[str]:
    """Say what selection alone yields to methods that were tuned more than their baseline."""
    lines: dict[str, str] = {}
    for row in table.rows:
        place = baseline_of(table, row)
        if place is None or row.tried <= max(1, table.rows[place].tried):
            continue
        base = table.rows[place]
        tried = max(1, base.tried)
        gain = expected_maximum(row.tried) - expected_maximum(tried)
        said = (
            f"{row.method} was picked from {row.tried} combinations, its baseline from {tried}: were all of them "
            f"alike, the better pick alone would gain up to {gain:.2f} standard deviations over seeds"
        )
        sd = seed_sd(table.primary, (row, base))
        if sd is not None:
            said += f", {selection_gain(row.tried, tried, sd):.3g} {table.primary}"
        lines.setdefault(row.method, said)
    return list(lines.values())


def seed_sd(column: str, rows: Sequence[TableRow]) -> float | None:
    """Return the pooled standard deviation over seeds of a column in some rows; None without two seeds in any."""
    squares, freedom = 0.0, 0
    for row in rows:
        if column not in row.values or row.values[column].n < 2:
            continue
        values = list(row.values[column].by_seed.values())
        squares += statistics.variance(values) * (len(values) - 1)
        freedom += len(values) - 1
    if not freedom:
        return None
    return math.sqrt(squares / freedom)


def loss_text(loss: float) -> str:
    """Return a loss as it is shown; one that is infinite, since trials diverged, as a dash."""
    if math.isinf(loss):
        return "-"
    return f"{loss:.3f}"
