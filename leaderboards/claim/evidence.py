"""Evidence: what stored rows show of a claim, part by part, with the preconditions of both sides and the controls."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bench.errors import DataError
from bench.leaderboards.claim.claim_files import HUMAN, Claim, Part, Run, Side
from bench.leaderboards.published.papers import paper_table
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics.analysis import differences
from bench.leaderboards.statistics.constants import MIN_SEEDS
from bench.leaderboards.statistics.intervals import SeedMean, paired_difference, seed_mean, welch_interval
from bench.leaderboards.table import Table, metric_name

BySeed = Mapping[int, float]
TRIVIAL = {
    "lead": "the first words of the source",
    "copy_exemplar": "a copy of the exemplar",
    "unigram": "a unigram model",
    "bigram": "a bigram model",
    "mle.untrained": "untrained weights",
    "seq2seq.untrained": "untrained weights",
}  # what the trivial controls are, for people


@dataclass(frozen=True)
class ControlEffect:
    """How much of an effect a control reaches.

    Args:
        label, replaced: the control, and the side whose place it takes.
        share: its mean effect over the mean effect, over the seeds that both have.
        rest: the effect less that of the control, paired by seed.
        value: the control's own mean over the columns; with `nearer` its gap to human text, in per cent.
        is_empty: it lacks the part that it was made for, since validation chose the weight 0 for its memory.
    """

    label: str
    replaced: str
    share: float
    rest: SeedMean
    value: float
    is_empty: bool = False


@dataclass(frozen=True)
class PartEvidence:
    """The evidence on one part of a claim.

    Args:
        part: the comparison.
        missing: what is not stored; empty where everything is.
        effect: positive in the claimed direction; None where something is missing.
        contrasts: what must all be above 0 for the part to hold: the effect, or its distance from the margins.
        ours, theirs: the means of both sides over the columns; with `nearer` their gaps to human text, in per cent.
        p_items: of the randomisation test over test items; None where it cannot be made.
        preconditions: the trivial controls that a side does not beat: by the two numbers, or what was not run, one of
            `failed`; `excused` where the paper's own cell would not beat it either; `not run`.
        controls: of the claim.
        rows: of both sides.
        table: of these rows.
    """

    part: Part
    missing: str = ""
    effect: SeedMean | None = None
    contrasts: tuple[SeedMean, ...] = ()
    ours: float = 0.0
    theirs: float = 0.0
    p_items: float | None = None
    preconditions: Mapping[str, str] = field(default_factory=dict)
    controls: tuple[ControlEffect, ...] = ()
    rows: tuple[TableRow, ...] = ()
    table: Table | None = None

    @property
    def is_constant(self) -> bool:
        """Whether every seed has the same effect, so that no test applies."""
        return self.effect is not None and len(set(self.effect.by_seed.values())) == 1 < len(self.effect.by_seed)


def effects(
    part: Part, ours: Sequence[BySeed], theirs: Sequence[BySeed], human: Sequence[float | None] = ()
) -> dict[int, float]:
    """Return the effect of each seed, positive in the claimed direction: the mean over the columns.

    Args:
        part: says what is measured.
        ours, theirs: for each column, the values of both sides by seed.
        human: for each column, the value of human text, which `nearer` reads.

    >>> sides = {"method": Side("a"), "against": Side("b"), "run": "r"}
    >>> part = Part(columns=("kld",), relation="lower", estimand="percent", **sides)
    >>> effects(part, [{0: 1.0, 1: 2.0}], [{0: 4.0, 2: 1.0}])
    {0: 75.0}
    """
    found = {}
    for seed in sorted(set.intersection(*map(set, ours), *map(set, theirs))):
        of_columns = []
        for x, y, people in zip(ours, theirs, human or [None] * len(ours), strict=True):
            if part.relation == "nearer":
                if not people:
                    return {}
                of_columns.append(gap(y[seed], people) - gap(x[seed], people))
            elif part.estimand == "percent":
                if not y[seed]:
                    return {}
                of_columns.append(100 * part.sign * (x[seed] - y[seed]) / abs(y[seed]))
            else:
                of_columns.append(part.sign * (x[seed] - y[seed]))
        found[seed] = statistics.fmean(of_columns)
    return found


def gap(value: float, human: float) -> float:
    """Return how far a value is from that of human text, in per cent of the latter."""
    return 100 * abs(value - human) / abs(human)


def contrasts_of(part: Part, by_seed: BySeed) -> tuple[SeedMean, ...]:
    """Return what must be above 0 for a part to hold."""
    below_margin = {seed: part.margin - effect for seed, effect in by_seed.items()}
    if part.relation == "near":
        return seed_mean(below_margin), seed_mean({seed: part.margin + effect for seed, effect in by_seed.items()})
    if part.relation == "no_higher":
        return (seed_mean(below_margin),)
    return (seed_mean(by_seed),)


def printed(claim: Claim, part: Part, method: str) -> list[float]:
    """Return the numbers that the paper prints of a method in a part's columns; none where one is not printed."""
    found = []
    for heading in part.printed:
        place = (claim.rows.get(method, ""), heading, claim.table_part)
        cells = [cell for row in paper_table(claim.table).rows for cell in row]
        cells = [cell for cell in cells if (cell.row, cell.column, cell.part) == place]
        values = [cell.value for cell in cells if claim.backbone in ("", cell.backbone)]
        if len(values) == 1 and values[0] is not None:
            found.append(values[0])
    return found if len(found) == len(part.printed) else []


def printed_effect(claim: Claim, part: Part) -> float | None:
    """Return the paper's own effect of a part, from the cells of its table or as its sentence states it.

    Raises:
        DataError: a cell that the paper's file does not have, or has not once.
    """
    if not part.printed:
        return part.stated
    wanted = [part.method.method, part.against.method, *([HUMAN] if part.relation == "nearer" else [])]
    found = [printed(claim, part, method) for method in wanted]
    if not all(found):
        raise DataError(f"expected numbers of {', '.join(wanted)} in {claim.table}, {', '.join(part.printed)}")
    ours, theirs = ([{0: number} for number in numbers] for numbers in found[:2])
    return effects(part, ours, theirs, found[2] if len(found) > 2 else ())[0]


def gather(claim: Claim, part: Part, run: Run, tables: Sequence[Table], with_items: bool = True) -> PartEvidence:
    """Return the evidence on one part, from the first leaderboard and backbone that has both sides.

    Args:
        claim, part, run: of the claim, and the run that makes its rows.
        tables: of any task and preset.
        with_items: whether rows are tested over test items too.
    """
    found = PartEvidence(part, missing=f"{part.method.label}, {part.against.label}")
    for table in (table for table in tables if (table.task, table.preset) == (run.task, run.preset)):
        for backbone in sorted(table.blocks, key=lambda name: name != claim.backbone):  # backbones are not compared
            rows = [table.rows[place] for place in table.blocks[backbone]]
            evidence = _Board(claim, run, replace(table, rows=rows), with_items).evidence(part)
            if evidence.effect is not None:
                return evidence
            if found.table is None or len(evidence.rows) > len(found.rows):
                found = evidence
    return found


@dataclass(frozen=True)
class _Board:
    """The rows of one backbone of one leaderboard, read for one claim."""

    claim: Claim
    run: Run
    table: Table
    with_items: bool

    def evidence(self, part: Part) -> PartEvidence:
        """Return the evidence on one part."""
        found = [self.row(side) for side in part.sides.values() if side.method != HUMAN]
        rows = tuple(row for row in found if isinstance(row, TableRow))
        preconditions = dict(found for row in rows for found in self.preconditions(part, row))
        bare = PartEvidence(part, preconditions=preconditions, rows=rows, table=self.table)
        if missing := [row for row in found if isinstance(row, str)]:
            return replace(bare, missing=", ".join(missing))
        human = [self.human(column) for column in part.columns]
        values = self.values(rows, part.columns)
        reads_human = part.relation == "nearer" or part.against.method == HUMAN
        if not values or (None in human and reads_human):
            return replace(bare, missing=f"{part.column} of both sides")
        ours = [value.by_seed for value in values[0]]
        theirs = [dict.fromkeys(ours[0], people or 0.0) for people in human]
        if len(values) > 1:
            theirs = [value.by_seed for value in values[1]]
        effect = effects(part, ours, theirs, human)
        if not effect:
            return replace(bare, missing="a seed that both sides have, with a value other than 0 to divide by")
        controls, not_run = self.controls(part, rows[0], ours, theirs, human)
        return replace(
            bare,
            missing=", ".join(not_run),
            effect=seed_mean(effect),
            contrasts=contrasts_of(part, effect),
            ours=_shown(part, ours, effect, human),
            theirs=_shown(part, theirs, effect, human),
            p_items=self.p_over_items(values),
            controls=tuple(controls),
        )

    def row(self, side: Side) -> TableRow | str:
        """Return the row of a side, or what is missing; a row that a search has picked comes before others.

        Configurations leave newer options out at their defaults, so of several rows that with fewest options has them.
        """
        where = {**self.run.where, **side.where}
        found = self.of_method(side.method)
        found = [row for row in found if all(setting_of(row, name) == value for name, value in where.items())]
        options = [len(row.config.get("backbone_options") or {}) for row in found]
        found = [row for row, n in zip(found, options, strict=True) if n == min(options)]
        found = [row for row in found if row.tried] or found
        if len(found) > 1:
            return f"one row of {side.label}, of which {len(found)} are stored"
        return found[0] if found else side.label

    def of_method(self, method: str) -> list[TableRow]:
        """Return the rows of a method in the run's decoding; the prefix of a decoding belongs to the method."""
        found = [row for row in self.table.rows if row.method == method]
        return [row for row in found if row.decoding.partition("+")[0].rpartition(":")[2] == self.run.decoding]

    def values(self, rows: Sequence[TableRow], columns: Sequence[str]) -> list[list[Value]]:
        """Return the values of rows in metrics that all measure alike; none where one is missing or ambiguous."""
        names = []
        for name in columns:
            alike = [column for column in rows[0].values if metric_name(column) == name]
            alike = [column for column in alike if all(column in row.values for row in rows)]
            if not alike:
                return []
            names.append(name if name in alike else min(alike))
        found = [[row.values[name] for name in names] for row in rows]
        return found if all(value.by_seed and not value.conflict for of_row in found for value in of_row) else []

    def human(self, column: str) -> float | None:
        """Return the value of human texts; None where there is none, or where there are several different ones."""
        means = {value.mean for row in self.table.human for of_row in self.values([row], [column]) for value in of_row}
        return means.pop() if len(means) == 1 else None

    def controls(
        self, part: Part, row: TableRow, ours: Sequence[BySeed], theirs: Sequence[BySeed], human: Sequence[float | None]
    ) -> tuple[list[ControlEffect], list[str]]:
        """Return how much of an effect the claim's controls reach, and which of them are not stored."""
        found, missing = [], []
        for control in self.claim.controls:
            replaced, other = part.replaced_by(control), self.row(control)
            if not replaced:
                continue
            values = self.values([row, other], part.columns) if isinstance(other, TableRow) else []
            its: Sequence[BySeed] = [value.by_seed for value in values[1]] if values else [{} for _ in ours]
            effect, shown = effects(part, ours, theirs, human), effects(part, ours, its, human)
            if replaced == "method":
                shown = effects(part, its, theirs, human)
            rest = paired_difference(effect, shown)
            if rest is None or rest.p is None:
                missing.append(f"{MIN_SEEDS} seeds of {control.label}" if values else control.label)
                continue
            whole, of_control = (statistics.fmean(known[seed] for seed in rest.by_seed) for known in (effect, shown))
            share, value = of_control / whole if whole else 0.0, _shown(part, its, rest.by_seed, human)
            is_empty = isinstance(other, TableRow) and other.lacks_memory
            found.append(ControlEffect(control.label, replaced, share, rest, value, is_empty))
        return found, missing

    def p_over_items(self, values: Sequence[Sequence[Value]]) -> float | None:
        """Return the p of the test over test items of two rows in one column; None where it cannot be made."""
        if not self.with_items or len(values) != 2 or len(values[0]) != 1:
            return None
        p = differences([(values[0][0], values[1][0])])["p_items"].item()
        return None if math.isnan(p) else p

    def preconditions(self, part: Part, row: TableRow) -> Iterator[tuple[str, str]]:
        """Yield the trivial controls that a row does not beat: where the Welch interval of its lead reaches 0."""
        columns = (part.precondition,) if part.precondition else part.columns
        named = " and ".join(columns)
        for method in self.run.controls:
            others = self.of_method(method)
            if not others:
                by = f" ({self.run.decoding})" if self.run.decoding else ""
                yield f"the trivial control {method}{by}", "not run"
            for other in others:
                values = self.values([row, other], columns)
                if not values:
                    yield f"{', '.join(columns)} of {row.method} and of {method}", "not run"
                    continue
                if values[0][0].higher_is_better is None:  # neither way is better, as of a rank
                    continue
                sign = 1 if values[0][0].higher_is_better else -1
                ours, theirs = ([sign * value for value in over_columns(of_row)] for of_row in values)
                low = welch_interval(ours, theirs).low
                if low is None:
                    yield f"{MIN_SEEDS} seeds of {row.method} and of {method}", "not run"
                elif low <= 0:
                    mean, trivial = sign * statistics.fmean(ours), sign * statistics.fmean(theirs)
                    paper = [] if part.precondition else printed(self.claim, part, row.method)
                    if paper and sign * statistics.fmean(paper) <= sign * trivial:
                        why = f"{named} of {row.method} is {mean:.2f}; the paper itself prints"
                        excuse = "no more than a trivial control has, so it need not beat one"
                        yield f"{why} {statistics.fmean(paper):g}, {excuse}", "excused"
                    else:
                        why = f"in {named}, {row.method} ({mean:.2f}) does not clearly beat"
                        yield f"{why} {TRIVIAL.get(method, method)} ({trivial:.2f})", "failed"


def over_columns(values: Sequence[Value]) -> list[float]:
    """Return the mean over columns of each seed that all of them have."""
    seeds = sorted(set.intersection(*(set(value.by_seed) for value in values)))
    return [statistics.fmean(value.by_seed[seed] for value in values) for seed in seeds]


def _shown(part: Part, values: Sequence[BySeed], seeds: BySeed, human: Sequence[float | None]) -> float:
    """Return the mean over columns and some seeds, of the gaps to human text where nearness to it is claimed."""
    numbers = [(known[seed], people) for known, people in zip(values, human, strict=True) for seed in seeds]
    if part.relation == "nearer":
        return statistics.fmean(gap(number, people) for number, people in numbers if people)
    return statistics.fmean(number for number, _ in numbers)


def setting_of(row: TableRow, name: str) -> object:
    """Return a setting of a row; of a fine-tuned row, the steps and rates are those of the model it starts from."""
    section, _, option = name.partition(".")
    if section == "trainer":
        return (row.config.get("start") or row.config)["trainer"].get(option)
    return row.config.get(f"{section}_options", {}).get(option)
