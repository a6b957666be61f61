"""Index of tables: a link to each, named by what parts it from others of its task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.leaderboards.sections.markup import escaped, link, section, table_anchor

__all__ = ["index_section"]

SHOWN = 12
"""Tables above which the list is folded."""


def index_section(tables: Sequence[Mapping[str, Any]], sections: Mapping[str, str]) -> str:
    """Return links to every table and to the sections behind them.

    Args:
        tables: of a board.
        sections: titles by id of the sections that the page has behind its tables.
    """
    if len(tables) + len(sections) < 2:
        return ""
    items = "".join(f"<li>{link(table_anchor(table['id']), escaped(table['name']))}{_about(table)}" for table in tables)
    body = f"<ol>{items}</ol>"
    if len(tables) > SHOWN:
        body = f"<details class=opens><summary>{len(tables)} tables</summary>{body}</details>"
    more = " · ".join(link(name, escaped(title)) for name, title in sections.items())
    if more:
        more = f"<p>Also: {more}</p>"
    return section("index", "Tables", [f"<nav aria-label=Tables class=index>{body}{more}</nav>"])


def _about(table: Mapping[str, Any]) -> str:
    """Return how many methods a table has under how many seeds, and whether it may be compared with papers."""
    methods = len({row["method"] for row in table["methods"]})
    seeds = sorted({row["n_seeds"] for row in table["methods"]})
    said = f"{methods} methods"
    if methods == 1:
        said = "1 method"
    if seeds and seeds[-1] != seeds[0]:
        said += f", {seeds[0]} to {seeds[-1]} seeds"
    elif seeds:
        said += f", {seeds[0]} {'seed' if seeds[0] == 1 else 'seeds'}"
    return f" <span class=soft>{said}</span>"
