"""Published numbers: every cell of the papers' tables (`papers/*.toml`), and the rows of them leaderboards show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from bench.errors import UsageError, did_you_mean
from bench.leaderboards.names import short_decoding
from bench.leaderboards.published.paper_files import Paper, PublishedCell, PublishedTable, read

__all__ = [
    "Paper",
    "Published",
    "PublishedCell",
    "PublishedTable",
    "paper_of",
    "paper_table",
    "papers",
    "published",
]


@dataclass(frozen=True)
class Published:
    """One row of a paper's table, as leaderboards show it.

    Args:
        paper, table: names, as printed.
        task, method, backbone: ours.
        values: by column of ours.
        note: what a reader of the table's numbers must know; may be empty.
        decoding: of its texts, in short; empty where none were generated.
    """

    paper: str
    table: str
    task: str
    method: str
    backbone: str
    values: Mapping[str, float]
    note: str = ""
    decoding: str = ""

    @property
    def name(self) -> str:
        """Paper, table and decoding: a published greedy row must not be read as our top-k one."""
        return ", ".join(filter(None, [f"{self.paper} {self.table}", self.decoding]))

    @property
    def label(self) -> str:
        """The row as leaderboards name it."""
        return f"published: {self.paper} {self.table}, {self.backbone}"


@cache
def papers() -> tuple[Paper, ...]:
    """Return every paper, by short name."""
    folder = resources.files("bench.leaderboards").joinpath("papers")
    files = [file for file in folder.iterdir() if file.name.endswith(".toml")]
    files.sort(key=lambda file: file.name)
    return tuple(read(file.read_text(encoding="utf-8"), f"papers/{file.name}") for file in files)


def paper_table(address: str) -> PublishedTable:
    """Return a table by its address, such as `histalign/table1`.

    Raises:
        UsageError: no paper has it.
    """
    known = {table.address: table for paper in papers() for table in paper.tables}
    if address.lower() not in known:
        raise UsageError(f"no published table '{address}'{did_you_mean(address.lower(), known)}")
    return known[address.lower()]


def paper_of(table: PublishedTable) -> Paper | None:
    """Return the paper that a table is of; None for a table that no file has."""
    short = table.address.partition("/")[0]
    return next((paper for paper in papers() if paper.short == short), None)


def published(task: str) -> Sequence[Published]:
    """Return what leaderboards of a task show of papers: rows of our methods with their comparable columns."""
    shown = []
    for paper in papers():
        for table in paper.tables:
            for row in table.rows:
                cells = [cell for cell in row if cell.task == task and cell.beside and cell.method and cell.metric]
                values = {cell.metric: cell.value for cell in cells if cell.value is not None}
                if values:
                    method, backbone = cells[0].method, cells[0].backbone
                    decodings = dict.fromkeys(short_decoding(cell.decoding) for cell in cells if cell.decoding)
                    decoding = ", ".join(decodings)
                    shown.append(
                        Published(paper.name, table.name, task, method, backbone, values, table.note, decoding)
                    )
    return shown
