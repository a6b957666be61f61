"""Index of tables: a link to each, named by what parts it from others of its task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.leaderboards.sections.markup import escaped, link, table_anchor

__all__ = ["index_section"]


def index_section(tables: Sequence[Mapping[str, Any]], sections: Mapping[str, str], is_open: bool = True) -> str:
    """Return links to every table and to the sections behind them; nothing for a page of one table alone.

    Args:
        tables: of a board.
        sections: titles by id of the sections that the page has behind its tables.
        is_open: whether it is unfolded at first.
    """
    if len(tables) + len(sections) < 2:
        return ""
    items = "".join(f"<li>{link(table_anchor(table['id']), escaped(table['name']))}{_about(table)}" for table in tables)
    more = " · ".join(link(name, escaped(title)) for name, title in sections.items())
    if more:
        more = f"<p>Also: {more}</p>"
    count = f"{len(tables)} tables"
    if len(tables) == 1:
        count = "1 table"
    unfolded = ""
    if is_open:
        unfolded = " open"
    return (
        f"<nav class='part index' id=index aria-label=Index><details class=opens{unfolded}>"
        f"<summary>Index: {count}</summary><ol>{items}</ol>{more}</details></nav>\n"
    )


def _about(table: Mapping[str, Any]) -> str:
    """Return how many methods a table has, and under how many seeds."""
    methods = len({row["method"] for row in table["methods"]})
    seeds = sorted({row["n_seeds"] for row in table["methods"]})
    said = _counted(methods, "method")
    if seeds and seeds[-1] != seeds[0]:
        said += f", {seeds[0]} to {seeds[-1]} seeds"
    elif seeds:
        said += f", {_counted(seeds[0], 'seed')}"
    return f" <span class=soft>{said}</span>"


def _counted(n: int, what: str) -> str:
    """Return a count with its noun.

    >>> _counted(1, "seed"), _counted(3, "seed")
    ('1 seed', '3 seeds')
    """
    if n == 1:
        return f"1 {what}"
    return f"{n} {what}s"
