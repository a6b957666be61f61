"""Reproduction: a paper's table beside ours, cell by cell, with a verdict; a pure function of our tables.

A published number is met when it lies within the interval of our seeds, or ours lies within the spread printed behind
it. Under three seeds there is no interval, and a tolerance declared for the metric decides. Half a unit of the last
printed digit is always granted.

Where the planned run is not stored, the nearest stored run of the method and task is shown in its place, with what is
different about it. Such a number is never counted as reproduced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from bench.base.departure import Departure
from bench.leaderboards.published.needs import Key, key_of_cell, needs
from bench.leaderboards.published.paper_files import Check, PublishedCell, PublishedSearch
from bench.leaderboards.published.papers import PublishedTable, paper_of
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics.intervals import SeedMean, seed_mean
from bench.leaderboards.table import Table, metric_name
from bench.metrics.columns import is_named
from bench.models.backbones import is_pretrained
from bench.tasks.core.stated import as_text

VERDICTS = ("within interval", "off", "other run", "not run", "not comparable")
WITHIN, OFF, ANOTHER, NOT_RUN, NOT_COMPARABLE = VERDICTS
HOLDS, FAILS = "holds", "fails"
"""Verdicts of checks, beside `not run` and `not comparable`."""
STRICT_EXIT = 4
"""Exit code of a strict reproduction that falls short."""


@dataclass(frozen=True)
class Reproduced:
    """One cell of a paper's table beside ours.

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


Departing = Callable[[PublishedCell, TableRow | None], Sequence[Departure]]
"""What the planned run behind a published cell, or a stored row in its place, has otherwise than the paper."""


def nothing_known(cell: PublishedCell, row: TableRow | None) -> Sequence[Departure]:
    """Return no departure of a cell."""
    return ()


@dataclass(frozen=True)
class Beside:
    """A variant of a row's method or another decoding of it, whose numbers stand beside ours.

    Args:
        method: the name of the variant, or the method's own with the decoding.
        cells: one a column.
        departures: as in `Reproduction`.
    """

    method: str
    cells: tuple[Reproduced, ...]
    departures: tuple[Departure, ...]


@dataclass(frozen=True)
class Checked:
    """A sentence of a paper about a number, with ours.

    Args:
        check: the sentence.
        verdict: `holds`, `fails`, or of `VERDICTS` `not run` or `not comparable`.
        reason: of the verdict, where there is one.
        printed: the number of the table that it is about; None where the table has none.
        ours: our number; None where there is none.
    """

    check: Check
    verdict: str
    reason: str = ""
    printed: float | None = None
    ours: SeedMean | None = None


@dataclass(frozen=True)
class Reproduction:
    """A paper's table with ours, in the paper's order of rows and columns.

    Args:
        table: the paper's.
        preset: of our numbers.
        rows: its cells with ours, a row each.
        notes: what a reader of the whole table must know.
        departures: for each row, what our cells have otherwise than the paper or its code.
        beside: for each row, the variant beside it, or None.
        checks: what the paper's text says of the table's numbers, with ours.
    """

    table: PublishedTable
    preset: str
    rows: tuple[tuple[Reproduced, ...], ...]
    notes: tuple[str, ...]
    departures: tuple[tuple[Departure, ...], ...] = ()
    beside: tuple[Beside | None, ...] = ()
    checks: tuple[Checked, ...] = ()

    def noted(self, notes: Sequence[str]) -> Reproduction:
        """Return the reproduction with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    def count(self) -> dict[str, int]:
        """How many cells have each verdict."""
        verdicts = [reproduced.verdict for row in self.rows for reproduced in row]
        return {verdict: verdicts.count(verdict) for verdict in VERDICTS}

    @property
    def short_of(self) -> int:
        """How many cells and checks fail or are not of the planned run; a strict reproduction allows none."""
        short = (OFF, ANOTHER, NOT_RUN, FAILS)
        verdicts = [reproduced.verdict for row in self.rows for reproduced in row]
        return sum(verdict in short for verdict in (*verdicts, *(each.verdict for each in self.checks)))


def reproduce(
    table: PublishedTable,
    ours: Sequence[Table],
    preset: str,
    planned: Mapping[Key, set[str]] | None = None,
    reasons: Mapping[Key, str] | None = None,
    departing: Departing = nothing_known,
    settings: Mapping[Key, Mapping[str, Any]] | None = None,
) -> Reproduction:
    """Put a paper's table beside ours.

    Args:
        table: the paper's.
        ours: every table of its tasks, with all columns.
        preset: `small` or `paper`.
        planned: by task, method and backbone, the keys of the cells that were planned; for those that are not in it,
            rows are matched by method and backbone.
        reasons: by the same, why there may be no number.
        departing: what our run has otherwise than the paper.
        settings: by the same, the settings of the planned run; another run that is shown says where it differs.
    """
    our_tables = OurTables(ours, preset, planned or {}, reasons or {}, settings or {})
    rows = tuple(tuple(map(our_tables.reproduced, row)) for row in table.rows)
    return Reproduction(
        table,
        preset,
        rows,
        tuple(our_tables.notes(table, rows)),
        tuple(departures_of_row(row, departing) for row in rows),
        tuple(beside(row, our_tables, departing) for row in table.rows),
        tuple(checked(check, table, our_tables) for check in table.checks),
    )


def beside(row: Sequence[PublishedCell], our_tables: OurTables, departing: Departing) -> Beside | None:
    """Return our cells of the other variant or decoding, which stand beside a row of a paper, or None."""
    cells = [other for cell in row if (other := cell.other) is not None]
    if not cells:
        return None
    name = cells[0].method
    if row[0].released_decoding:
        name = f"{name} by {cells[0].decoding.partition('+')[0]}"
    found = tuple(map(our_tables.reproduced, cells))
    return Beside(name, found, departures_of_row(found, departing))


def checked(check: Check, table: PublishedTable, our_tables: OurTables) -> Checked:
    """Return the verdict on a sentence of the paper about a number; a number that it states has the usual tolerance."""
    rows = [row for row in table.rows if row[0].row == check.row and check.backbone in ("", row[0].backbone)]
    printed, cell = None, rows[0][0]
    if check.column:
        cell = rows[0][table.columns.index(check.column)]
        printed = cell.value
    if check.other:
        return Checked(check, NOT_COMPARABLE, check.other, printed)
    stated = f"{check.value:g}"
    metric = check.metric or cell.metric
    found = our_tables.reproduced(
        replace(cell, metric=metric, printed=stated, value=check.value, spread=None, why_not="")
    )
    verdict = found.verdict
    if verdict == ANOTHER:  # the check is of the paper's model, and its bound does not apply to another one
        return Checked(check, verdict, found.reason, printed)
    if verdict in (WITHIN, OFF):
        assert found.ours is not None
        verdict = FAILS
        if check.holds_for(found.ours.mean) or (check.relation == "is" and found.verdict == WITHIN):
            verdict = HOLDS
    return Checked(check, verdict, found.reason, printed, found.ours)


def departures_of_row(row: Sequence[Reproduced], departing: Departing) -> tuple[Departure, ...]:
    """Return what our runs of a row have otherwise than the paper, each once: those that are shown, else the planned.

    Where a row is of several tasks, one that is not of all of them has its task before a colon, as after --set.
    """
    tasks = dict.fromkeys(one.cell.task for one in row if one.cell.task and one.cell.method)
    of_tasks: dict[Departure, dict[str, None]] = {}
    for one in row:
        for departure in departing(one.cell, None if one.is_planned else one.row):
            of_tasks.setdefault(departure, {})[one.cell.task] = None
    found = []
    for departure, where in of_tasks.items():
        if len(where) == len(tasks):
            found.append(departure)
        else:
            found += [replace(departure, setting=f"{task}:{departure.setting}") for task in where]
    return tuple(found)


@dataclass(frozen=True)
class OurTables:
    """Our tables, and what was planned for them; the fields are the arguments of `reproduce`."""

    tables: Sequence[Table]
    preset: str
    planned: Mapping[Key, set[str]]
    reasons: Mapping[Key, str]
    settings: Mapping[Key, Mapping[str, Any]]

    def reproduced(self, cell: PublishedCell) -> Reproduced:
        """Put one published cell beside ours."""
        match, is_planned = self.row_of(cell), True
        if not match and (found := nearest(cell, self.tables, self.preset)):
            match, is_planned = found, False
        if isinstance(match, str):
            return without_number(cell, match)
        table, row = match
        value = value_of(row, cell)
        if isinstance(value, str):
            return without_number(cell, value, row)
        ours = seed_mean(value.repeated)
        if not is_planned:
            verdict = NOT_COMPARABLE if cell.why_not else ANOTHER
            planned = self.settings.get(key_of_cell(cell, self.preset), {})
            unlike_planned = unlike_plan(cell, table, row, self.preset, planned)
            other = f", not {cell.backbone}" if cell.backbone and row.backbone != cell.backbone else ""
            reason = "; ".join(filter(None, [cell.why_not, f"ours: {size_of(row)}{other}", *unlike_planned]))
            return Reproduced(cell, verdict, reason, ours, value.by_seed, row, is_planned)
        reason = cell.why_not or unlike(cell, table, row)
        if reason:
            return Reproduced(cell, NOT_COMPARABLE, reason, ours, value.by_seed, row)
        if row.diverged:
            reason = f"{row.diverged} of {len(row.seeds)} seeds diverged"
        verdict = OFF
        if is_within(cell, ours):
            verdict = WITHIN
        return Reproduced(cell, verdict, reason, ours, value.by_seed, row)

    def row_of(self, cell: PublishedCell) -> tuple[Table, TableRow] | str:
        """Return the row of ours that a cell is compared with, of the largest table; else why there is none."""
        wanted = (cell.task, cell.split, self.preset)
        tables = [table for table in self.tables if (table.task, table.split, table.preset) == wanted]
        for table in sorted(tables, key=lambda table: (not table.whole, -table.n)):
            if cell.row == "Human" and len(table.human) == 1:
                return table, table.human[0]
            rows = self.matching_rows(cell, table)
            if len(rows) > 1:
                return f"{len(rows)} settings are stored, and which is meant cannot be told without its data"
            if rows:
                return table, rows[0]
        return self.reasons.get(key_of_cell(cell, self.preset), "")

    def matching_rows(self, cell: PublishedCell, table: Table) -> list[TableRow]:
        """Return the rows of one table that a cell may mean: of its method, backbone and decoding."""
        rows = [row for row in table.rows if row.method == cell.method]
        planned = self.planned.get(key_of_cell(cell, self.preset))
        if planned is not None:
            rows = [row for row in rows if row.keys & planned]
        elif self.preset == "paper":
            rows = [row for row in rows if row.backbone == cell.backbone] or rows
        same_decoding = [row for row in rows if row.decoding == cell.decoding]
        if not same_decoding and cell.metric.startswith("ppl/"):  # is of any decoding: it generates nothing
            return rows[:1]
        return same_decoding

    def notes(self, table: PublishedTable, rows: Sequence[Sequence[Reproduced]]) -> list[str]:
        """Return what a reader of a whole table must know."""
        notes = [level.text() for level in table.levels]
        if table.note:
            notes.append(table.note)
        paper = paper_of(table)
        if paper is not None:
            notes += [
                f"the paper's text and table: {one['says']}"
                + ("" if one.get("counted") else f": printed {one['printed']}, computed {one['computed']}")
                for one in paper.inconsistencies
                if table.name in one["where"].split(", ")
            ]
        if not needs([table], self.preset):
            return notes
        if self.preset != "paper":
            notes.append(
                f"preset {self.preset} has another backbone and other sizes than the paper: neither values nor order "
                "test the printed table"
            )
        notes += self.watermarks(rows) + sampling_notes(rows)
        if paper is not None and paper.search is not None:
            notes += selection_notes(paper.search, [row[0].cell.method for row in rows if row])
        return notes

    def watermarks(self, rows: Sequence[Sequence[Reproduced]]) -> list[str]:
        """Return what keeps the data of our rows from being the published one, a line a task."""
        used = {id(reproduced.row) for row in rows for reproduced in row if reproduced.row is not None}
        found = set()
        for ours in self.tables:
            if ours.watermark and any(id(row) in used for row in ours.rows):
                found.add(f"{ours.task}: {ours.watermark}")
        return sorted(found)


def sampling_notes(rows: Sequence[Sequence[Reproduced]]) -> list[str]:
    """Return what our numbers are the means of, where the texts of a training were sampled more than once."""
    used = [reproduced.row for row in rows for reproduced in row if reproduced.row is not None]
    return list(dict.fromkeys(f"{row.method}: {row.sampling_note}" for row in used if row.sampling_note))


def without_number(cell: PublishedCell, why: str, row: TableRow | None = None) -> Reproduced:
    """Return a published cell for which we have no number, and why."""
    if cell.why_not:
        return Reproduced(cell, NOT_COMPARABLE, cell.why_not, row=row)
    return Reproduced(cell, NOT_RUN, why, row=row)


def value_of(row: TableRow, cell: PublishedCell) -> Value | str:
    """Return a row's value of a cell's metric; else why it has none."""
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
    """Return what keeps our number from being comparable with the published one; empty if nothing does."""
    if table.preset != cell.preset:
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


def selection_notes(search: PublishedSearch, methods: Iterable[str]) -> list[str]:
    """Return the search of a paper, and a line for each method that had more settings than its baseline.

    Args:
        search: of the paper.
        methods: ours, of a table.
    """
    shown = [method for method in dict.fromkeys(methods) if method.partition(".")[0] in search.methods]
    if not shown:
        return []
    baseline = search.settings_of(search.baseline)
    lines = [search.text]
    for method in shown:
        tried = search.settings_of(method)
        if method != search.baseline and tried > baseline:
            lines.append(
                f"{method} had {tried} settings to choose from and {search.baseline} {baseline}: the best of more "
                f"settings is higher by chance alone. bench run --trials {method}={tried},{search.baseline}={tried} "
                "tunes both alike"
            )
    return lines


# The nearest stored run ----------------------------------------------------------------------------------------------


SEARCHES = ("greedy", "beam=")
"""How the names of decodings begin that search for the most probable text."""


def nearest(cell: PublishedCell, tables: Iterable[Table], preset: str) -> tuple[Table, TableRow] | None:
    """Return the stored row that is nearest to the planned run of a published number, with its table; None without one.

    The same preset counts first, then the backbone, the decoding, and the number of rows, of seeds and of steps. Texts
    that were sampled never stand in for texts that were searched for, nor for those of another sampling.
    """
    found = [
        (table, row)
        for table in tables
        if (table.task, table.split) == (cell.task, cell.split)
        for row in table.rows
        if row.method == cell.method and (cell.metric.startswith("ppl/") or is_alike(row.decoding, cell.decoding))
    ]

    def nearness(one: tuple[Table, TableRow]) -> tuple[float, ...]:
        table, row = one
        alike = (table.preset == preset, row.backbone == cell.backbone, row.decoding == cell.decoding)
        return (*alike, table.n, len(row.seeds), row.config.get("trainer", {}).get("steps") or 0)

    return max(found, key=nearness, default=None)


def is_alike(decoding: str, other: str) -> bool:
    """Return whether two decodings write texts in one way: both search for the most probable text, or sample alike.

    >>> is_alike("greedy", "beam=5+gnmt=1.0"), is_alike("topk=3+max_new_tokens=64", "topk=3+max_new_tokens=100")
    (True, True)
    >>> is_alike("topk=3", "greedy"), is_alike("topk=3", "topk=20")
    (False, False)
    """
    first, second = decoding.partition("+")[0], other.partition("+")[0]
    return first == second or (first.startswith(SEARCHES) and second.startswith(SEARCHES))


def unlike_plan(cell: PublishedCell, table: Table, row: TableRow, preset: str, planned: Mapping[str, Any]) -> list[str]:
    """Return how a stored row was tuned, and its decoding, preset and options of the method that are unlike the plan.

    Its other settings are compared with the paper's, and not with those of the plan.

    Args:
        cell: the published number that it stands beside.
        table: of the row.
        row: ours.
        preset: that was planned; the settings of another one are not compared.
        planned: the method's settings that were planned.
    """
    found = [tuning_of(row)] if row.tried else []
    trainer = row.config.get("trainer", {})
    if trainer.get("select"):
        found.append(f"of its steps the one with the best {trainer['select']} of validation is kept")
    if row.decoding and cell.decoding and row.decoding != cell.decoding:
        found.append(f"decoding {row.decoding} in place of {cell.decoding}")
    if table.preset != preset:
        return [*found, f"preset {table.preset}"]
    stored = row.config.get("method_options", {})
    return found + [
        f"method.{name}={as_text(stored[name])} in place of {as_text(value)}"
        for name, value in planned.items()
        if name in stored and stored[name] != value
    ]


def tuning_of(row: TableRow) -> str:
    """Return which settings of a row were picked, from how many trials, and how long these were, for people."""
    names = row.picked.partition(" picked from ")[0].replace("optim.lr", "learning rate")
    verb = "are" if ", " in names else "is"
    text = f"its {names} {verb} the best of {row.tried} by validation loss"
    steps = row.config.get("trainer", {}).get("steps")
    if row.trial_steps and steps:
        share = Fraction(row.trial_steps)
        text += f" after {round(share * steps if share <= 1 else share):,} steps of one seed"
    return text


def size_of(row: TableRow) -> str:
    """Return backbone, number of parameters, pretrained or not, and length of training of a row, for people."""
    if not row.backbone:
        return "nothing is trained"
    parameters, start = "", row.config.get("start")
    if row.parameters:
        parameters = f" of {row.parameters:,} parameters"
    begun = "pretrained" if is_pretrained(row.backbone) else "from scratch"
    after = ""
    if start:
        after = f" after {length_of(start)} of {start['method']}"
    return f"{row.backbone}{parameters} {begun}, {length_of(row.config)}{after}"


def length_of(config: Mapping[str, Any]) -> str:
    """Return how long a run trains, for people."""
    trainer = config.get("trainer", {})
    if trainer.get("steps"):
        return f"{trainer['steps']:,} steps of {trainer.get('batch_size', 'some')} rows"
    return f"{trainer.get('epochs', 0):g} epochs"


# Tolerance -----------------------------------------------------------------------------------------------------------


TOLERANCES: tuple[tuple[str, float, float], ...] = (
    ("acc@*", 3.0, 0.0),
    ("rouge-*", 0.5, 0.0),
    ("bleu*", 0.5, 0.0),
    ("ppl/*", 0.0, 0.02),
    ("kld*", 0.0, 0.05),
    ("ms-jaccard-*", 1.0, 0.0),
    ("self-bleu-*", 1.0, 0.0),
    ("distinct-*", 1.0, 0.0),
    ("rep", 0.5, 0.0),
    ("uniq", 0.0, 0.03),
    ("mauve", 1.5, 0.0),
    ("ngram-diversity", 0.5, 0.0),
    ("coherence", 1.0, 0.0),
    ("*-acc", 1.0, 0.0),
    ("factcc", 1.0, 0.0),
    ("dae*", 1.0, 0.0),
    ("p_ent*", 1.0, 0.0),
    ("*", 0.0, 0.05),
)
"""By pattern of a metric's name, how far the mean of one or two seeds may be off: in the metric's unit, and as a share
of the published number; the larger counts. The first pattern that fits a metric decides."""


def tolerance(metric: str, published: float) -> float:
    """Return how far a mean of fewer than three seeds may be off.

    >>> tolerance("rouge-l", 34.7), tolerance("ppl/token", 25.0), tolerance("acc@2/full", 50.0)
    (0.5, 0.5, 3.0)
    """
    for pattern, absolute, share in TOLERANCES:
        if is_named(metric, pattern):
            return max(absolute, share * abs(published))
    raise AssertionError("the last pattern fits every metric")


def half_digit(printed: str) -> float:
    """Return half a unit of the last digit printed.

    >>> half_digit("24.7"), half_digit("8.48k"), half_digit("762"), half_digit("9,706")
    (0.05, 5.0, 0.5, 0.5)
    """
    text = printed.rstrip("?").replace(",", "")
    exponent = {"k": 3, "m": 6}.get(text[-1:].lower(), 0)
    decimals = len(text.rstrip("kKmM").partition(".")[2])
    return float(f"5e{exponent - decimals - 1}")
