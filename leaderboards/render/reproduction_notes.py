"""What stands under a paper's table: every note in full, or folded for a terminal.

A reason has a letter and a departure a number, which the table shows. Folded, what rows share is said once with the
rows it is about, departures by their names, and checks are counted. At the preset `small`, whose sizes are all others,
a departure is said in full where it is of the objective or the decoding, and else named.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.base.departure import Departure
from bench.leaderboards.published.order import Order
from bench.leaderboards.published.reproduction import (
    FAILS,
    NOT_COMPARABLE,
    NOT_RUN,
    OFF,
    WITHIN,
    Checked,
    Reproduction,
)
from bench.leaderboards.render.grid import number

__all__ = ["SHORT", "folded", "in_full", "letters", "numbers", "spans", "spread_text"]

SHORT = {WITHIN: "within", OFF: "OFF", NOT_RUN: "not run", NOT_COMPARABLE: "n.c."}
IN_SMALL = ("method", "decode")
"""Sections of the settings whose departures are said in full at the preset `small`."""
MORE = "in full: --notes"


def in_full(reproduction: Reproduction) -> list[str]:
    """Return every note: counts, order of methods, reasons, checks, departures, and what is of the whole table."""
    texts = [counts(reproduction)]
    for block, orders in blocks(reproduction.orders).items():
        columns = [f"{order.column} {_agreeing(order)}" for order in orders]
        texts.append(f"pairs of rows in the paper's order{block} (tau-b): {', '.join(columns)}")
    texts += reasons(reproduction)
    texts += [check_text(each) for each in reproduction.checks]
    return texts + said_of(reproduction) + list(reproduction.notes)


def folded(reproduction: Reproduction) -> list[str]:
    """Return the notes in a few lines: what rows share once, with the rows it is about; a failed check in full."""
    texts = [f"{'; '.join([counts(reproduction), *counted_checks(reproduction.checks)])}; {MORE}"]
    for block, orders in blocks(reproduction.orders).items():
        texts.append(f"pairs of rows in the paper's order{block}: {by_agreement(orders)}")
    texts += reasons(reproduction)
    texts += [check_text(each) for each in reproduction.checks if each.verdict == FAILS]
    return texts + departing_rows(reproduction) + list(reproduction.gist)


# Counts, reasons, order -------------------------------------------------------------------------------------------


def counts(reproduction: Reproduction) -> str:
    """Return how many cells have each verdict."""
    named = {verdict: verdict for verdict in SHORT} | {NOT_COMPARABLE: f"{NOT_COMPARABLE} ({SHORT[NOT_COMPARABLE]})"}
    return ", ".join(f"{n} {named[verdict]}" for verdict, n in reproduction.count().items() if n)


def letters(reproduction: Reproduction) -> dict[str, str]:
    """Return a letter for every reason, in the order they are met."""
    found: dict[str, None] = {}
    for row in reproduction.rows:
        found |= dict.fromkeys(cell.reason for cell in row if cell.reason)
    return {reason: _letter(place) for place, reason in enumerate(found)}


def _letter(place: int) -> str:
    return chr(ord("a") + place % 26) * (1 + place // 26)


def reasons(reproduction: Reproduction) -> list[str]:
    """Return every reason behind its letter."""
    return [f"{letter}: {reason}" for reason, letter in letters(reproduction).items()]


def blocks(orders: Iterable[Order]) -> dict[str, list[Order]]:
    """Return orders by the block of rows they are of, as a text to go on with; nothing for the whole table."""
    found: dict[str, list[Order]] = {}
    for order in orders:
        found.setdefault(f", {order.block}" if order.block else "", []).append(order)
    return found


def _agreeing(order: Order) -> str:
    tau = "all equal"
    if order.tau is not None:
        tau = f"{order.tau:+.2f}"
    return f"{order.agreeing}/{order.pairs} ({tau})"


def by_agreement(orders: Iterable[Order]) -> str:
    """Return how many pairs agree, with the columns in which so many do."""
    columns: dict[str, list[str]] = {}
    for order in orders:
        columns.setdefault(f"{order.agreeing}/{order.pairs}", []).append(order.column)
    return "; ".join(f"{pairs} in {', '.join(names)}" for pairs, names in columns.items())


# Checks -----------------------------------------------------------------------------------------------------------


def check_text(checked: Checked) -> str:
    """Return a sentence of the paper with ours."""
    check, numbers_of = checked.check, []
    if checked.printed is not None:
        numbers_of.append(f"printed {checked.printed:g}")
    if checked.ours is not None:
        numbers_of.append(f"ours {number(checked.ours.mean)}{spread_text(checked.ours.half, '.2f')}")
    verdict = ": ".join(filter(None, [checked.verdict, checked.reason]))
    return f'check, {check.where}, "{check.quote}": {", ".join([check.name, *numbers_of])}: {verdict}'


def counted_checks(checks: Sequence[Checked]) -> list[str]:
    """Return how many sentences of the paper have each verdict; nothing where there are none."""
    if not checks:
        return []
    verdicts = [each.verdict for each in checks]
    found = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
    return [f"checks: {found}"]


def spread_text(half: float | None, form: str) -> str:
    """Return a spread or half an interval behind its number; nothing where there is none."""
    if half is None:
        return ""
    return f" ±{half:{form}}"


# Departures -------------------------------------------------------------------------------------------------------


def numbers(reproduction: Reproduction) -> dict[Departure, int]:
    """Return a number for each departure that is said in full, in the order they are met."""
    said = [departure for departure in every(reproduction) if is_said(departure, reproduction.preset)]
    return {departure: number for number, departure in enumerate(said, 1)}


def every(reproduction: Reproduction) -> list[Departure]:
    """Return the departures of all rows and of what stands beside them, each once."""
    found: dict[Departure, None] = {}
    for departures, variant in zip(reproduction.departures, reproduction.beside, strict=True):
        found |= dict.fromkeys(departures)
        if variant is not None:
            found |= dict.fromkeys(variant.departures)
    return list(found)


def is_said(departure: Departure, preset: str) -> bool:
    """Return whether a departure is said in full: at the preset `small`, only what is no size."""
    return preset != "small" or departure.section.rpartition(":")[2] in IN_SMALL


def said_of(reproduction: Reproduction) -> list[str]:
    """Return the departures under their numbers, and the names of those that are not said in full."""
    number_of = numbers(reproduction)
    texts = [f"departs {number}: {departure.text}" for departure, number in number_of.items()]
    others = [departure.setting for departure in every(reproduction) if departure not in number_of]
    if others:
        texts.append(f"departs in the rest of its recipe, too: {', '.join(dict.fromkeys(others))}")
    return texts


def spans(found: Sequence[int]) -> str:
    """Return whole numbers, those that follow each other as a span.

    >>> spans([1, 2, 3, 5, 8, 9])
    '1-3, 5, 8-9'
    """
    runs: list[tuple[int, int]] = []
    for each in sorted(set(found)):
        if runs and each == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], each)
        else:
            runs.append((each, each))
    return ", ".join("-".join(map(str, dict.fromkeys(run))) for run in runs)


@dataclass(frozen=True)
class DepartingRow:
    """A row of ours, or the variant beside one, with what it has otherwise.

    Args:
        name: its label.
        where: its part, and its backbone where rows of the part have several: they tell it from others of its name.
        departures: as in `Reproduction`.
    """

    name: str
    where: str
    departures: tuple[Departure, ...]


def departing_rows(reproduction: Reproduction) -> list[str]:
    """Return a line for each set of rows that share departures, those of every row first: names, and numbers if any."""
    if not reproduction.departures:
        return []
    number_of, rows = numbers(reproduction), rows_of_ours(reproduction)
    places_of: dict[tuple[int, str], dict[int, None]] = {}
    for place, row in enumerate(rows):
        for departure in row.departures:
            places_of.setdefault((number_of.get(departure, 0), departure.setting), {})[place] = None
    shared: dict[tuple[int, ...], list[tuple[int, str]]] = {}
    for what, places in places_of.items():
        shared.setdefault(tuple(places), []).append(what)
    texts = []
    for among in sorted(shared, key=lambda among: len(among) < len(rows)):
        found = [number for number, _ in shared[among] if number]
        departs = " ".join(filter(None, ["departs", spans(found)]))
        texts.append(f"{departs}, {named(among, rows)}: {by_section(setting for _, setting in shared[among])}")
    return texts


def rows_of_ours(reproduction: Reproduction) -> list[DepartingRow]:
    """Return the rows that a cell of ours stands behind, and the variants beside them."""
    backbones: dict[str, set[str]] = {}
    for row in reproduction.rows:
        backbones.setdefault(row[0].cell.part, set()).add(row[0].cell.backbone)
    found: list[DepartingRow] = []
    for row, departures, variant in zip(reproduction.rows, reproduction.departures, reproduction.beside, strict=True):
        cell = row[0].cell
        where = cell.part
        if len(backbones[cell.part] - {""}) > 1:
            where = ", ".join(filter(None, (cell.part, cell.backbone)))
        if cell.method and not cell.than:
            found.append(DepartingRow(cell.row, where, departures))
        if variant is not None:
            found.append(DepartingRow(variant.method, where, variant.departures))
    return found


def named(among: Sequence[int], rows: Sequence[DepartingRow]) -> str:
    """Return what some of the rows are called: those of a whole part, then those of a name, then single ones."""
    if len(among) == len(rows):
        return "every row"
    left = [rows[place] for place in among]
    texts = []
    for where in dict.fromkeys(row.where for row in left):
        of_part = [row for row in left if row.where == where]
        if len(of_part) == sum(row.where == where for row in rows) > 1:
            texts.append(f"every row of {where}")
            left = [row for row in left if row.where != where]
    for name in dict.fromkeys(row.name for row in left):
        wheres = [row.where for row in left if row.name == name]
        if len(wheres) == sum(row.name == name for row in rows):
            texts.append(name)
        else:
            texts.append(f"{name} of {' and '.join(wheres)}")
    return ", ".join(texts)


def by_section(settings: Iterable[str]) -> str:
    """Return names of settings, those of one section in brackets behind it.

    >>> by_section(["trainer.lr", "backbone", "trainer.length", "data.test"])
    'trainer (lr, length), backbone, data.test'
    """
    names: dict[str, dict[str, None]] = {}
    for setting in settings:
        section, _, name = setting.rpartition(".")
        names.setdefault(section, {})[name] = None
    texts = []
    for section, found in names.items():
        if not section:  # each is called as a section: `backbone`
            texts += list(found)
        elif len(found) == 1:
            texts.append(f"{section}.{next(iter(found))}")
        else:
            texts.append(f"{section} ({', '.join(found)})")
    return ", ".join(texts)
