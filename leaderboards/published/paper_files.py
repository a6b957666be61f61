"""Paper files: the tables of one paper as data (`papers/*.toml`), every key and name checked.

A file has `name`, `short`, `citation`, and `[[table]]`, `[[samples]]` and `[[inconsistency]]`. Of table, part, column
and row the later one decides a setting; `why_not` at any of them makes its cells not comparable. A row's `values` are
as printed, between white space: `-` for none, `?` for what the copy at hand does not show, `1.2?` for what it shows in
doubt.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.base.entries import all_names
from bench.errors import DataError, did_you_mean
from bench.metrics import METRICS
from bench.metrics.columns import direction_of
from bench.models import METHODS
from bench.models.backbones import BACKBONES
from bench.tasks import TASKS

SIGNED = tuple(pattern for metric in METRICS.values() for pattern in metric.columns)
"""Columns that our metrics make, and which way is better."""

SETTINGS = ("task", "split", "preset", "backbone", "decoding", "signature", "spread", "why_not", "beside")
NEEDED = {
    "paper": ("name", "short", "citation", "table"),
    "table": ("name", "title", "about", "columns"),
    "part": ("label", "rows"),
    "column": ("label",),
    "row": ("label", "values"),
    "samples": ("name", "title", "task", "methods", "backbone", "prompts"),
    "inconsistency": ("id", "where", "says", "printed", "computed"),
}
KEYS = {
    "paper": {"samples", "inconsistency"},
    "table": {"note", "rows", "part", *SETTINGS},
    "part": set(SETTINGS),
    "column": {"metric", "higher_is_better", *SETTINGS},
    "row": {"method", "than", "spreads", *SETTINGS},
    "samples": {"decoding", "modes"},
    "inconsistency": set[str](),
}
UNSURE = "the copy of the paper that was read is damaged here"


@dataclass(frozen=True)
class PublishedCell:
    """One number of a paper's table.

    Args:
        paper: short name; `table`, `part`, `row` and `column` are its place, as printed.
        task: ours, `human/` before it for ratings, empty where we have none; so for `method`, `backbone`, `metric`.
        than: the method a comparison is with.
        decoding: as our cells name it.
        signature: what is known of the metric's definition.
        printed: the number as printed; `value` is None where there is none.
        spread: as printed behind the number, `spread_kind` says what it is.
        why_not: why it is not comparable with ours, empty if it is.
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
    def comparable(self) -> bool:
        """Whether a number of ours can be put beside it."""
        return not self.why_not


@dataclass(frozen=True)
class PublishedTable:
    """One table of a paper, `cells` row by row in the paper's order."""

    address: str
    name: str
    title: str
    about: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[PublishedCell, ...], ...]


@dataclass(frozen=True)
class Paper:
    """A paper's tables, the plans of its tables of samples, and where it contradicts itself."""

    name: str
    short: str
    citation: str
    tables: tuple[PublishedTable, ...]
    samples: tuple[Mapping[str, Any], ...]
    inconsistencies: tuple[Mapping[str, Any], ...]


def read(text: str, file: str) -> Paper:
    """Read one paper's file.

    Raises:
        DataError: a key or name that is not known, a wrong number of values, or a cell that neither compares nor says
            why; the message names file, table and row.
    """
    data = tomllib.loads(text)
    _keys("paper", data, file)
    tables = tuple(_table(data["short"], table, f"{file}, {table.get('name')}") for table in data["table"])
    for plan in data.get("samples", ()):
        where = f"{file}, {plan.get('name')}"
        _keys("samples", plan, where)
        _known("task", plan["task"], TASKS, where)
        for method in plan["methods"]:
            _known("method", method, all_names(METHODS), where)
    for one in data.get("inconsistency", ()):
        _keys("inconsistency", one, f"{file}, inconsistency '{one.get('id')}'")
    return Paper(data["name"], data["short"], data["citation"], tables, tuple(data.get("samples", ())),
                 tuple(data.get("inconsistency", ())))  # fmt: skip


def _table(paper: str, table: Mapping[str, Any], where: str) -> PublishedTable:
    _keys("table", table, where)
    for column in table["columns"]:
        _keys("column", column, f"{where}, column '{column.get('label')}'")
    rows = []
    for part in table.get("part", [{"label": "", "rows": table.get("rows", ())}]):
        _keys("part", part, where)
        rows += [_row(paper, table, part, row, where) for row in part["rows"]]
    address = f"{paper}/{table['name'].lower().replace(' ', '')}"
    return PublishedTable(address, table["name"], table["title"], table["about"], table.get("note", ""),
                          tuple(column["label"] for column in table["columns"]), tuple(rows))  # fmt: skip


def _row(
    paper: str, table: Mapping[str, Any], part: Mapping[str, Any], row: Mapping[str, Any], where: str
) -> tuple[PublishedCell, ...]:
    where = f"{where}, row '{row.get('label')}'"
    _keys("row", row, where)
    values, columns = row["values"].split(), table["columns"]
    spreads = row["spreads"].split() if "spreads" in row else ["-"] * len(columns)
    if not len(values) == len(spreads) == len(columns):
        raise DataError(f"{where}: {len(columns)} columns, {len(values)} values, {len(spreads)} spreads")
    return tuple(_cell(paper, (table, part, column, row), value, spread, where)
                 for column, value, spread in zip(columns, values, spreads, strict=True))  # fmt: skip


def _cell(paper: str, levels: Sequence[Mapping[str, Any]], printed: str, spread: str, where: str) -> PublishedCell:
    """Return one cell: settings of the later level, the nearest reason why it is not comparable."""
    table, part, column, row = levels
    settings = {key: level[key] for level in levels for key in SETTINGS if key in level and key != "why_not"}
    reasons = [level["why_not"] for level in reversed(levels) if level.get("why_not")]
    reasons = [UNSURE, *reasons] if printed.endswith("?") else reasons
    where = f"{where}, column '{column['label']}'"
    task, method, metric = settings.get("task", ""), row.get("method", ""), column.get("metric", "")
    _known("task", task.removeprefix("human/"), ["", *TASKS], where)
    _known("backbone", settings.get("backbone", ""), ["", *BACKBONES], where)
    for name in (method, row.get("than", "")):
        _known("method", name, ["", *all_names(METHODS)], where)
    higher = column.get("higher_is_better")
    if metric and not (task.startswith("human/") and metric.startswith("human/")):
        try:
            higher = direction_of(metric, SIGNED)
        except KeyError as error:
            raise DataError(f"{where}: '{metric}' is no column of our metrics") from error
    if not (task and method and metric) and not reasons:
        raise DataError(f"{where}: comparable without task, method or metric; say why_not")
    try:
        value, near = number(printed), number(spread)
    except ValueError as error:
        raise DataError(f"{where}: '{printed}', '{spread}' is not a number and its spread") from error
    reasons = ["the paper prints no number here"] if value is None and not reasons else reasons
    settings["beside"] = settings.get("beside", not reasons)
    return PublishedCell(
        paper, table["name"], part.get("label", ""), row["label"], column["label"], printed, value,
        metric=metric, method=method, than=row.get("than", ""), spread=near, task=task,
        spread_kind=settings.pop("spread", ""), higher_is_better=higher,
        why_not=reasons[0] if reasons else "", **{k: v for k, v in settings.items() if k != "task"},
    )  # fmt: skip


def number(printed: str) -> float | None:
    """Return a number as tables print it, None for `-`, `N/A` and `?`.

    >>> number("8.48k"), number("3.8M"), number("9,706"), number("N/A"), number("0.93?")
    (8480.0, 3800000.0, 9706.0, None, 0.93)
    """
    text = printed.rstrip("?").replace(",", "")
    if text in ("", "-", "N/A"):
        return None
    scale = {"k": 3, "m": 6}.get(text[-1].lower(), 0)
    return float(f"{text.rstrip('kKmM')}e{scale}")


def _keys(of: str, given: Mapping[str, Any], where: str) -> None:
    for key in given:
        _known("key", key, {*NEEDED[of], *KEYS[of]}, where)
    if missing := [key for key in NEEDED[of] if key not in given]:
        raise DataError(f"{where}: missing {', '.join(missing)}")


def _known(kind: str, name: str, known: Iterable[str], where: str) -> None:
    if name not in known:
        raise DataError(f"{where}: unknown {kind} '{name}'{did_you_mean(name, known)}")
