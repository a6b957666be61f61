"""Paper files: the tables of one paper as data (`papers/*.toml`), every key and name checked.

A file has `name`, `short`, `citation`, and `[[table]]`, `[[samples]]`, `[[inconsistency]]`, `[[training]]` and, at its
end, `[search]`. A setting may stand at a table, part, column and row; the later of these decides. `why_not` at any of
them makes its cells not comparable. A row's `values` are as printed, between white space: `-` for none, `?` for what
cannot be read in the copy of the paper that was used, `1.2?` for what can hardly be read. A row's `method` is what made
the printed numbers; where paper and released code have different objectives, `variant` names the other one, whose
numbers stand beside ours, and where their decodings differ, `released_decoding` names that of the code. `level` and
`level_why`, at a table or its parts, say how near our own rows can come to it (`LEVELS`). `[[table.check]]` is what the
text says of it (`bench.leaderboards.published.checks`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from bench.base.entries import all_names
from bench.errors import DataError
from bench.leaderboards.published.checks import Check, checks
from bench.leaderboards.published.searches import (
    PublishedSearch,
    check_keys,
    check_methods,
    check_name,
    published_search,
)
from bench.leaderboards.published.training_times import TrainingTime, training_times
from bench.metrics import METRICS
from bench.metrics.columns import direction_of
from bench.models import METHODS
from bench.models.backbones import BACKBONES
from bench.tasks import TASKS

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
LEVEL = ("level", "level_why")
REQUIRED = {
    "paper": ("name", "short", "citation", "table"),
    "table": ("name", "title", "about", "columns"),
    "part": ("label", "rows"),
    "column": ("label",),
    "row": ("label", "values"),
    "samples": ("name", "title", "task", "methods", "backbone", "prompts"),
    "inconsistency": ("id", "where", "says", "printed", "computed"),
}
"""Keys that must be there."""
OPTIONAL = {
    "paper": {"samples", "inconsistency", "training", "search"},
    "table": {"note", "rows", "part", "check", "sampling_seeds", *LEVEL, *SETTINGS},
    "part": {*LEVEL, *SETTINGS},
    "column": {"metric", "higher_is_better", *SETTINGS},
    "row": {"method", "variant", "released_decoding", "than", "spreads", *SETTINGS},
    "samples": {"decoding", "modes"},
    "inconsistency": {"counted"},
}
"""Keys that may be there."""
UNSURE = "the copy of the paper that was read is damaged here"
NO_NUMBER = "the paper prints no number here"


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
        DataError: a key or name that is not known, a wrong number of values, or a cell that neither compares nor says
            why; the message names file, table and row.
    """
    data = tomllib.loads(text)
    _check("paper", data, file)
    tables = tuple(_table(data["short"], table, f"{file}, {table.get('name')}") for table in data["table"])
    samples, inconsistencies = tuple(data.get("samples", ())), tuple(data.get("inconsistency", ()))
    for plan in samples:
        where = f"{file}, {plan.get('name')}"
        _check("samples", plan, where)
        check_name("task", plan["task"], TASKS, where)
        check_methods(plan["methods"], where)
    for inconsistency in inconsistencies:
        _check("inconsistency", inconsistency, f"{file}, inconsistency '{inconsistency.get('id')}'")
    training = training_times(data["name"], data.get("training", ()), file)
    search = published_search(data["name"], data.get("search"), file)
    return Paper(data["name"], data["short"], data["citation"], tables, samples, inconsistencies, training, search)


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
        checks=tuple(checks(table.get("check", ()), [(row[0].row, row[0].backbone) for row in rows], columns, where)),
    )


def _levels(table: Mapping[str, Any], where: str) -> Iterable[Level]:
    """Yield the levels that a table, or its parts, have.

    Raises:
        DataError: a level that there is not, or one without a reason.
    """
    for place in (table, *table.get("part", ())):
        if "level" not in place and "level_why" not in place:
            continue
        check_name("level", place.get("level", ""), LEVELS, where)
        if not place.get("level_why"):
            raise DataError(f"{where}: 'level' needs 'level_why', a sentence on what it takes or what is in the way")
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
    check_name("task", task.removeprefix("human/"), ["", *TASKS], where)
    check_name("backbone", backbone, ["", *BACKBONES], where)
    for name in (method, than, variant):
        check_name("method", name, ["", *all_names(METHODS)], where)
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
    """Raise DataError for a key that is unknown or missing in a `paper`, `table`, ... of a file."""
    check_keys(content, REQUIRED[of], OPTIONAL[of], where)
