"""Tables: reading, numerical pre-computation and linearisation.

The pre-computation follows the description of PLOG (Liu et al. 2022), which HistAlign uses for LogicNLG: a cell's rank
in its column seen from the top and from the bottom, and each column's sum and average, written with the cells.
"""

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Literal, NamedTuple

from bench.errors import DataError, UsageError

Style = Literal["plog", "compact"]
_NAMES = ("table", "caption", "cell", "col_header", "row_idx", "max_rank", "min_rank", "sum_cell", "avg_cell")
MARKERS: tuple[str, ...] = tuple(f"<{slash}{name}>" for name in _NAMES for slash in ("", "/"))
"""What `plog` writes around the parts of a table."""

_LONGEST_NUMBER = 100  # characters searched for a number: any more would be no number, and float() must stay finite

_DIGITS = r"\d++(?:[.,:]\d++)*+(?:(?=st\b|nd\b|rd\b|th\b)|\b)"  # possessive: one pass over a hostile cell
_NUMBER = re.compile(rf"((?:(?<!\S)[-+] ?)?{_DIGITS})")
_AFTER_EQUALS = re.compile(rf"= ?({_DIGITS})")
_MONTHS = "january february march april may june july august september october november december"
_MONTH_NUMBER = {name: i for i, month in enumerate(_MONTHS.split(), 1) for name in (month, month[:3])} | {"sept": 9}
_MONTH = re.compile(rf"\b({'|'.join(_MONTH_NUMBER)})\b")
_YEAR = re.compile(r"\b(\d{4})\b")
_DAY = re.compile(r"\b(\d{1,2})\b")
_NO_YEAR = 2260  # what the released preparation fills in: a date without a year sorts after all others


@dataclass(frozen=True, slots=True)
class Table:
    """Column names and rows of cells, all text; every row is as long as the header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Linearised(NamedTuple):
    """A table as text, and the number of its linked cells that are missing, and 1 more where the title is cut."""

    text: str
    n_dropped: int


class ColumnFacts(NamedTuple):
    """What is computed of one column beforehand; None where the column has no ranks or no numbers.

    Args:
        max_ranks: per row, 1 for the largest value; equal values share the larger rank.
        min_ranks: per row, -1 for the smallest value, below that -2, -3, ...; equal values share the rank nearest -1.
        total: the sum over the cells that have a number.
        average: their mean.
    """

    max_ranks: tuple[int, ...] | None
    min_ranks: tuple[int, ...] | None
    total: float | None
    average: float | None


def read_table(text: str, name: str) -> Table:
    r"""Read a table in LogicNLG's form: lines of cells separated by `#`, the first with the columns' names.

    Cells are lower-cased and stripped, as they are in the published files. There is no quoting. A byte-order mark, CRLF
    line ends and empty lines at the end are taken off; a column may have an empty name (79 published tables do) and two
    columns may have the same (3 do).

    Args:
        text: the file's content.
        name: what error messages call the table.

    Raises:
        DataError: for an empty file, a header without a name, no rows, a row with more or fewer cells than the header,
            or a character that no text has (NUL, half of a surrogate pair).

    >>> read_table("City#Area\r\nOsterby#12.5\r\n", "cities.csv")
    Table(header=('city', 'area'), rows=(('osterby', '12.5'),))
    """
    if match := re.search("[\0\ud800-\udfff]", text):
        raise DataError(f"table '{name}': has the character {match[0]!r}, which is no text; export it again")
    lines = text.removeprefix("\ufeff").rstrip("\r\n").lower().split("\n")
    header, *rows = [tuple(map(str.strip, line.split("#"))) for line in lines]
    if not any(header):
        raise DataError(f"table '{name}', line 1: expected the columns' names separated by '#', found none")
    if not rows:
        raise DataError(f"table '{name}': has no rows below the header; expected at least one, lines end with \\n")
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise DataError(
                f"table '{name}', line {number}: expected {len(header)} cells separated by '#', as in the header, "
                f"found {len(row)}; correct the line"
            )
    return Table(header, tuple(rows))


def column_facts(cells: Sequence[str]) -> ColumnFacts:
    """Compute ranks, sum and average of a column.

    Numbers may look like 10, 1.12, 1,000,000, 10:00, 1st or -3; "66 + 70 = 136" is 136 when the column has such cells.
    Dates with a month's name are ranked by date. A column in which some cell has no number is not ranked. Sum and
    average are over the cells that have a number, in a date column too: that is what the released preparation does.

    >>> column_facts(["4", "7", "7", "1,000"])
    ColumnFacts(max_ranks=(4, 3, 3, 1), min_ranks=(-1, -2, -2, -4), total=1018.0, average=254.5)
    >>> column_facts(["may 6 , 1988", "december 1987"]).max_ranks
    (1, 2)
    >>> column_facts(["3", "unknown"])
    ColumnFacts(max_ranks=None, min_ranks=None, total=3.0, average=3.0)
    """
    heads = [cell[:_LONGEST_NUMBER] for cell in cells]
    numbers = _numbers(heads)
    known = [number for number in numbers if number is not None]
    total = average = None
    if known:
        total = math.fsum(known)
        average = total / len(known)
    keys: Sequence[float] = _dates(heads)
    if not keys and len(known) == len(numbers):
        keys = known
    if not keys:
        return ColumnFacts(None, None, total, average)
    ordered = sorted(keys)
    ranks = [bisect_left(ordered, key) + 1 for key in keys]  # equal values share the smallest rank
    top = len(keys) + 1
    return ColumnFacts(tuple(top - rank for rank in ranks), tuple(-rank for rank in ranks), total, average)


def _numbers(cells: Sequence[str]) -> list[float | None]:
    texts = [_digits(_AFTER_EQUALS, cell) for cell in cells]
    if not any(texts):
        texts = [_digits(_NUMBER, cell) for cell in cells]
    if any(text.count(".") > 1 for text in texts):  # 1.000.000: the dots separate, in the whole column
        texts = [text.replace(".", "") for text in texts]
    return [float(text) if text else None for text in texts]


@lru_cache(1 << 14)
def _digits(pattern: re.Pattern[str], cell: str) -> str:
    """Return the number that a pattern finds in a cell, without what separates its digits; nothing for none."""
    match = pattern.search(cell)
    return re.sub("[,: ]", "", match[1]) if match else ""


def _dates(cells: Sequence[str]) -> list[int]:
    """Return one number per date, or none at all unless the column is one of dates."""
    if not _MONTH.search("\n".join(cells)):
        return []
    days = [day for day in map(_day_number, cells) if day is not None]
    return days if len(days) == len(cells) else []


@lru_cache(1 << 14)
def _day_number(cell: str) -> int | None:
    """Return a number that sorts dates; None for a cell that is no date."""
    month, year, day = _MONTH.search(cell), _YEAR.search(cell), _DAY.search(cell)
    if not (month or year or day):
        return None
    try:
        return date(
            int(year[1]) if year else _NO_YEAR, _MONTH_NUMBER[month[1]] if month else 1, int(day[1]) if day else 1
        ).toordinal()
    except ValueError:  # the 31st of February: not a column of dates, its numbers are ranked instead
        return None


def linearise(
    table: Table,
    title: str,
    columns: Sequence[int] | None = None,
    *,
    style: Style = "plog",
    cost: Callable[[str], int] | None = None,
    budget: int | None = None,
) -> Linearised:
    """Write the linked columns of a table as text that fits the budget.

    What does not fit is left out by rule: the title comes first, then aggregates while they take no more than half of
    the room, then rows from the top; the first cell that does not fit ends it. Cells are kept or left out whole, in
    the table's order.

    Args:
        table: the table.
        title: its caption.
        columns: indices of the linked columns in the order they are written; None or empty means all.
        style: `plog` puts markers around everything (see `MARKERS`), writes ranks, sums and averages, and capitalises
            the words of cells; `compact` is short: `title : name is cell ; name is cell | name is cell ; ...`, one part
            per row.
        cost: number of tokens of a text, at least 1 for text that is not empty; None for no budget.
        budget: most tokens of the result; None writes everything.

    Raises:
        UsageError: when the budget does not even hold an empty table.

    >>> cities = Table(("city", "area"), (("osterby", "12"), ("new vale", "30")))
    >>> linearise(cities, "cities", style="compact").text
    'cities : city is osterby ; area is 12 | city is new vale ; area is 30'
    >>> linearise(cities, "cities", style="compact", cost=lambda text: len(text.split()), budget=10)
    Linearised(text='cities : city is osterby ; area is 12', n_dropped=2)
    """
    linked = tuple(columns or range(len(table.header)))
    names = tuple(_clean(table.header[column]) or f"column {column + 1}" for column in linked)
    facts = [column_facts([row[column] for row in table.rows]) for column in linked] if style == "plog" else []
    page = _Page(table, title, linked, names, style, facts)
    if budget is None or cost is None:
        return page.whole()
    if len(linked) * len(table.rows) <= budget:  # a cell costs a token or more: with more cells it cannot all fit
        whole = page.whole()
        if cost(whole.text) <= budget:
            return whole
    return _fit(page, cost, budget)


class _Piece(NamedTuple):
    row: int  # -1 for aggregates
    place: int  # index into the linked columns
    text: str


@dataclass(slots=True)
class _Page:
    """One table being written; the facts of its linked columns are empty for `compact`, which does not write them."""

    table: Table
    title: str
    linked: tuple[int, ...]
    names: tuple[str, ...]
    style: Style
    facts: Sequence[ColumnFacts]

    def aggregates(self) -> Iterator[_Piece]:
        """Yield sum and average of each linked column that has numbers."""
        for place, facts in enumerate(self.facts):
            if facts.total is not None and facts.average is not None:
                head = f"<col_header> {self.names[place]} </col_header>"
                total, average = _rounded(facts.total), _rounded(facts.average)
                text = f"<sum_cell> {total} {head} </sum_cell> <avg_cell> {average} {head} </avg_cell>"
                yield _Piece(-1, place, text)

    def cells(self) -> Iterator[_Piece]:
        """Yield the linked cells, one at a time, because most may never be needed."""
        for row in range(len(self.table.rows)):
            for place in range(len(self.linked)):
                yield _Piece(row, place, self._cell(row, place))

    def whole(self) -> Linearised:
        """Return everything."""
        return self.result([*self.aggregates(), *self.cells()])

    def result(self, kept: list[_Piece]) -> Linearised:
        """Put pieces in the table's order and count the cells that are not among them."""
        n_cells = sum(piece.row >= 0 for piece in kept)
        return Linearised(self.text(kept), len(self.linked) * len(self.table.rows) - n_cells)

    def text(self, kept: list[_Piece]) -> str:
        """Put pieces in the table's order, between title and end."""
        title, ordered = _clean(self.title), sorted(kept)
        if self.style == "plog":
            caption = f"<table> <caption> {title} </caption>"
            return " ".join([caption, *(piece.text for piece in ordered), "</table>"])
        rows: dict[int, list[str]] = {}
        for piece in ordered:
            rows.setdefault(piece.row, []).append(piece.text)
        return f"{title} : " + " | ".join(" ; ".join(cells) for cells in rows.values())

    def _cell(self, row: int, place: int) -> str:
        text, name = _clean(self.table.rows[row][self.linked[place]]), self.names[place]
        if self.style == "compact":
            return f"{name} is {text}"
        words = " ".join(word.capitalize() for word in text.split(" "))
        rank, facts = "", self.facts[place]
        if facts.max_ranks and facts.min_ranks:
            rank = f" <max_rank> {facts.max_ranks[row]} </max_rank> <min_rank> {facts.min_ranks[row]} </min_rank>"
        return f"<cell> {words} <col_header> {name} </col_header> <row_idx> {row} </row_idx>{rank} </cell>"


def _fit(page: _Page, cost: Callable[[str], int], budget: int) -> Linearised:
    """Take pieces in order of importance until one does not fit."""
    cut = _shorten_title(page, cost, budget)
    room = budget - cost(page.text([]))
    # Half for the aggregates: those of a wide table would fill everything, and the model would not see one cell.
    kept, price = _affordable(page.aggregates(), cost, room // 2)
    separator = " ;" if page.style == "compact" else ""
    kept += _affordable(page.cells(), cost, room - price, separator)[0]
    while kept and cost(page.text(kept)) > budget:  # tokens of the whole need not be the sum over its pieces
        kept.pop()
    text, n_dropped = page.result(kept)
    return Linearised(text, n_dropped + cut)


def _affordable(
    pieces: Iterator[_Piece], cost: Callable[[str], int], room: int, separator: str = ""
) -> tuple[list[_Piece], int]:
    """Return the first pieces that fit the room together, and what they take of it."""
    kept, taken = list[_Piece](), 0
    for piece in pieces:
        price = cost(piece.text + separator)
        if taken + price > room:
            break
        kept.append(piece)
        taken += price
    return kept, taken


def _shorten_title(page: _Page, cost: Callable[[str], int], budget: int) -> bool:
    """Drop words from the title's end until an empty table fits; say whether any were dropped."""
    words = _clean(page.title).split()
    n_words = len(words)
    while (price := cost(page.text([]))) > budget:
        if not words:
            raise UsageError(f"{budget} tokens cannot hold even an empty table, which takes {price}; allow more")
        words.pop()
        page.title = " ".join(words)
    return len(words) < n_words


def _rounded(value: float) -> str:
    """Write a number with two decimals, four below 1; all sixteen, as released, would only cost tokens.

    >>> _rounded(254.0), _rounded(10 / 3), _rounded(0.00412)
    ('254', '3.33', '0.0041')
    """
    decimals = 2 if abs(value) >= 1 else 4
    return f"{round(value, decimals) + 0.0:.15g}"


def _clean(text: str) -> str:
    """Straighten the white space, and let no text pass for one of our markers."""
    short = " ".join(text.split())
    if "<" in short and any(marker in short for marker in MARKERS):
        return short.replace("<", "< ")
    return short
