"""Sample budget: as many examples on the page as it has room for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["CHARACTERS", "within_budget"]

CHARACTERS = 60_000
"""Of all samples of a page together. Deflated and in base64 they take about half as many bytes."""


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


def _characters(board: Mapping[str, Any], kept: int) -> int:
    """Return how many characters so many samples of every table have."""
    total = 0
    for table in board["tables"]:
        for sample in table["samples"][:kept]:
            total += len(sample["prompt"]) + len(sample["reference"]) + sum(map(len, sample["texts"].values()))
    return total
