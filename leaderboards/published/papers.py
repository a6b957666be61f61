"""Published numbers: the tables of papers by name, the rows of them that leaderboards show, and the runs they need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from bench.errors import UsageError, did_you_mean
from bench.leaderboards.row import short_decoding
from bench.tasks import TASKS

if TYPE_CHECKING:
    from bench.leaderboards.published.paper_files import Paper, PublishedCell, PublishedTable

Key = tuple[str, str, str]
"""Task, method and backbone of planned runs; the backbone is empty for that of the recipe."""


@cache
def papers() -> tuple[Paper, ...]:
    """Return every paper, by short name."""
    from bench.leaderboards.published.paper_files import read  # pydantic takes a tenth of a second to import

    files = sorted((Path(__file__).parents[1] / "papers").glob("*.toml"))
    return tuple(read(file.read_text(encoding="utf-8"), f"papers/{file.name}") for file in files)


def paper_table(address: str) -> PublishedTable:
    """Return a table by its address, such as `histalign/table1`.

    Raises:
        UsageError: no paper has it.
    """
    (table,) = chosen([address])
    return table


def chosen(names: Sequence[str]) -> list[PublishedTable]:
    """Return the tables that are named, each once.

    Args:
        names: addresses such as `histalign/table1`, short names of papers, or `all`.

    Raises:
        UsageError: no paper has the table.
    """
    tables = {table.address: table for paper in papers() for table in paper.tables}
    groups = {"all": list(tables), **{paper.short: [one.address for one in paper.tables] for paper in papers()}}
    found: dict[str, PublishedTable] = {}
    for name in map(str.lower, names):
        for address in groups.get(name, [name]):
            if address not in tables:
                raise UsageError(f"no published table '{address}'{did_you_mean(address, [*tables, *groups])}")
            found[address] = tables[address]
    return list(found.values())


# Rows of leaderboards ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Published:
    """One row of a paper's table, as leaderboards show it.

    Args:
        paper, table: names, as printed.
        method, backbone: ours.
        values: by column of ours.
        note: what a reader of the table's numbers must know; may be empty.
        decoding: of its texts, in short; empty where none were generated.
    """

    paper: str
    table: str
    method: str
    backbone: str
    values: Mapping[str, float]
    note: str = ""
    decoding: str = ""

    @property
    def name(self) -> str:
        """Method, paper, table and decoding: a published greedy row must not be read as our top-k one."""
        return ", ".join(filter(None, [f"{self.method} in {self.paper} {self.table}", self.decoding]))


def published(task: str) -> list[Published]:
    """Return what leaderboards of a task show of papers: rows of our methods with their comparable columns."""
    shown = []
    for paper in papers():
        for table in paper.tables:
            for row in table.rows:
                cells = [cell for cell in row if cell.task == task and cell.shown and cell.method and cell.metric]
                values = {cell.metric: cell.value for cell in cells if cell.value is not None}
                if values:
                    decodings = dict.fromkeys(short_decoding(cell.decoding) for cell in cells if cell.decoding)
                    about = (paper.name, table.name, cells[0].method, cells[0].backbone)
                    shown.append(Published(*about, values, table.note, ", ".join(decodings)))
    return shown


# Needs ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Need:
    """Runs that tables need: methods of one task on one backbone with the same decodings.

    Args:
        task: of ours.
        backbone: empty for the recipe's own.
        decodings: as our runs name them; empty where no column is about generated texts.
        sampling_seeds: with which the texts of each training are sampled; empty for the seed of the training.
        methods: each once.
    """

    task: str
    backbone: str
    decodings: tuple[str, ...]
    sampling_seeds: tuple[int, ...] = ()
    methods: tuple[str, ...] = ()


def needs(tables: Iterable[PublishedTable], preset: str) -> list[Need]:
    """Return the runs that tables need, each method of a task and backbone once, with every decoding."""
    cells = [cell for table in tables for row in table.rows for cell in row if is_scored(cell)]
    cells += [other for cell in cells if (other := cell.other) is not None]
    decodings: dict[Key, dict[str, None]] = {}
    sampling_seeds: dict[Key, tuple[int, ...]] = {}
    for cell in cells:
        key = key_of_cell(cell, preset)
        decodings.setdefault(key, {}).update({cell.decoding: None} if cell.decoding else {})
        sampling_seeds[key] = cell.sampling_seeds or sampling_seeds.get(key, ())
    methods: dict[Need, list[str]] = {}
    for (task, method, backbone), names in decodings.items():
        seeds = sampling_seeds[task, method, backbone]
        methods.setdefault(Need(task, backbone, tuple(names), seeds), []).append(method)
    return [replace(need, methods=tuple(names)) for need, names in methods.items()]


def is_scored(cell: PublishedCell) -> bool:
    """Return whether a run of ours gives a number for a published one."""
    return bool(cell.task in TASKS and cell.method and cell.metric and cell.value is not None)


def key_of_cell(cell: PublishedCell, preset: str) -> Key:
    """Return what a published number is planned under: preset small has the recipe's own backbone for every size."""
    return cell.task, cell.method, cell.backbone if preset == "paper" else ""
