"""Needs: published tables by name, and the cells that stand behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.errors import UsageError, did_you_mean
from bench.leaderboards.published.paper_files import address_of
from bench.leaderboards.published.papers import PublishedCell, PublishedTable, paper_table, papers
from bench.tasks import TASKS

PARTS: dict[str, tuple[str, ...]] = {"f2softmax/table9": ("f2softmax/table9a", "f2softmax/table9b")}
"""Tables whose parts are tables of their own here."""

COUNTED = {"f2softmax/table9a": "f2softmax/table2", "f2softmax/table9b": "f2softmax/table2"}
"""Tables of wins and losses, and the table over whose scores each one counts."""

Key = tuple[str, str, str]
"""Task, method, and the backbone that was asked for, empty for the recipe's own."""


@dataclass(frozen=True)
class Need:
    """Cells that tables need: methods of one task on one backbone with the same decodings.

    Args:
        task: of ours.
        backbone: empty for the recipe's own.
        methods: each once.
        decodings: as our cells name them; empty where no column is about generated texts.
        sampling_seeds: with which the texts of each training are sampled; empty for the seed of the training.
    """

    task: str
    backbone: str
    methods: tuple[str, ...]
    decodings: tuple[str, ...]
    sampling_seeds: tuple[int, ...] = ()


def chosen(names: Sequence[str]) -> list[PublishedTable]:
    """Return the tables that are named, each once.

    Args:
        names: addresses such as `histalign/table1`, short names of papers, or `all`.

    Raises:
        UsageError: no paper has the table, or it is one of samples.
    """
    by_address = {table.address: table for paper in papers() for table in paper.tables}
    groups: dict[str, tuple[str, ...]] = {**PARTS, "all": tuple(by_address)}
    for paper in papers():
        groups[paper.short] = tuple(table.address for table in paper.tables)
    samples = {address_of(paper.short, plan["name"]) for paper in papers() for plan in paper.samples}
    tables: dict[str, PublishedTable] = {}
    for name in map(str.lower, names):
        if name in samples:
            raise UsageError(f"'{name}' is a table of samples; bench samples {name} shows ours")
        for address in groups.get(name, (name,)):
            if address not in by_address:
                raise UsageError(f"no published table '{address}'{did_you_mean(address, [*by_address, *groups])}")
            tables[address] = by_address[address]
    return list(tables.values())


def sample_plans() -> dict[str, Sequence[Mapping[str, object]]]:
    """Return the plans of tables of samples, by the short name of their paper."""
    return {paper.short: paper.samples for paper in papers()}


def needs(tables: Iterable[PublishedTable], preset: str) -> list[Need]:
    """Return the cells that tables need, each method of a task and backbone once, with every decoding."""
    decodings_of: dict[Key, list[str]] = {}
    sampling_of: dict[Key, tuple[int, ...]] = {}
    for cell in _cells_behind(tables):
        decodings = decodings_of.setdefault(key_of_cell(cell, preset), [])
        if cell.decoding and cell.decoding not in decodings:
            decodings.append(cell.decoding)
        if cell.sampling_seeds:
            sampling_of[key_of_cell(cell, preset)] = cell.sampling_seeds
    methods_of: dict[tuple[str, str, tuple[str, ...], tuple[int, ...]], list[str]] = {}
    for key, decodings in decodings_of.items():
        task, method, backbone = key
        methods_of.setdefault((task, backbone, tuple(decodings), sampling_of.get(key, ())), []).append(method)
    return [
        Need(task, backbone, tuple(methods), decodings, sampling_seeds)
        for (task, backbone, decodings, sampling_seeds), methods in methods_of.items()
    ]


def _cells_behind(tables: Iterable[PublishedTable]) -> list[PublishedCell]:
    """Return the published cells that a cell of ours gives a number for, of tables and of those they count over."""
    cells: list[PublishedCell] = []
    for table in tables:
        if table.address in COUNTED:
            table = paper_table(COUNTED[table.address])
        for row in table.rows:
            cells += [cell for cell in row if _is_scored(cell)]
    return cells + [other for cell in cells if (other := cell.other) is not None]


def _is_scored(cell: PublishedCell) -> bool:
    known = cell.task in TASKS and cell.method and cell.metric
    return bool(known and not cell.than and cell.value is not None)


def key_of_cell(cell: PublishedCell, preset: str) -> Key:
    """Return what a published cell is planned under: preset small has the recipe's own backbone for every size."""
    if preset == "paper":
        return cell.task, cell.method, cell.backbone
    return cell.task, cell.method, ""
