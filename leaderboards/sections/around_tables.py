"""Sections of the page around its tables: they stand in the page as they are, with or without scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.leaderboards.sections.claims import claims_section
from bench.leaderboards.sections.overview import overview_section
from bench.leaderboards.sections.table_index import index_section

__all__ = ["NOT_FOR_SCRIPTS", "around_tables"]

NOT_FOR_SCRIPTS = ("overview", "claims")
"""Of a board, what only these sections show: the page's scripts are not given it."""


def around_tables(board: Mapping[str, Any]) -> tuple[str, str]:
    """Return what stands before the tables of a board and what stands behind them."""
    claims = claims_section(board.get("claims", ()))
    there = {"claims": "Claims by paper"} if claims else {}
    first = overview_section(board.get("overview"))
    before = first + index_section(board["tables"], there, is_open=bool(first))  # the first table stays near the top
    return before, claims
