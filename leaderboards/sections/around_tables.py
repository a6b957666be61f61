"""Sections of the page around its tables: they stand in the page as they are, with or without scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.leaderboards.sections.overview import overview_section
from bench.leaderboards.sections.table_index import index_section

__all__ = ["NOT_FOR_SCRIPTS", "around_tables"]

NOT_FOR_SCRIPTS = ("overview",)
"""Of a board, what only these sections show: the page's scripts are not given it."""


def around_tables(board: Mapping[str, Any]) -> tuple[str, str]:
    """Return what stands before the tables of a board and what stands behind them."""
    behind: dict[str, str] = {}
    titles: dict[str, str] = {}
    before = overview_section(board.get("overview")) + index_section(board["tables"], titles)
    return before, "".join(behind.values())
