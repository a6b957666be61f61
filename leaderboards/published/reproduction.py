"""Reproduction: a paper's table compared with ours, number by number, with a verdict; a pure function of our tables.

A published number is met when it lies within the interval of our seeds, or ours lies within the spread printed behind
it. Under three seeds there is no interval, and a tolerance declared for the metric decides. Half a unit of the last
printed digit is always granted.

Where the planned run is not stored, the nearest stored run of the method and task is shown in its place, with what is
different about it. Such a number is never counted as reproduced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from bench.leaderboards.published.papers import Key, key_of_cell, needs, papers
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics.constants import MIN_SEEDS
from bench.leaderboards.statistics.intervals import SeedMean, seed_mean
from bench.leaderboards.table import Table, metric_name, weights_of
from bench.metrics.columns import is_named
from bench.tasks.core.published_settings import Deviation, as_text

if TYPE_CHECKING:
    from bench.leaderboards.published.paper_files import PublishedCell, PublishedTable

VERDICTS = ("within interval", "off", "other run", "not run", "not comparable")
WITHIN, OFF, ANOTHER, NOT_RUN, NOT_COMPARABLE = VERDICTS
STRICT_EXIT = 4
"""Exit code of a strict reproduction that falls short."""


@dataclass
class Plan:
    """What is known of the planned run behind published numbers.

    Args:
        keys: of the runs, one for each seed; None where nothing was planned, and rows are matched by their names.
        reason: why there may be no number.
        options: of the method, with which those of another run are compared if that is shown.
        deviations: returns the deviations of the planned run, or of a stored row in its place, from the paper.
    """

    keys: set[str] | None = None
    reason: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    deviations: Callable[[PublishedCell, TableRow | None], Sequence[Deviation]] = lambda cell, row: ()


@dataclass(frozen=True)
class Reproduced:
    """One number of a paper's table and ours.

    Args:
        cell: the paper's.
        verdict: one of `VERDICTS`.
        reason: why it is not comparable or not run, or what a reader of our number must know.
        ours: our number, a mean over seeds; None where there is none.
        by_seed: what it is the mean of.
        row: the row of ours that it is from.
        is_planned: whether that row is of the planned run.
    """

    cell: PublishedCell
    verdict: str
    reason: str = ""
    ours: SeedMean | None = None
    by_seed: Mapping[int, float] = field(default_factory=dict)
    row: TableRow | None = None
    is_planned: bool = True

    @property
    def delta(self) -> float | None:
        """Our number less the published one; None where one is missing, or it is not of the planned run."""
        if self.ours is None or self.cell.value is None or self.verdict in (ANOTHER, NOT_COMPARABLE):
            return None
        return self.ours.mean - self.cell.value


@dataclass(frozen=True)
class ReproducedRow:
    """One row of a paper's table, with ours.

    Args:
        method: of our numbers; with the decoding where that is another one.
        cells: one a column.
        deviations: of our runs from the paper or its code.
        other: the other variant or decoding of the method, whose numbers are shown below; None where there is none.
    """

    method: str
    cells: tuple[Reproduced, ...]
    deviations: tuple[Deviation, ...] = ()
    other: ReproducedRow | None = None


@dataclass(frozen=True)
class Reproduction:
    """A paper's table with ours, in the paper's order of rows and columns.

    Args:
        table: the paper's.
        preset: of our numbers.
        rows: of the table.
        notes: what a reader of the whole table must know.
    """

    table: PublishedTable
    preset: str
    rows: tuple[ReproducedRow, ...]
    notes: tuple[str, ...]

    def count(self) -> dict[str, int]:
        """How many numbers have each verdict."""
        verdicts = [reproduced.verdict for row in self.rows for reproduced in row.cells]
        return {verdict: verdicts.count(verdict) for verdict in VERDICTS}

    @property
    def short_of(self) -> int:
        """How many numbers are off, missing or not of the planned run; a strict reproduction allows none."""
        count = self.count()
        return count[OFF] + count[ANOTHER] + count[NOT_RUN]


def reproduce(
    table: PublishedTable, ours: Sequence[Table], preset: str, plans: Mapping[Key, Plan] | None = None
) -> Reproduction:
    """Compare a paper's table with ours.

    Args:
        table: the paper's.
        ours: every table of its tasks, with all columns.
        preset: `small` or `paper`.
        plans: what was planned, by task, method and backbone.
    """
    our_tables = OurTables(ours, preset, plans or {})
    rows = tuple(map(our_tables.reproduced_row, table.rows))
    return Reproduction(table, preset, rows, tuple(our_tables.notes(table, rows)))


@dataclass(frozen=True)
class OurTables:
    """Our tables, and what was planned for them; the fields are the arguments of `reproduce`."""

    tables: Sequence[Table]
    preset: str
    plans: Mapping[Key, Plan]

    def plan(self, cell: PublishedCell) -> Plan:
        """Return the plan of the run behind a published number."""
        return self.plans.get(key_of_cell(cell, self.preset), Plan())

    def reproduced_row(self, row: Sequence[PublishedCell]) -> ReproducedRow:
        """Compare one row of a paper with ours."""
        cells, other = tuple(map(self.reproduced, row)), None
        if others := [found for cell in row if (found := cell.other) is not None]:
            other = self.reproduced_row(others)
            if row[0].released_decoding:
                other = replace(other, method=f"{other.method} by {others[0].decoding.partition('+')[0]}")
        return ReproducedRow(row[0].method, cells, self.deviations_of_row(cells), other)

    def deviations_of_row(self, row: Sequence[Reproduced]) -> tuple[Deviation, ...]:
        """Return the deviations of our runs of a row, each once: of those that are shown, else of the planned ones.

        Where a row is of several tasks, one that is not of all of them has its task before a colon, as after --set.
        """
        tasks = dict.fromkeys(one.cell.task for one in row if one.cell.task and one.cell.method)
        of_tasks: dict[Deviation, dict[str, None]] = {}
        for one in row:
            for deviation in self.plan(one.cell).deviations(one.cell, None if one.is_planned else one.row):
                of_tasks.setdefault(deviation, {})[one.cell.task] = None
        found = []
        for deviation, where in of_tasks.items():
            if len(where) == len(tasks):
                found.append(deviation)
            else:
                found += [replace(deviation, setting=f"{task}:{deviation.setting}") for task in where]
        return tuple(found)

    def reproduced(self, cell: PublishedCell) -> Reproduced:
        """Compare one published number with ours."""
        match, is_planned = self.row_of(cell), True
        if not match and (found := self.nearest(cell)):
            match, is_planned = found, False
        if isinstance(match, str):
            return Reproduced(cell, NOT_COMPARABLE if cell.why_not else NOT_RUN, cell.why_not or match)
        table, row = match
        value = value_of(row, cell)
        if isinstance(value, str):
            return Reproduced(cell, NOT_COMPARABLE if cell.why_not else NOT_RUN, cell.why_not or value, row=row)
        ours, verdict = seed_mean(value.repeated), NOT_COMPARABLE
        if not is_planned:
            verdict = NOT_COMPARABLE if cell.why_not else ANOTHER
            reason = "; ".join(filter(None, [cell.why_not, *self.unlike_plan(cell, table, row)]))
        elif not (reason := cell.why_not or unlike(cell, table, row)):
            verdict = WITHIN if is_within(cell, ours) else OFF
            reason = f"{row.diverged} of {len(row.seeds)} seeds diverged" if row.diverged else ""
        return Reproduced(cell, verdict, reason, ours, value.by_seed, row, is_planned)

    def row_of(self, cell: PublishedCell) -> tuple[Table, TableRow] | str:
        """Return the row of ours that a number is compared with, of the largest table; else why there is none."""
        wanted = (cell.task, cell.split, self.preset)
        tables = [table for table in self.tables if (table.task, table.split, table.preset) == wanted]
        for table in sorted(tables, key=lambda table: (not table.whole, -table.n)):
            if cell.row == "Human" and len(table.human) == 1:
                return table, table.human[0]
            rows = self.matching_rows(cell, table)
            if len(rows) > 1:
                return f"{len(rows)} settings are stored; which of them was planned is not known without its data"
            if rows:
                return table, rows[0]
        return self.plan(cell).reason

    def matching_rows(self, cell: PublishedCell, table: Table) -> list[TableRow]:
        """Return the rows of one table that a number may mean: of its method, backbone and decoding."""
        rows, keys = [row for row in table.rows if row.method == cell.method], self.plan(cell).keys
        if keys is not None:
            rows = [row for row in rows if row.keys & keys]
        elif self.preset == "paper":
            rows = [row for row in rows if row.backbone == cell.backbone] or rows
        same_decoding = [row for row in rows if row.decoding == cell.decoding]
        if not same_decoding and cell.metric.startswith("ppl/"):  # is of any decoding: it generates nothing
            return [row for row in rows if row.decoding == rows[0].decoding]
        return same_decoding

    def nearest(self, cell: PublishedCell) -> tuple[Table, TableRow] | None:
        """Return the stored row that is nearest to the planned run of a published number, with its table, or None.

        The same preset counts first, then the backbone, the decoding, and the number of rows, of seeds and of steps.
        Texts that were sampled never replace texts that were searched for, nor for those of another sampling.
        """
        found = [
            (table, row)
            for table in self.tables
            if (table.task, table.split) == (cell.task, cell.split)
            for row in table.rows
            if row.method == cell.method and (cell.metric.startswith("ppl/") or is_alike(row.decoding, cell.decoding))
        ]

        def nearness(one: tuple[Table, TableRow]) -> tuple[float, ...]:
            table, row = one
            alike = (table.preset == self.preset, row.backbone == cell.backbone, row.decoding == cell.decoding)
            return (*alike, table.n, len(row.seeds), row.config.get("trainer", {}).get("steps") or 0)

        return max(found, key=nearness, default=None)

    def unlike_plan(self, cell: PublishedCell, table: Table, row: TableRow) -> list[str]:
        """Return size and tuning of a stored row, and what of its decoding, preset and method is unlike the plan.

        Its other settings are compared with the paper's, and not with those of the plan; its method's options only
        where the preset is the planned one.
        """
        size = f"ours: {size_of(row)}"
        if cell.backbone and row.backbone != cell.backbone:
            size += f", not {cell.backbone}"
        found = [size, tuning_of(row)] if row.tried else [size]
        if select := row.config.get("trainer", {}).get("select"):
            found.append(f"of its steps the one with the best {select} of validation is kept")
        if row.decoding and cell.decoding and row.decoding != cell.decoding:
            found.append(f"decoding {row.decoding} in place of {cell.decoding}")
        if table.preset != self.preset:
            return [*found, f"preset {table.preset}"]
        stored = row.config.get("method_options", {})
        return found + [
            f"method.{name}={as_text(stored[name])} in place of {as_text(value)}"
            for name, value in self.plan(cell).options.items()
            if name in stored and stored[name] != value
        ]

    def notes(self, table: PublishedTable, rows: Sequence[ReproducedRow]) -> list[str]:
        """Return what a reader of a whole table must know."""
        from bench.leaderboards.published.paper_files import level_text

        notes = [level_text(**level) for level in table.levels]
        if table.note:
            notes.append(table.note)
        notes += [f"the paper's text and table: {sentence}" for sentence in table.contradictions]
        if not needs([table], self.preset):
            return notes
        if self.preset != "paper":
            notes.append(
                f"preset {self.preset} has another backbone and other sizes than the paper: neither values nor order "
                "test the printed table"
            )
        used = {id(one.row): one.row for row in rows for one in row.cells if one.row is not None}
        watermarks = {
            f"{ours.task}: {ours.watermark}"
            for ours in self.tables
            if ours.watermark and any(id(row) in used for row in ours.rows)
        }
        cells = [one for row in rows for one in row.cells if one.verdict in (WITHIN, OFF)]
        few = [one.cell for one in cells if one.ours is not None and one.ours.half is None]
        if few:
            texts = dict.fromkeys(f"{cell.metric} {tolerance(cell.metric, cell.value or 0.0):.2g}" for cell in few)
            near = f"within are distances up to {', '.join(texts)} (and rounding), or the spread that the paper prints"
            notes.append(f"n below {MIN_SEEDS} gives no interval: {near}")
        sampled = dict.fromkeys(f"{row.method}: {row.sampling_note}" for row in used.values() if row.sampling_note)
        notes += [*sorted(watermarks), *sampled]
        of_table = [paper for paper in papers() if paper.short == table.paper]
        return notes + [f"tuning of {paper.name}: {paper.tuning}" for paper in of_table if paper.tuning]


def value_of(row: TableRow, cell: PublishedCell) -> Value | str:
    """Return a row's value of a published number's metric; else why it has none."""
    values = [value for column, value in row.values.items() if metric_name(column) == cell.metric]
    if len(values) > 1:
        return f"{len(values)} signatures of {cell.metric} are stored"
    if not values:
        return "diverged" if row.diverged else f"{cell.metric} is not scored; bench score --metrics ... makes it"
    if values[0].conflict:
        return "two stored numbers of one seed contradict each other"
    if values[0].mean is None:
        return values[0].missing_reason
    return values[0]


def unlike(cell: PublishedCell, table: Table, row: TableRow) -> str:
    """Return why our number cannot be compared with the published one; empty if it can."""
    if table.preset != "paper":
        return f"preset {table.preset}: {row.backbone or 'no'} backbone, other sizes"
    if row.backbone and row.backbone != cell.backbone:
        return f"backbone {row.backbone}, published {cell.backbone or 'none'}"
    return table.watermark


def is_within(cell: PublishedCell, ours: SeedMean) -> bool:
    """Return whether our number and the published one are as near as spread, interval or tolerance allow."""
    assert cell.value is not None
    distance = abs(ours.mean - cell.value) - half_digit(cell.printed) - 1e-9
    if cell.spread is not None and distance <= cell.spread:
        return True
    if ours.half is not None:
        return distance <= ours.half
    return distance <= tolerance(cell.metric, cell.value)


def is_alike(decoding: str, other: str) -> bool:
    """Return whether two decodings are of one kind: both search for the most probable text, or sample alike.

    >>> is_alike("greedy", "beam=5+gnmt=1.0"), is_alike("topk=3+max_new_tokens=64", "topk=3+max_new_tokens=100")
    (True, True)
    >>> is_alike("topk=3", "greedy"), is_alike("topk=3", "topk=20")
    (False, False)
    """
    first, second = decoding.partition("+")[0], other.partition("+")[0]
    return first == second or (all(name.startswith(("greedy", "beam=")) for name in (first, second)))


def tuning_of(row: TableRow) -> str:
    """Return which settings of a row were picked, from how many trials, and how long these were, for people."""
    names, _, how = row.picked.partition(" picked from ")
    by = how.partition(" by validation ")[2].replace("NLL", "loss")
    verb = "are" if ", " in names else "is"
    text = f"its {names.replace('trainer.lr', 'learning rate')} {verb} the best of {row.tried} by validation {by}"
    steps = row.config.get("trainer", {}).get("steps")
    if row.trial_steps and steps:
        share = Fraction(row.trial_steps)
        text += f" after {round(share * steps if share <= 1 else share):,} steps of one seed"
    return text


def size_of(row: TableRow) -> str:
    """Return backbone, number of parameters, pretrained or not, and length of training of a row, for people."""
    if not row.backbone:
        return "nothing is trained"
    start = row.config.get("start")
    parameters = f" of {row.parameters:,} parameters" if row.parameters else ""
    weights = "pretrained" if weights_of(row.backbone) else "from scratch"
    after = f" after {length_of(start)} of {start['method']}" if start else ""
    return f"{row.backbone}{parameters} {weights}, {length_of(row.config)}{after}"


def length_of(config: Mapping[str, Any]) -> str:
    """Return how long a run trains, for people."""
    trainer = config.get("trainer", {})
    if trainer.get("steps"):
        return f"{trainer['steps']:,} steps of {trainer.get('batch_size', 'some')} rows"
    return f"{trainer.get('epochs', 0):g} epochs"


TOLERANCES = (
    (("acc@*",), 3.0, 0.0),
    (("rouge-*", "bleu*", "rep", "ngram-diversity"), 0.5, 0.0),
    (("ms-jaccard-*", "self-bleu-*", "distinct-*", "coherence", "*-acc", "factcc", "dae*", "p_ent*"), 1.0, 0.0),
    (("mauve",), 1.5, 0.0),
    (("ppl/*",), 0.0, 0.02),
    (("uniq",), 0.0, 0.03),
    (("*",), 0.0, 0.05),
)
"""By patterns of a metric's name, how far the mean of one or two seeds may be off: in the metric's unit, and as a share
of the published number; the larger counts. The first pattern that fits a metric decides."""


def tolerance(metric: str, published: float) -> float:
    """Return how far a mean of fewer than three seeds may be off.

    >>> tolerance("rouge-l", 34.7), tolerance("ppl/token", 25.0), tolerance("acc@2/full", 50.0)
    (0.5, 0.5, 3.0)
    """
    fitting = (limits for patterns, *limits in TOLERANCES if any(is_named(metric, pattern) for pattern in patterns))
    absolute, share = next(fitting)  # the last pattern fits every metric
    return max(absolute, share * abs(published))


def half_digit(printed: str) -> float:
    """Return half a unit of the last digit printed.

    >>> half_digit("24.7"), half_digit("8.48k"), half_digit("762"), half_digit("9,706")
    (0.05, 5.0, 0.5, 0.5)
    """
    text = printed.rstrip("?").replace(",", "")
    exponent = {"k": 3, "m": 6}.get(text[-1:].lower(), 0)
    decimals = len(text.rstrip("kKmM").partition(".")[2])
    return float(f"5e{exponent - decimals - 1}")
