"""Tuning: what stands under a table about the search its rows were picked from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from bench.base.ties import TIE
from bench.leaderboards.row import TableRow
from bench.leaderboards.statistics.baseline import baseline_of
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
    """Say the expected best of 1 to n trials of each method: how it does under a smaller budget."""
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
    return lines


def expected_best(losses: Sequence[float | None], k: int) -> float:
    """Return the expected lowest of k losses that are drawn, with replacement, from those of n trials.

    sum over i of loss_(i) * (((n - i + 1) / n)^k - ((n - i) / n)^k), with loss_(1) <= ... <= loss_(n): Dodge,
    Gururangan, Card, Schwartz and Smith 2019, eq. 7, for a loss in place of a score.

    Args:
        losses: validation NLL of each trial; None for one that diverged or failed, which is infinitely bad.
        k: how many are drawn, 1 or more.

    >>> expected_best([3.0, 1.0], 1), expected_best([3.0, 1.0], 2)
    (2.0, 1.5)
    """
    ordered = sorted(math.inf if loss is None else loss for loss in losses)
    n, total = len(ordered), 0.0
    for place, loss in enumerate(ordered):
        total += loss * (((n - place) / n) ** k - ((n - place - 1) / n) ** k)
    return total


def is_tuned(row: TableRow) -> bool:
    """Return whether its settings were tried and make a difference: those of a bigram do not."""
    return len(row.trial_losses) == 1 or len(set(row.trial_losses)) > 1


def more_tuned_lines(table: Table) -> list[str]:
    """Say which methods were picked from more combinations than their baseline."""
    lines: dict[str, str] = {}
    for row in table.rows:
        place = baseline_of(table, row)
        if place is not None and row.tried > max(1, table.rows[place].tried):
            lines[row.method] = (
                f"{row.method} was picked from {row.tried} combinations and its baseline from "
                f"{max(1, table.rows[place].tried)}: the best of more is higher by chance alone"
            )
    return list(lines.values())


def loss_text(loss: float) -> str:
    """Return a loss as it is shown; one that is infinite, since trials diverged, as a dash."""
    if math.isinf(loss):
        return "-"
    return f"{loss:.3f}"
