"""Budget: what of a board the page has room for; the JSON report has all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from typing import Any

from bench.leaderboards.even_points import even_points

__all__ = [
    "CHARACTERS",
    "POINTS",
    "SEEDS",
    "with_few_curves",
    "within_budget",
    "without_hidden_seeds",
]

CHARACTERS = 60_000
"""Of all samples of a page together. Deflated and in base64 they take about half as many bytes."""
POINTS = 7
"""Of a curve."""
SEEDS = 3
"""Of a row that have a curve; `charts.js` says so."""


def within_budget(board: Mapping[str, Any], characters: int = CHARACTERS) -> dict[str, Any]:
    """Return a board with as many samples as fit: the same first ones of every table, at least one of each.

    Args:
        board: as `board.schema.json` says.
        characters: of prompts, references and texts together.

    Returns:
        The board; of every table `samples` is cut, and `samples_left_out` says by how many.
    """
    most = max((len(table["samples"]) for table in board["tables"]), default=0)
    kept = 1
    while kept < most and _characters(board, kept + 1) <= characters:
        kept += 1
    tables = []
    for table in board["tables"]:
        samples = table["samples"][:kept]
        tables.append({**table, "samples": samples, "samples_left_out": len(table["samples"]) - len(samples)})
    return {**board, "tables": tables}


def without_hidden_seeds(board: Mapping[str, Any]) -> dict[str, Any]:
    """Return a board whose values by seed are those of the columns that are shown at first.

    Where many metrics are hidden, their values by seed are a fifth of the page; mean and interval stay.
    """
    tables = []
    for table in board["tables"]:
        hidden = {column["name"] for column in table["columns"] if not column["shown"]}
        rows = {name: [_without_seeds(row, hidden) for row in table[name]] for name in ("methods", "human")}
        tables.append({**table, **rows})
    return {**board, "tables": tables}


def with_few_curves(board: Mapping[str, Any]) -> dict[str, Any]:
    """Return a board with the curves of the first `SEEDS` seeds of a row, each of at most `POINTS` points.

    First and last points stay.
    """
    tables = []
    for table in board["tables"]:
        of_row: Counter[str] = Counter()
        curves = []
        for curve in sorted(table["curves"], key=lambda curve: curve["seed"]):
            of_row[curve["id"]] += 1
            if of_row[curve["id"]] <= SEEDS:
                lines = {name: even_points(curve[name], POINTS) for name in ("points", "validation") if name in curve}
                curves.append({**curve, **lines})
        rows = [curve["id"] for curve in table["curves"]]
        tables.append({**table, "curves": sorted(curves, key=lambda curve: rows.index(curve["id"]))})
    return {**board, "tables": tables}


def _without_seeds(row: Mapping[str, Any], columns: Set[str]) -> dict[str, Any]:
    """Return a row whose values in these columns have none by seed, but for a conflict, which is of one seed."""
    values = {}
    for name, value in row["values"].items():
        if name in columns and not value["conflict"] and len(row["seeds"]) > 1:
            value = {**value, "by_seed": {}}
        values[name] = value
    return {**row, "values": values}


def _characters(board: Mapping[str, Any], kept: int) -> int:
    """Return how many characters so many samples of every table have."""
    total = 0
    for table in board["tables"]:
        for sample in table["samples"][:kept]:
            total += len(sample["prompt"]) + len(sample["reference"]) + sum(map(len, sample["texts"].values()))
    return total
