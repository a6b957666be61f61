"""Paper files: the tables of one paper as data (`papers/*.toml`), every key checked.

A file has `name`, `short`, `citation`, and `[[table]]`, `[[samples]]`, `[[inconsistency]]`, `[[training]]` and, at its
end, `[search]`. A setting may stand at a table, part, column and row; the later of these decides. `why_not` at any of
them makes its cells not comparable. A row's `values` are as printed, between white space: `-` for none, `?` for what
cannot be read in the copy of the paper that was used, `1.2?` for what can hardly be read. A row's `method` is what made
the printed numbers; where paper and released code have different objectives, `variant` names the other one, whose
numbers stand beside ours, and where their decodings differ, `released_decoding` names that of the code. `level` and
`level_why`, at a table or its parts, say how near our own rows can come to it (`LEVELS`). `[[table.check]]` is a number
that the text of the paper gives, and no table of it (`Check`). Tests hold the names of tasks, methods and backbones.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar

from bench.errors import DataError
from bench.metrics import METRICS
from bench.metrics.columns import direction_of

SIGNED = tuple(pattern for metric in METRICS.values() for pattern in metric.columns)
"""Patterns of the columns that our metrics make, each with a sign for which way is better."""
SETTINGS = ("task", "split", "preset", "backbone", "decoding", "signature", "spread", "why_not", "beside")
"""What a table, part, column or row may set for its cells."""
LEVELS = {
    "comparable": "our rows may stand beside the paper's, once data and weights are there",
    "real size": "our rows are of the paper's size, and differ in what is said",
    "toy": "our rows are small",
    "barred": "what it takes cannot be had",
}
"""How near our rows can come to a table, and what it means."""
PLACED = ("level", "level_why", *SETTINGS)
CHECK_RELATIONS = ("is", "at most", "above")
KEYS = {
    "paper": {"name", "short", "citation", "table", "samples", "inconsistency", "training", "search"},
    "table": {"name", "title", "about", "columns", "note", "rows", "part", "check", "sampling_seeds", *PLACED},
    "part": {"label", "rows", *PLACED},
    "column": {"label", "metric", "higher_is_better", *SETTINGS},
    "row": {"label", "values", "method", "variant", "released_decoding", "than", "spreads", *SETTINGS},
    "samples": {"name", "title", "task", "methods", "backbone", "prompts", "decoding", "modes"},
    "inconsistency": {"id", "where", "says", "printed", "computed", "counted"},
}
"""Keys that each part of a file may have."""
UNSURE = "the copy of the paper that was read is damaged here"
NO_NUMBER = "the paper prints no number here"
T = TypeVar("T")


@dataclass(frozen=True)
class PublishedCell:
    """One number of a paper's table.

    Args:
        paper: short name.
        table, part, row, column: its place, as printed.
        printed: the number as printed.
        value: the number; None where the paper prints none.
        task: ours; `human/` stands before it for people's ratings. Empty where we have none; so are the next two.
        method: ours.
        metric: the column of ours.
        than: the method a comparison is with; empty where it is none.
        variant: the other variant of the method, whose numbers stand beside ours; empty for none.
        sampling_seeds: with which the texts of one training were sampled; empty for one of each training.
        released_decoding: the decoding of the released code, by which numbers stand beside ours; empty for none.
        split, preset: of the task that it is of.
        backbone: ours, or empty.
        decoding: as our cells name it.
        signature: what is known of the metric's definition.
        spread: the number printed behind it; None where there is none.
        spread_kind: what the spread is.
        higher_is_better: None where neither is.
        why_not: why it is not comparable with ours; empty if it is.
        beside: whether leaderboards show it under our rows.
    """

    paper: str
    table: str
    part: str
    row: str
    column: str
    printed: str
    value: float | None
    task: str
    method: str
    metric: str
    than: str = ""
    variant: str = ""
    released_decoding: str = ""
    sampling_seeds: tuple[int, ...] = ()
    split: str = "test"
    preset: str = "paper"
    backbone: str = ""
    decoding: str = ""
    signature: str = ""
    spread: float | None = None
    spread_kind: str = ""
    higher_is_better: bool | None = None
    why_not: str = ""
    beside: bool = True

    @property
    def other(self) -> PublishedCell | None:
        """The same number, for a comparison with ours by the other variant or decoding; None where a row names none."""
        if not (self.variant or self.released_decoding):
            return None
        return replace(self, method=self.variant or self.method, decoding=self.released_decoding or self.decoding)

    @property
    def comparable(self) -> bool:
        """Whether a number of ours can be compared with it."""
        return not self.why_not


@dataclass(frozen=True)
class Level:
    """How near our rows can come to a table or a part of it.

    Args:
        part: its label; empty for a whole table.
        level: of `LEVELS`.
        why: what it takes, or what is in the way.
    """

    part: str
    level: str
    why: str

    def text(self) -> str:
        """Return it as a sentence.

        >>> Level("Melo-Lyrics", "barred", "Not released.").text()
        'Level of Melo-Lyrics: barred. Not released.'
        """
        of = f" of {self.part}" if self.part else ""
        return f"Level{of}: {self.level}. {self.why}"


@dataclass(frozen=True)
class Check:
    """One sentence of a paper about a number that stands beside a table.

    Args:
        where: its section.
        quote: the sentence, or what of it is about the number.
        row: of the table that it stands beside, as printed.
        relation: of `RELATIONS`.
        value: that a number is, or is compared with.
        backbone: of the row; empty where one row has the label.
        column: of the table; empty where it has none for it.
        metric: column of ours, where the table has none.
        other: why no cell of the row is the one that is meant; empty if one is.
    """

    where: str
    quote: str
    row: str
    relation: str
    value: float
    backbone: str = ""
    column: str = ""
    metric: str = ""
    other: str = ""

    @property
    def name(self) -> str:
        """What of ours it is about.

        >>> Check("6.1", "...", "GPT2-Small", "at most", 768, "gpt2", "Full Rank").name
        'GPT2-Small (gpt2), Full Rank at most 768'
        """
        backbone = ""
        if self.backbone:
            backbone = f" ({self.backbone})"
        return f"{self.row}{backbone}, {self.column or self.metric} {self.relation} {self.value:g}"

    def holds_for(self, number: float) -> bool:
        """Return whether a number keeps to a bound; a rounded `is` is for others to decide."""
        if self.relation == "at most":
            return number <= self.value
        if self.relation == "above":
            return number > self.value
        return number == self.value


@dataclass(frozen=True)
class PublishedTable:
    """One table of a paper, its cells row by row and column by column in the paper's order.

    Args:
        address: its name on the command line, such as `histalign/table1`.
        name: as the paper calls it, such as `Table 1`.
        title: what it is about, in a few words.
        about: the same in sentences.
        note: what a reader of its numbers must know; may be empty.
        columns: headings, as printed.
        rows: cells, a row each.
        levels: how near our rows can come; empty for a table without scores.
        checks: what the paper's text says of its numbers.
    """

    address: str
    name: str
    title: str
    about: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[PublishedCell, ...], ...]
    levels: tuple[Level, ...]
    checks: tuple[Check, ...] = ()


# Searches and training times -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SearchAxis:
    """One setting and the values a paper tried for it.

    Args:
        setting: ours where we have it, such as `optim.lr`, else as the paper calls it.
        values: as printed.
        methods: ours, that have the setting.
        where: section or table of the paper.
        chosen_on: the method whose validation numbers chose the value for all of them; empty where each had its own
            choice.
    """

    setting: str
    values: tuple[str, ...]
    methods: tuple[str, ...]
    where: str
    chosen_on: str = ""

    def tried_for(self, method: str) -> int:
        """Return how many values were tried for a method, or the method of a variant, by its own numbers."""
        base = method.partition(".")[0]
        if base not in self.methods or self.chosen_on not in ("", base):
            return 1
        return len(self.values)


@dataclass(frozen=True)
class PublishedSearch:
    """What a paper tried.

    Args:
        paper: its name.
        where: section of the paper.
        baseline: our name of the method the others are compared with.
        chosen_by: what a setting was chosen by.
        axes: the settings, each with its values.
        note: what the paper leaves open; may be empty.
    """

    paper: str
    where: str
    baseline: str
    chosen_by: str
    axes: tuple[SearchAxis, ...]
    note: str = ""

    def settings_of(self, method: str) -> int:
        """Return how many combinations were open to a method, if all values of its settings were tried together."""
        return math.prod(axis.tried_for(method) for axis in self.axes)

    @property
    def methods(self) -> list[str]:
        """Methods that had a choice."""
        return list(dict.fromkeys(method for axis in self.axes for method in axis.methods))

    @property
    def text(self) -> str:
        """The search in one sentence."""
        axes = []
        for axis in self.axes:
            on = f" on {axis.chosen_on}" if axis.chosen_on else ""
            axes.append(f"{axis.setting} {' '.join(axis.values)} ({', '.join(axis.methods)}{on}; {axis.where})")
        note = f". {self.note}" if self.note else ""
        return f"search of {self.paper} ({self.where}), by {self.chosen_by}: {'; '.join(axes)}{note}"


@dataclass(frozen=True)
class TrainingTime:
    """What a paper says of the hours and hardware of one training.

    Args:
        paper: its name.
        task, method, backbone: ours.
        where: section of the paper.
        hours: of training; None where the paper gives none.
        device: as the paper calls it; empty where it names none.
        count: how many of them; 0 where the paper does not say.
        note: what is not stated, or how it is meant; may be empty.
    """

    paper: str
    task: str
    method: str
    backbone: str
    where: str
    hours: float | None = None
    device: str = ""
    count: int = 0
    note: str = ""

    @property
    def text(self) -> str:
        """The hours and hardware for people."""
        text = "hours not stated"
        if self.hours is not None and self.hours < 1:
            text = f"{self.hours * 60:.0f} min"
        elif self.hours is not None:
            text = f"{self.hours:g} h"
        if self.device:
            text += f" on {self.count or 'a number of'} {self.device}"
        if self.note:
            text += f" ({self.note})"
        return text


# Reading -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Paper:
    """A paper's tables, plans of its samples, where it contradicts itself, what training took and what was tuned."""

    name: str
    short: str
    citation: str
    tables: tuple[PublishedTable, ...]
    samples: tuple[Mapping[str, Any], ...]
    inconsistencies: tuple[Mapping[str, Any], ...]
    training: tuple[TrainingTime, ...] = ()
    search: PublishedSearch | None = None


def read(text: str, file: str) -> Paper:
    """Read one paper's file.

    Raises:
        DataError: a key that is not known or missing, a wrong number of values, or a cell that neither compares nor
            says why; the message names file, table and row.
    """
    data = tomllib.loads(text)
    _check("paper", data, file)
    name, short = data["name"], data["short"]
    for kind in ("samples", "inconsistency"):
        for entry in data.get(kind, ()):
            _check(kind, entry, f"{file}, {kind}")
    return _made(
        Paper,
        file,
        name=name,
        short=short,
        citation=data["citation"],
        tables=tuple(_table(short, table, f"{file}, {table.get('name')}") for table in data["table"]),
        samples=tuple(data.get("samples", ())),
        inconsistencies=tuple(data.get("inconsistency", ())),
        training=tuple(_training(name, data.get("training", ()), file)),
        search=_search(name, data["search"], f"{file}, search") if "search" in data else None,
    )


def _made(kind: type[T], where: str, /, **fields: Any) -> T:
    """Return a record, or raise DataError for a key that is missing or unknown."""
    try:
        return kind(**fields)
    except TypeError as error:
        raise DataError(f"{where}: {str(error).rpartition('() ')[2]}") from error


def _training(paper: str, entries: Iterable[Mapping[str, Any]], file: str) -> Iterator[TrainingTime]:
    """Yield a training time for each method of each entry."""
    for number, entry in enumerate(entries, 1):
        rest = {name: value for name, value in entry.items() if name != "methods"}
        for method in entry["methods"]:
            yield _made(TrainingTime, f"{file}, training {number}", paper=paper, method=method, **rest)


def _search(paper: str, entry: Mapping[str, Any], where: str) -> PublishedSearch:
    axes = tuple(
        _made(SearchAxis, where, **{**axis, "values": tuple(axis["values"].split()), "methods": tuple(axis["methods"])})
        for axis in entry["axes"]
    )
    return _made(PublishedSearch, where, **{**entry, "paper": paper, "axes": axes})


def _checks(table: Mapping[str, Any], rows: Sequence[tuple[PublishedCell, ...]], where: str) -> Iterator[Check]:
    """Yield the checks of a table; each is of one of its rows, and of one of its columns or of a metric of ours."""
    places = {(row[0].row, backbone) for row in rows for backbone in ("", row[0].backbone)}
    columns = {"", *(column["label"] for column in table["columns"])}
    for entry in table.get("check", ()):
        check = _made(Check, f"{where}, check", **entry)
        is_placed = (check.row, check.backbone) in places and check.column in columns
        if not is_placed or check.relation not in CHECK_RELATIONS or bool(check.column) == bool(check.metric):
            raise DataError(f"{where}, check '{check.quote[:40]}': it names no row, column or relation of the table")
        yield check


def _table(paper: str, table: Mapping[str, Any], where: str) -> PublishedTable:
    _check("table", table, where)
    for column in table["columns"]:
        _check("column", column, f"{where}, column '{column.get('label')}'")
    rows = []
    for part in table.get("part", [{"label": "", "rows": table.get("rows", ())}]):
        _check("part", part, where)
        rows += [_row(paper, table, part, row, where) for row in part["rows"]]
    columns = tuple(column["label"] for column in table["columns"])
    return PublishedTable(
        address=address_of(paper, table["name"]),
        name=table["name"],
        title=table["title"],
        about=table["about"],
        note=table.get("note", ""),
        columns=columns,
        rows=tuple(rows),
        levels=tuple(_levels(table, where)),
        checks=tuple(_checks(table, rows, where)),
    )


def _levels(table: Mapping[str, Any], where: str) -> Iterable[Level]:
    """Yield the levels that a table, or its parts, have.

    Raises:
        DataError: a level that there is not, or one without a reason.
    """
    for place in (table, *table.get("part", ())):
        if "level" not in place and "level_why" not in place:
            continue
        if place.get("level") not in LEVELS or not place.get("level_why"):
            raise DataError(f"{where}: expected a 'level' of {', '.join(LEVELS)}, and 'level_why'")
        label = ""
        if place is not table:
            label = place["label"]
        yield Level(label, place["level"], place["level_why"])


def _row(
    paper: str, table: Mapping[str, Any], part: Mapping[str, Any], row: Mapping[str, Any], where: str
) -> tuple[PublishedCell, ...]:
    where = f"{where}, row '{row.get('label')}'"
    _check("row", row, where)
    columns, values = table["columns"], row["values"].split()
    spreads = row.get("spreads", "- " * len(columns)).split()
    if not len(values) == len(spreads) == len(columns):
        raise DataError(
            f"{where}: expected a value and a spread for each of {len(columns)} columns, got {len(values)} values, "
            f"{len(spreads)} spreads; write '-' where the paper has none"
        )
    return tuple(
        _cell(paper, (table, part, column, row), value, spread, where)
        for column, value, spread in zip(columns, values, spreads, strict=True)
    )


def _cell(paper: str, levels: Sequence[Mapping[str, Any]], printed: str, spread: str, where: str) -> PublishedCell:
    """Return one cell.

    Args:
        paper: short name.
        levels: table, part, column and row; of a setting the later level decides.
        printed: its number.
        spread: the number printed behind it.
        where: place of the row, for errors.
    """
    table, part, column, row = levels
    where = f"{where}, column '{column['label']}'"
    settings = _settings(levels)
    task, backbone = settings.pop("task", ""), settings.pop("backbone", "")
    method, than, metric = row.get("method", ""), row.get("than", ""), column.get("metric", "")
    variant = row.get("variant", "")
    higher_is_better = _direction(task, column, where)
    why_not = _why_not(levels, printed)
    if not (task and method and metric) and not why_not:
        raise DataError(f"{where}: comparable without task, method or metric; name them, or say why_not")
    try:
        value, spread_value = number(printed), number(spread)
    except ValueError as error:
        raise DataError(
            f"{where}: expected a number and its spread, got '{printed}' and '{spread}'; "
            "write '-' where the paper has none"
        ) from error
    if value is None and not why_not:
        why_not = NO_NUMBER
    beside = settings.pop("beside", not why_not)
    return PublishedCell(
        paper=paper,
        table=table["name"],
        part=part.get("label", ""),
        row=row["label"],
        column=column["label"],
        printed=printed,
        value=value,
        task=task,
        method=method,
        metric=metric,
        than=than,
        variant=variant,
        released_decoding=row.get("released_decoding", ""),
        sampling_seeds=tuple(table.get("sampling_seeds", ())),
        backbone=backbone,
        spread=spread_value,
        spread_kind=settings.pop("spread", ""),
        higher_is_better=higher_is_better,
        why_not=why_not,
        beside=beside,
        **settings,
    )


def _settings(levels: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the settings of a cell but `why_not`, each from the last level that has it."""
    settings = {}
    for level in levels:
        for name in SETTINGS:
            if name in level and name != "why_not":
                settings[name] = level[name]
    return settings


def _why_not(levels: Sequence[Mapping[str, Any]], printed: str) -> str:
    """Return why a cell is not comparable: it is in doubt, or what the last level says; empty if it is comparable."""
    if printed.endswith("?"):
        return UNSURE
    reasons = [level["why_not"] for level in levels if level.get("why_not")]
    return reasons[-1] if reasons else ""


def _direction(task: str, column: Mapping[str, Any], where: str) -> bool | None:
    """Return whether the higher number of a column is better: of our metric, else as the file says."""
    metric = column.get("metric", "")
    if not metric or (task.startswith("human/") and metric.startswith("human/")):
        return column.get("higher_is_better")
    try:
        return _direction_of(metric)
    except KeyError as error:
        raise DataError(f"{where}: '{metric}' is no column of our metrics; bench list metrics shows them") from error


@cache
def _direction_of(metric: str) -> bool | None:
    return direction_of(metric, SIGNED)


def address_of(short: str, name: object) -> str:
    """Return the address of a table or table of samples, its name on the command line.

    >>> address_of("histalign", "Table 9")
    'histalign/table9'
    """
    return f"{short}/{str(name).lower().replace(' ', '')}"


def number(printed: str) -> float | None:
    """Return a number as tables print it, None for `-`, `N/A` and `?`.

    >>> number("8.48k"), number("3.8M"), number("9,706"), number("N/A"), number("0.93?")
    (8480.0, 3800000.0, 9706.0, None, 0.93)
    """
    text = printed.rstrip("?").replace(",", "")
    if text in ("", "-", "N/A"):
        return None
    exponent = {"k": 3, "m": 6}.get(text[-1].lower(), 0)
    return float(f"{text.rstrip('kKmM')}e{exponent}")


def _check(of: str, content: Mapping[str, Any], where: str) -> None:
    """Raise DataError for an unknown key of a `paper`, `table`, ... of a file."""
    if unknown := sorted(set(content) - KEYS[of]):
        raise DataError(f"{where}: unknown key {', '.join(unknown)}; expected some of {', '.join(sorted(KEYS[of]))}")
