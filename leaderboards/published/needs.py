"""Needs: published tables by name, and the cells that stand behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.errors import UsageError, did_you_mean
from bench.leaderboards.published.papers import PublishedCell, PublishedTable, paper_table, papers
from bench.tasks import TASKS

PARTS: dict[str, tuple[str, ...]] = {"f2softmax/table9": ("f2softmax/table9a", "f2softmax/table9b")}
"""Tables whose parts are tables of their own here."""

COUNTED = {"f2softmax/table9a": "f2softmax/table2", "f2softmax/table9b": "f2softmax/table2"}
"""Tables that count over the scores of another one."""

Key = tuple[str, str, str]
"""Task, method, and the backbone that was asked for, empty for the recipe's own."""


@dataclass(frozen=True)
class Need:
    """Cells that tables need: methods of one task on one backbone, read in the same ways.

    Args:
        backbone: empty for the recipe's own.
        decodings: empty for a task whose texts no column is of.
    """

    task: str
    backbone: str
    methods: tuple[str, ...]
    decodings: tuple[str, ...]


def chosen(names: Sequence[str]) -> list[PublishedTable]:
    """Return the tables of addresses, papers, or `all`, each once.

    Raises:
        UsageError: no paper has it, or it is one of samples.
    """
    known = {table.address: table for paper in papers() for table in paper.tables}
    whole = {paper.tables[0].address.partition("/")[0]: [t.address for t in paper.tables] for paper in papers()}
    shown = {address_of(short, plan["name"]) for short, plans in sample_plans().items() for plan in plans}
    found: dict[str, PublishedTable] = {}
    for name in (name.lower() for name in names):
        if name in shown:
            raise UsageError(f"'{name}' is a table of samples; bench samples {name} shows ours")
        parts = list(known) if name == "all" else whole.get(name) or PARTS.get(name, (name,))
        for part in parts:
            if part not in known:
                raise UsageError(f"no published table '{part}'{did_you_mean(part, [*known, *PARTS, *whole, 'all'])}")
            found[part] = known[part]
    return list(found.values())


def sample_plans() -> dict[str, Sequence[Mapping[str, object]]]:
    """Return the plans of tables of samples, by the short name of their paper."""
    return {paper.tables[0].address.partition("/")[0]: paper.samples for paper in papers()}


def address_of(short: str, name: object) -> str:
    """Return the address of a table.

    >>> address_of("histalign", "Table 9")
    'histalign/table9'
    """
    return f"{short}/{str(name).lower().replace(' ', '')}"


def needs(tables: Iterable[PublishedTable], preset: str) -> list[Need]:
    """Return the cells that tables need, each method of a task and backbone once, with every decoding."""
    wanted: dict[Key, dict[str, None]] = {}
    behind = [paper_table(COUNTED[table.address]) if table.address in COUNTED else table for table in tables]
    for cell in (cell for table in behind for row in table.rows for cell in row):
        if cell.task in TASKS and cell.method and cell.metric and not cell.than and cell.value is not None:
            wanted.setdefault(key_of_cell(cell, preset), {}).update({cell.decoding: None} if cell.decoding else {})
    groups: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (task, method, backbone), decodings in wanted.items():
        groups.setdefault((task, backbone, tuple(decodings)), []).append(method)
    return [Need(task, backbone, tuple(methods), decodings)
            for (task, backbone, decodings), methods in groups.items()]  # fmt: skip


def key_of_cell(cell: PublishedCell, preset: str) -> Key:
    """Return what a published cell is planned under: preset small has the recipe's own backbone for every size."""
    return cell.task, cell.method, cell.backbone if preset == "paper" else ""
