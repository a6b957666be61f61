"""Names of tables: the task as its publishers write it, and what parts a table from others of the same task."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from bench.leaderboards.table import Table, task_title

__all__ = ["table_names"]

MANY = 2
"""More backbones or decodings than these are counted, not named."""


def table_names(tables: Sequence[Table]) -> list[str]:
    """Return a name of every table for people: its task, and all facts in which tables of the task differ.

    Tables that differ in no fact that is named here are numbered.
    """
    by_task: dict[str, list[dict[str, str]]] = defaultdict(list)
    facts = [_facts(table) for table in tables]
    for table, of_table in zip(tables, facts, strict=True):
        by_task[table.task].append(of_table)
    names = []
    seen = Counter[str]()
    for table, of_table in zip(tables, facts, strict=True):
        alike = by_task[table.task]
        unlike = [text for fact, text in of_table.items() if len({other[fact] for other in alike}) > 1]
        name = " · ".join([task_title(table.task), *unlike])
        seen[name] += 1
        if seen[name] > 1:
            name = f"{name} ({seen[name]})"
        names.append(name)
    return names


def _facts(table: Table) -> dict[str, str]:
    """Return what tables of one task may differ in, as texts."""
    return {
        "data": _data(table),
        "split": f"{table.split} split",
        "rows": f"{table.n:,} rows",
        "preset": f"preset {table.preset}",
        "backbones": _listed([row.backbone for row in table.rows], "backbones"),
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
