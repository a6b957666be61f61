"""Logical forms over tables: programs such as `eq{count{filter_eq{all_rows; region; aldra}}; 2}`, read and run.

The functions are those of LogicNLG's programs (Chen et al. 2020, ACL, section 6); one name serves numbers and texts,
and what it is given decides: cells are ordered and compared as numbers where all of them are, else as text. A text is
found in a cell that has all its words, in any order and as parts of words too. Looser than the authors' code in three
places, so that more programs have a value: "658,531" is a number, numbers may differ in the ninth digit, and names of
columns are found whatever the case.
"""

from __future__ import annotations

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["FUNCTIONS", "Program", "ProgramError", "TableRows", "execute", "number_of", "parse"]

Value = Any  # TableRows, a number, a text or a truth value
KINDS = {"r": "rows", "v": "a value"}
"""Of arguments, by their letter in `FUNCTIONS`."""


class ProgramError(Exception):
    """A program cannot be read, or has no value on this table."""


@dataclass(frozen=True)
class Program:
    """A function and its arguments, programs or texts."""

    function: str
    arguments: tuple[Program | str, ...]

    def __str__(self) -> str:
        """Return the form that `parse` reads."""
        return f"{self.function}{{{'; '.join(map(str, self.arguments))}}}"


@dataclass(frozen=True)
class TableRows:
    """Some rows of a table, by position, in the order of the table."""

    header: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    chosen: tuple[int, ...]

    def column(self, name: str) -> list[str]:
        """Return the cells of a column; raise ProgramError where there is no such column."""
        wanted = name.strip().lower()
        for at, known in enumerate(self.header):
            if known.strip().lower() == wanted:
                return [self.cells[i][at] for i in self.chosen]
        raise ProgramError(f"no column '{name}'; there are: {', '.join(self.header)}")

    def where(self, kept: Sequence[bool]) -> TableRows:
        """Return the rows for which `kept` is true."""
        return TableRows(self.header, self.cells, tuple(i for i, keep in zip(self.chosen, kept, strict=True) if keep))


def parse(text: str) -> Program:
    """Read a program; a result at its end (`=True`, `=False`) is left out.

    Raises:
        ProgramError: braces do not match, or it is no call.

    >>> str(parse("eq{count{filter_eq{all_rows; region; aldra}}; 2}=True"))
    'eq{count{filter_eq{all_rows; region; aldra}}; 2}'
    """
    text = re.sub(r"=(True|False)\s*$", "", text.strip())
    program = _argument(text)
    if isinstance(program, str):
        raise ProgramError(f"expected function{{...}}, got '{text[:60]}'")
    return program


def _argument(text: str) -> Program | str:
    """Read a call, or a text that is none."""
    text = text.strip()
    call = re.match(r"([a-z_]+)\s*\{", text)
    if call is None or not text.endswith("}"):
        if text.count("{") != text.count("}"):
            raise ProgramError(f"braces do not match in '{text[:60]}'")
        return text
    return Program(call[1], tuple(_argument(part) for part in _split(text[call.end() : -1])))


def _split(text: str) -> list[str]:
    """Split arguments at semicolons that are outside of braces."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        if depth < 0:
            raise ProgramError(f"braces do not match in '{text[:60]}'")
        if letter == ";" and not depth:
            parts.append(text[start:at])
            start = at + 1
    if depth:
        raise ProgramError(f"braces do not match in '{text[:60]}'")
    return [*parts, text[start:]]


def execute(program: Program | str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Value:
    """Run a program on a table and return its value: a truth value for a whole statement.

    Args:
        program: read, or as text.
        header: names of the columns.
        rows: cells, text.

    Raises:
        ProgramError: it cannot be read, or has no value: an unknown function or column, the first of no rows, the sum
            of texts.

    >>> table = ["region", "year"], [["aldra", "2001"], ["sorn", "2004"]]
    >>> execute("greater{hop{argmax{all_rows; year}; year}; 2001}", *table), execute("avg{all_rows; year}", *table)
    (True, 2002.5)
    """
    for row in rows:
        if len(row) != len(header):
            raise ProgramError(f"expected rows of {len(header)} cells, got one of {len(row)}")
    cells = tuple(map(tuple, rows))
    everything = TableRows(tuple(header), cells, tuple(range(len(cells))))
    try:
        if isinstance(program, str):
            program = parse(program)
        return _run(program, everything)
    except RecursionError as error:
        raise ProgramError("the program is nested too deeply") from error


def _run(program: Program | str, everything: TableRows) -> Value:
    if isinstance(program, str):
        if program == "all_rows":
            return everything
        return program
    name = program.function
    if name not in FUNCTIONS:
        raise ProgramError(f"no function '{name}'")
    wanted, function = FUNCTIONS[name]
    values = [_run(argument, everything) for argument in program.arguments]
    if name in ORDINALS and len(values) == 1:  # of all rows, as the authors print it
        values = [everything, *values]
    if wanted != "*" and len(values) != len(wanted):
        raise ProgramError(f"{name} takes {len(wanted)} arguments, got {len(values)}")
    for value, kind in zip(values, wanted, strict=False):
        if (kind == "r") != isinstance(value, TableRows) and kind != "*":
            raise ProgramError(f"{name} takes {KINDS[kind]}, got {value!r}"[:120])
    result = function(*values)
    if result is None:
        raise ProgramError(f"{name} has no value here")
    return result


# Numbers and texts ------------------------------------------------------------------------------------------------


def number_of(value: Value) -> float | None:
    """Return a number, or None for what is none.

    >>> number_of("658,531"), number_of(" -7.5"), number_of("7 th"), number_of(True)
    (658531.0, -7.5, None, None)
    """
    if isinstance(value, (bool, TableRows)):
        return None
    if isinstance(value, (int, float)):
        return float(value)
    text = str(value).strip()
    if re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", text):
        text = text.replace(",", "")
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)", text):
        return None
    return float(text)


def _number(value: Value) -> float:
    number = number_of(value)
    if number is None:
        raise ProgramError(f"expected a number, got '{value}'"[:120])
    return number


def _numbers(rows: TableRows, column: str) -> list[float]:
    """Return the numbers of a column; raise ProgramError where a cell of these rows is none."""
    return [_number(cell) for cell in rows.column(column)]


def _ordered(values: Sequence[Value]) -> list[Any]:
    """Return values in a form that can be ordered: as numbers where all are, else as text."""
    numbers = [number_of(value) for value in values]
    if None in numbers:
        return [_text(value) for value in values]
    return numbers


def _text(value: Value) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _same_number(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-9)


def _equal(first: Value, second: Value) -> bool:
    """Numbers are equal as numbers; of two texts one must be in the other."""
    numbers = number_of(first), number_of(second)
    if numbers[0] is not None and numbers[1] is not None:
        return _same_number(numbers[0], numbers[1])
    first, second = _text(first), _text(second)
    return first in second or second in first


def _has(cell: str, value: Value) -> bool:
    """Return whether a cell has a value: the same number, or every word of a text."""
    numbers = number_of(cell), number_of(value)
    if numbers[0] is not None and numbers[1] is not None:
        return _same_number(numbers[0], numbers[1])
    return all(word in cell for word in _text(value).split())


# Functions --------------------------------------------------------------------------------------------------------


def _matches(rows: TableRows, column: str, value: Value) -> list[bool]:
    return [_has(cell, value) for cell in rows.column(column)]


def _compared(holds: Callable[[Any, Any], bool]) -> Callable[[TableRows, str, Value], list[bool]]:
    """Return which rows have a cell in a column for which a comparison holds."""

    def kept(rows: TableRows, column: str, value: Value) -> list[bool]:
        *cells, limit = _ordered([*rows.column(column), value])
        return [holds(cell, limit) for cell in cells]

    return kept


Kept = Callable[[TableRows, str, Value], list[bool]]
COMPARISONS: Mapping[str, Kept] = {
    "eq": _matches,
    "not_eq": lambda rows, column, value: [not matches for matches in _matches(rows, column, value)],
    "less": _compared(operator.lt),
    "greater": _compared(operator.gt),
    "less_eq": _compared(operator.le),
    "greater_eq": _compared(operator.ge),
}


def _filter(kept: Kept) -> Callable[[TableRows, str, Value], TableRows]:
    return lambda rows, column, value: rows.where(kept(rows, column, value))


def _all(kept: Kept) -> Callable[[TableRows, str, Value], bool]:
    return lambda rows, column, value: all(kept(rows, column, value))


def _argument_of(choose: Callable[[list[Any]], Any]) -> Callable[[TableRows, str], TableRows]:
    """Return a function to the rows whose cell in a column is the largest, or smallest."""

    def rows_of(rows: TableRows, column: str) -> TableRows:
        cells = _some(_ordered(rows.column(column)))
        best = choose(cells)
        return rows.where([cell == best for cell in cells])

    return rows_of


def _extreme(choose: Callable[[list[Any]], Any]) -> Callable[[TableRows, str], Value]:
    return lambda rows, column: choose(_some(_ordered(rows.column(column))))


def _some(values: list[Any]) -> list[Any]:
    if not values:
        raise ProgramError("there is no row")
    return values


def _two(holds: Callable[[Any, Any], bool]) -> Callable[[Value, Value], bool]:
    return lambda first, second: holds(*_ordered([first, second]))


def _hop(rows: TableRows, column: str) -> str:
    cells = rows.column(column)
    if not cells:
        raise ProgramError("there is no row")
    return cells[0]


def _most_frequent(rows: TableRows, column: str) -> str | None:
    """Return the most frequent cell, the first of equals; None where none is repeated."""
    ((cell, count),) = Counter(rows.column(column)).most_common(1) or (("", 0),)
    if count <= 1:
        return None
    return cell


def _place(among: TableRows, sought: TableRows) -> int | None:
    """Return the place of the first of some rows among others; the longer list is the one looked in."""
    if len(among.chosen) == 1:
        among, sought = sought, among
    if not sought.chosen:
        return None
    cells = sought.cells[sought.chosen[0]]
    return next((place for place, row in enumerate(among.chosen) if among.cells[row] == cells), None)


def _nth(n: int) -> Callable[[TableRows, TableRows], bool | None]:
    """Return whether a row is the n-th of some, from the end where n is negative; None where it is not among them."""

    def is_there(among: TableRows, sought: TableRows) -> bool | None:
        place, wanted = _place(among, sought), n
        if place is None:
            return None
        if n < 0:
            wanted += max(len(among.chosen), len(sought.chosen))
        return place == wanted

    return is_there


def _order(holds: Callable[[int, int], bool]) -> Callable[[TableRows, TableRows], bool | None]:
    """Compare the places of two rows in their table."""

    def compared(first: TableRows, second: TableRows) -> bool | None:
        if not first.chosen or not second.chosen:
            return None
        return holds(first.chosen[0], second.chosen[0])

    return compared


def _none(value: Value) -> bool:
    text = _text(value)
    return any(word in text for word in ("none", "n / a", "no information")) or text in ("-", "no")


def _both(first: Value, second: Value) -> bool:
    if not (isinstance(first, bool) and isinstance(second, bool)):
        raise ProgramError("and takes two truth values")
    return first and second


# Per function what it takes (r: rows, v: a value or the name of a column, *: anything) and what it does.
ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
FUNCTIONS: Mapping[str, tuple[str, Callable[..., Value]]] = {
    "count": ("r", lambda rows: float(len(rows.chosen))),
    "only": ("r", lambda rows: len(rows.chosen) == 1),
    "several": ("r", lambda rows: len(rows.chosen) > 1),
    "exist": ("*", lambda *several: True),
    "none": ("v", _none),
    "zero": ("v", lambda value: _number(value) == 0),
    "top": ("r", lambda rows: TableRows(rows.header, rows.cells, rows.chosen[:1])),
    "bottom": ("r", lambda rows: TableRows(rows.header, rows.cells, rows.chosen[-1:])),
    "half": ("r", lambda rows: float(len(rows.chosen) // 2)),
    "one_third": ("r", lambda rows: float(len(rows.chosen) // 3)),
    "before": ("rr", _order(operator.lt)),
    "after": ("rr", _order(operator.gt)),
    "uniq": ("rv", lambda rows, column: float(len(set(rows.column(column))))),
    "sum": ("rv", lambda rows, column: math.fsum(_numbers(rows, column))),
    "avg": ("rv", lambda rows, column: math.fsum(_some(_numbers(rows, column))) / len(rows.chosen)),
    "mean": ("rv", lambda rows, column: math.fsum(_some(_numbers(rows, column))) / len(rows.chosen)),
    "max": ("rv", _extreme(max)),
    "min": ("rv", _extreme(min)),
    "argmax": ("rv", _argument_of(max)),
    "argmin": ("rv", _argument_of(min)),
    "hop": ("rv", _hop),
    "most_freq": ("rv", _most_frequent),
    "diff": ("vv", lambda first, second: _number(first) - _number(second)),
    "add": ("vv", lambda first, second: _number(first) + _number(second)),
    "greater": ("vv", _two(operator.gt)),
    "less": ("vv", _two(operator.lt)),
    "eq": ("vv", _equal),
    "not_eq": ("vv", lambda first, second: not _equal(first, second)),
    "and": ("vv", _both),
    **{name: ("rr", _nth(n)) for name, n in ORDINALS.items()},
    **{f"filter_{name}": ("rvv", _filter(kept)) for name, kept in COMPARISONS.items()},
    **{f"all_{name}": ("rvv", _all(kept)) for name, kept in COMPARISONS.items()},
}
