"""Evidence: what stored rows say of a claim or check: effects by seed, of its controls and of its whole column.

No verdict is drawn here; `verdicts.py` draws it.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from bench.leaderboards.claim.claim_files import HUMAN, Claim, Compared
from bench.leaderboards.claim.estimands import effect_of
from bench.leaderboards.claim.sides import Settings, Side, bound_of
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics.item_variance import shared_item_variance
from bench.leaderboards.statistics.significance import Comparison, compare
from bench.leaderboards.statistics.tradeoff import Tradeoff, curves
from bench.leaderboards.statistics.tradeoff import compare as compare_at_equal
from bench.leaderboards.table import Table, metric_name
from bench.metrics.sums import Sums

__all__ = ["BySeed", "Evidence", "column_of", "corrected_claim", "gather"]

BySeed = Mapping[int, float]
"""A number for each seed."""


@dataclass(frozen=True)
class Evidence:
    """What stored rows say.

    Args:
        by_seed: effect of each seed that all rows have, in the estimand, positive in the claimed direction; empty
            where there is none.
        column: the effects of the other trained rows of the column, against the same row or number; a moderated t
            squeezes the variances of all of them.
        controls: effects of the claim's controls, by their label.
        test: over the test items of all these seeds; None where the column or a row has no sums.
        tradeoff: of `at_equal`, the sweep of `better` less that of `than`.
        item_variance: of the mean effect, what the test items add for all seeds alike; 0 where it is not known.
        items: rows behind it.
        gaps: of the estimand `share`, by seed how far the row that it is compared with is from human text.
        row: the row it is about; None where there is none.
        other: the row that it is compared with; None where it is compared with a number.
        table: the leaderboard they are from; None where there is none.
        why: what is missing, or what else a reader must know.
    """

    by_seed: BySeed = field(default_factory=dict)
    column: Sequence[BySeed] = ()
    controls: Mapping[str, BySeed] = field(default_factory=dict)
    test: Comparison | None = None
    tradeoff: Tradeoff | None = None
    item_variance: float = 0.0
    items: int = 0
    gaps: BySeed = field(default_factory=dict)
    row: TableRow | None = None
    other: TableRow | None = None
    table: Table | None = None
    why: str = ""

    @property
    def n(self) -> int:
        """Examples that were scored."""
        if self.table is None:
            return 0
        return self.table.n

    @property
    def on(self) -> str:
        """The leaderboard, with what keeps it from being comparable."""
        if self.table is None:
            return ""
        return "; ".join(filter(None, [self.table.title, self.table.watermark]))

    @property
    def effect(self) -> float | None:
        """Mean over seeds; None without a seed."""
        if not self.by_seed:
            return None
        return statistics.fmean(self.by_seed.values())


def corrected_claim(claim: Claim) -> Claim | None:
    """Return the same claim on the rows without the known fault; None where the claim names no fault."""
    if claim.corrected is None:
        return None
    better, than = claim.corrected.better or claim.better, claim.corrected.than or claim.than
    return replace(claim, better=better, than=than, controls=(), corrected=None)


def gather(compared: Compared, tables: Sequence[Table], where: Settings, backbone: str = "") -> Evidence:
    """Return the evidence of the first leaderboard that has any; else say what is missing.

    Rows are compared within one backbone.

    Args:
        compared: a claim or check.
        tables: of the task and preset it is about.
        where: settings of the run that makes its rows.
        backbone: that is looked at first; empty for the first of each table.
    """
    missing = Evidence(why="nothing is stored for it")
    for table in chain.from_iterable(_blocks(table, backbone) for table in tables):
        evidence = replace(_on_table(compared, table, where), table=table)
        if evidence.by_seed:
            return evidence
        if missing.table is None or "no row" in missing.why:
            missing = evidence
    return missing


def _blocks(table: Table, first: str) -> Iterator[Table]:
    """Yield the leaderboard of each backbone, one of them first."""
    for backbone in sorted(table.blocks, key=lambda name: name != first):
        yield replace(table, rows=[table.rows[place] for place in table.blocks[backbone]])


def _on_table(compared: Compared, table: Table, where: Settings) -> Evidence:
    """Return the evidence of one leaderboard."""
    if compared.relation == "at_equal":
        return _at_equal(compared, table, where)
    rows = []
    for side in filter(None, (compared.better, compared.than)):
        matching = side.rows(table.rows, where)
        if not matching:
            return Evidence(why=_absent(side, where))
        if len(matching) > 1:
            labels = " | ".join(row.label for row in matching)
            return Evidence(why=f"{len(matching)} rows of {side.label}: {labels}")
        rows += matching
    column = column_of(compared.column, rows)
    if column is None:
        return Evidence(why=f"no column '{compared.column}' that the rows share")
    values = [row.values[column] for row in rows]
    if any(value.conflict for value in values):
        return Evidence(why="unlike numbers are stored for one seed")
    measure = _measure(compared, table, column, rows)
    if isinstance(measure, str):
        return Evidence(why=measure)
    by_seed = measure.effects(values[0])
    if not by_seed:
        return Evidence(why="no seed that all rows have")
    test, (item_variance, items) = None, (0.0, 0)
    if compared.relation in ("lower", "higher"):
        test = _paired_test(values[0], values[1], list(by_seed))
        item_variance, items = _of_items(measure, values, list(by_seed))
    others = list(_others(table, column, rows, measure))
    remarks = [f"{row.diverged} seeds of {row.method} diverged" for row in rows if row.diverged]
    if len({row.tried for row in rows}) > 1:
        trials = " and ".join(f"{row.tried} of {row.method}" for row in rows)
        remarks.append(f"not tuned alike: trials {trials}")
    controls = _controls(compared, table, where, column, measure)
    return Evidence(
        by_seed,
        others,
        controls,
        test,
        item_variance=item_variance,
        items=items,
        gaps=measure.gaps(list(by_seed)),
        row=rows[0],
        other=rows[1] if len(rows) > 1 else None,
        why="; ".join(remarks),
    )


@dataclass(frozen=True)
class Measure:
    """How the effect of a row is computed from a value of its column.

    Args:
        estimand: of `ESTIMANDS`.
        sign: 1 where the higher value is claimed, -1 where the lower.
        baseline: by seed, what the value is compared with; None where one number holds for every seed.
        bound: that number.
        human: the value of human text, for `share`.
    """

    estimand: str
    sign: int
    baseline: BySeed | None = None
    bound: float = 0.0
    human: float | None = None

    def effects(self, value: Value) -> dict[int, float]:
        """Return the effect of each seed that the value and its baseline have."""
        found = {}
        for seed, ours in sorted(value.by_seed.items()):
            theirs: float | None = self.bound
            if self.baseline is not None:
                theirs = self.baseline.get(seed)
            if theirs is None:
                continue
            effect = effect_of(self.estimand, self.sign, ours, theirs, self.human)
            if effect is not None:
                found[seed] = effect
        return found

    def gaps(self, seeds: Sequence[int]) -> dict[int, float]:
        """Return what a share is of, by seed: human text less what the value is compared with; else nothing."""
        if self.estimand != "share" or self.human is None:
            return {}
        gaps = {}
        for seed in seeds:
            theirs = self.bound
            if self.baseline is not None:
                theirs = self.baseline[seed]
            gaps[seed] = self.human - theirs
        return gaps


def _measure(compared: Compared, table: Table, column: str, rows: Sequence[TableRow]) -> Measure | str:
    """Return how effects are computed, or what is missing for it."""
    estimand = "difference"
    if isinstance(compared, Claim) and compared.estimand != "sign":
        estimand = compared.estimand
    human = _human(table, column)
    if human is None and (estimand == "share" or compared.bound == HUMAN):
        return f"no row of what people wrote that has '{column}'"
    if compared.bound is None:
        return Measure(estimand, compared.sign, baseline=rows[1].values[column].by_seed, human=human)
    bound = human
    if compared.bound != HUMAN:
        bound = bound_of(compared.bound, rows[0])
    if bound is None:
        return f"no setting '{compared.bound}'"
    return Measure(estimand, compared.sign, bound=bound, human=human)


def _human(table: Table, column: str) -> float | None:
    """Return the value of what people wrote; None where there is none, or several unlike ones."""
    means = {row.values[column].mean for row in table.human if column in row.values}
    if len(means) != 1:
        return None
    return means.pop()


def _others(table: Table, column: str, rows: Sequence[TableRow], measure: Measure) -> Iterator[BySeed]:
    """Yield the effects of the column's other trained rows on the same backbone, each model's value once."""
    seen = {id(row.values[column]) for row in rows}
    for row in table.rows:
        value = row.values.get(column)
        if value is None or value.conflict or id(value) in seen or row.backbone != rows[0].backbone:
            continue
        seen.add(id(value))
        effects = measure.effects(value)
        if len(effects) > 1:
            yield effects


def _absent(side: Side, where: Settings) -> str:
    """Say which row is not stored."""
    return f"no row of {replace(side, where={**where, **side.where}).label}"


def column_of(name: str, rows: Sequence[TableRow]) -> str | None:
    """Return the column of a metric that all rows have; where signatures differ, the first that they share."""
    shared = []
    for column in rows[0].values:
        if metric_name(column) == name and all(column in row.values for row in rows):
            shared.append(column)
    if name in shared:
        return name
    return min(shared, default=None)


def _controls(compared: Compared, table: Table, where: Settings, column: str, measure: Measure) -> Mapping[str, BySeed]:
    """Return the effects of a claim's controls, by label; those without exactly one row are left out."""
    found = {}
    if isinstance(compared, Claim):
        for control in compared.controls:
            rows = control.rows(table.rows, where)
            values = [row.values[column] for row in rows if column in row.values]
            if len(values) == 1 and not values[0].conflict:
                found[control.label] = measure.effects(values[0])
    return found


def _paired_test(ours: Value, theirs: Value, seeds: Sequence[int]) -> Comparison | None:
    """Return the paired test over test items and all seeds; None where a seed has no sums, or no number."""
    our_items, their_items = _items_of(ours, seeds), _items_of(theirs, seeds)
    if our_items is None or their_items is None:
        return None
    try:
        return compare(our_items, their_items)
    except ValueError:  # a perplexity that is infinite, or unlike forms of an older version
        return None


def _of_items(measure: Measure, values: Sequence[Value], seeds: Sequence[int]) -> tuple[float, int]:
    """Return what test items add to the variance of a mean effect, and their number; 0 where it is not known."""
    ours, theirs = _items_of(values[0], seeds), _items_of(values[1], seeds)
    if ours is None or theirs is None or measure.estimand == "share":
        return 0.0, 0
    try:
        variance, rows = shared_item_variance(ours, theirs, logarithm=measure.estimand == "ratio")
    except ValueError:  # a value without one row that is no number
        return 0.0, 0
    if rows < 2:
        return 0.0, 0
    return variance, rows


def _items_of(value: Value, seeds: Sequence[int]) -> dict[int, Sums] | None:
    """Return the sums of every seed; None where one of them has none."""
    by_seed = {}
    for seed in seeds:
        if seed not in value.sums:
            return None
        items = value.sums[seed].load()
        if items is None:
            return None
        by_seed[seed] = items
    return by_seed


def _at_equal(compared: Compared, table: Table, where: Settings) -> Evidence:
    """Compare two sweeps of decodings where `at` is the same."""
    assert compared.than is not None
    sweeps = []
    for side in (compared.better, compared.than):
        rows = side.rows(table.rows, where)
        if not rows:
            return Evidence(why=_absent(side, where))
        if len({row.decoding for row in rows}) < len(rows):
            return Evidence(why=f"several rows of one decoding of {side.label}")
        x, y = column_of(compared.at, rows), column_of(compared.column, rows)
        if x is None:
            return Evidence(why=f"no column '{compared.at}' that the rows share")
        if y is None:
            return Evidence(why=f"no column '{compared.column}' that the rows share")
        sweeps.append(curves(rows, x, y))
    tradeoff = compare_at_equal(sweeps[0], sweeps[1], compared.points)
    by_seed = {seed: compared.sign * difference for seed, difference in tradeoff.by_seed.items()}
    if not by_seed:
        return Evidence(tradeoff=tradeoff, why=f"no overlap: the two sweeps have no {compared.at} in common")
    return Evidence(by_seed, tradeoff=tradeoff)
