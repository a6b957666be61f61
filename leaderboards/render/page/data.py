"""Page data: a board as text inside the page, without what follows from other parts; `state.js` is the inverse."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from bench.leaderboards.render.grid import number
from bench.leaderboards.sections.around_tables import NOT_FOR_SCRIPTS
from bench.leaderboards.statistics.value_statistics import ALPHA

__all__ = ["deflated", "inflated", "packed", "unpacked"]

DECIMALS = {"mean": 2, "half": 2}
"""Of numbers that the page shows with so many."""
DIGITS, OTHER_DIGITS = {"mean": 4, "half": 3, "difference": 5, "p": 3, "p_items": 3, "points": 3, "validation": 3}, 4
"""Significant ones of numbers in the page, more where `DECIMALS` gives more. The JSON report has all."""

FROM_STATIC = ("legend", "remarks")
"""Of a table, what scripts read in its static form."""

FOR_HTML, FROM_HTML = str.maketrans("<>&", ",:."), str.maketrans(",:.", "<>&")


def packed(board: Mapping[str, Any]) -> str:
    """Return a board as text for the page: its JSON, rounded, deflated.

    So rows cost little, and a page with samples and curves stays one that can be sent.
    """
    for_scripts = {name: part for name, part in board.items() if name not in NOT_FOR_SCRIPTS}
    return deflated(json.dumps(_compact(_rounded(for_scripts)), allow_nan=False, separators=(",", ":")))


def unpacked(text: str) -> dict[str, Any]:
    """Return the board of `packed`, whose tables are without what scripts read in their static form.

    >>> unpacked(packed({"tables": [], "mean": 1 / 3}))
    {'tables': [], 'mean': 0.3333}
    """
    board = dict(json.loads(inflated(text)))
    above: dict[str, str] = {}
    for table in board.get("tables", ()):
        fields = table.pop("fields")
        columns = fields.pop("column")
        for place, row in enumerate(_rows(table)):
            row["values"] = {}
            for where, column in enumerate(columns[place]):
                value = {name: fields[name][place][where] for name in fields}
                row["values"][column] = _whole(value, row["seeds"], above.get(column))
                above[column] = row["values"][column]["signature"]
    return board


def deflated(text: str) -> str:
    """Return a text deflated (RFC 1950), in base85 on one line; `loader.js` has the inverse.

    It is the alphabet of RFC 1924, 6 % shorter than base64, with others for the three that HTML reads.
    """
    return base64.b85encode(zlib.compress(text.encode(), 9)).decode().translate(FOR_HTML)


def inflated(text: str) -> str:
    """Return the text of `deflated`.

    >>> inflated(deflated("let a = 1;"))
    'let a = 1;'
    """
    return zlib.decompress(base64.b85decode(text.translate(FROM_HTML))).decode()


def _compact(board: dict[str, Any]) -> dict[str, Any]:
    """Write the values of a table as `fields`: a list of rows for each field, which deflates to half.

    Fields that follow from others are None.
    """
    above: dict[str, str] = {}
    for table in board.get("tables", ()):
        for name in FROM_STATIC:
            table.pop(name)
        fields: dict[str, list[list[Any]]] = {}
        rows = _rows(table)
        for place, row in enumerate(rows):
            for column, value in row.pop("values").items():
                written = {"column": column, **_written(value, row["seeds"], above.get(column))}
                above[column] = value["signature"]
                for name, content in written.items():
                    fields.setdefault(name, [[] for _ in rows])[place].append(content)
        table["fields"] = {"column": [[] for _ in rows], **fields}
    return board


def _rows(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [*table["methods"], *table["human"]]


def _written(value: Mapping[str, Any], seeds: Sequence[int], above: str | None) -> dict[str, Any]:
    """Return a value with None for what is derived, and its values by seed in the order of the row's seeds."""
    derived = _derived(value, seeds, above)
    written = {}
    for name, content in value.items():
        written[name] = None if name in derived and content == derived[name] else content
    by_seed = written["by_seed"]
    if by_seed and set(by_seed) <= set(map(str, seeds)):
        written["by_seed"] = [by_seed.get(str(seed)) for seed in seeds]
    return written


def _whole(written: Mapping[str, Any], seeds: Sequence[int], above: str | None) -> dict[str, Any]:
    """Return the value of `_written`."""
    value = dict(written)
    for name, content in _derived(written, seeds, above).items():
        if value[name] is None:
            value[name] = content
    if isinstance(value["by_seed"], list):
        named = zip(map(str, seeds), value["by_seed"], strict=True)
        value["by_seed"] = {seed: content for seed, content in named if content is not None}
    return value


def _derived(value: Mapping[str, Any], seeds: Sequence[int], above: str | None) -> dict[str, Any]:
    """Return the fields of a value that nearly always follow from others; `state.js` does the same.

    Args:
        value: its `mean` and `half` are there.
        seeds: of its row; where it is one, the value by seed is the mean.
        above: signature of the nearest row above it, of any table, that has this column; None for the first.
    """
    derived: dict[str, Any] = {"text": number(value["mean"]), "interval": number(value["half"])}
    if above is not None:
        derived["signature"] = above
    if len(seeds) == 1 and value["mean"] is not None:
        derived["by_seed"] = {str(seeds[0]): _short(value["mean"], "by_seed")}
    return derived


def _rounded(content: Any, name: str = "") -> Any:
    """Return a copy with as many digits as `DIGITS` says; what papers print stays as printed."""
    if name == "published":
        return content
    if isinstance(content, float):
        return _short(content, name)
    if isinstance(content, Mapping):
        return {key: _rounded(value, key) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_rounded(value, name) for value in content]
    return content


def _short(value: float, name: str) -> float:
    short = float(f"{value:.{DIGITS.get(name, OTHER_DIGITS)}g}")
    if name in DECIMALS:
        finer = round(value, DECIMALS[name])
        short = min(short, finer, key=lambda rounded: abs(rounded - value))
    if name == "p" and (short <= ALPHA) != (value <= ALPHA):  # a dagger is of the number as it is
        return value
    if short.is_integer():
        return int(short)
    return short
