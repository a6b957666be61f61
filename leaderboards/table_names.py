"""Names of tables: the task as its publishers write it, and what parts a table from others of the same task."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from bench.leaderboards.table import Table, task_title

__all__ = ["table_names"]

MANY = 2
"""More backbones or decodings than these are counted, not named."""


def table_names(tables: Sequence[Table]) -> list[str]:
    """Return a name of every table for people: its task, and the fewest facts that tell the tables of a task apart.

    Tables that no fact named here tells apart are numbered.
    """
    by_task: dict[str, list[dict[str, str]]] = defaultdict(list)
    facts = [_facts(table) for table in tables]
    titles = [task_title(table.task, table.data_title) for table in tables]
    for title, of_table in zip(titles, facts, strict=True):
        by_task[title].append(of_table)
    telling = {title: _telling(of_task) for title, of_task in by_task.items()}
    names = []
    seen = Counter[str]()
    for title, of_table in zip(titles, facts, strict=True):
        name = " · ".join([title, *(of_table[fact] for fact in telling[title])])
        seen[name] += 1
        if seen[name] > 1:
            name = f"{name} ({seen[name]})"
        names.append(name)
    return names


def _telling(tables: Sequence[Mapping[str, str]]) -> list[str]:
    """Return facts that tell tables apart, each of which tells some apart that those before it do not."""
    chosen: list[str] = []
    for fact in tables[0]:
        if _n_unlike(tables, [*chosen, fact]) > _n_unlike(tables, chosen):
            chosen.append(fact)
    return chosen


def _n_unlike(tables: Sequence[Mapping[str, str]], facts: Sequence[str]) -> int:
    return len({tuple(table[fact] for fact in facts) for table in tables})


def _facts(table: Table) -> dict[str, str]:
    """Return what tables of one task may differ in, as texts."""
    return {
        "data": _data(table),
        "split": f"{table.split} split",
        "preset": f"preset {table.preset}",
        "backbones": _listed([row.backbone for row in table.rows], "backbones"),
        "rows": f"{table.n:,} rows",
        "decodings": _listed([row.decoding for row in table.rows], "decodings"),
    }


def _data(table: Table) -> str:
    """Return whether a table is of the built-in samples, of published data, or of what else."""
    statuses = set(table.status.values())
    if "sample" in statuses:
        return "built-in samples"
    if statuses <= {"official"}:
        return "published data"
    return ", ".join(f"{name} data {status}" for name, status in sorted(table.status.items()) if status != "official")


def _listed(names: Sequence[str], kind: str) -> str:
    """Return names, or how many there are."""
    unlike = sorted({name for name in names if name})
    if not unlike:
        return f"no {kind}"
    if len(unlike) > MANY:
        return f"{len(unlike)} {kind}"
    return ", ".join(unlike)
