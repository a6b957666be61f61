"""Published numbers: every cell of the papers' tables (`papers/*.toml`), and the rows of them leaderboards show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from bench.errors import UsageError, did_you_mean
from bench.leaderboards.published.paper_files import Paper, PublishedCell, PublishedTable, read

__all__ = ["Paper", "Published", "PublishedCell", "PublishedTable", "paper_table", "papers", "published"]


@dataclass(frozen=True)
class Published:
    """One row of a paper's table, as leaderboards show it: `values` are of our columns, `note` what to know first."""

    paper: str
    table: str
    task: str
    method: str
    backbone: str
    values: Mapping[str, float]
    note: str = ""

    @property
    def label(self) -> str:
        """For people."""
        return f"published: {self.paper} {self.table}, {self.backbone}"


@cache
def papers() -> tuple[Paper, ...]:
    """Return every paper, by short name."""
    files = sorted(resources.files("bench.leaderboards").joinpath("papers").iterdir(), key=lambda file: file.name)
    return tuple(read(f.read_text(encoding="utf-8"), f"papers/{f.name}") for f in files if f.name.endswith(".toml"))


def paper_table(address: str) -> PublishedTable:
    """Return a table by its address, such as `histalign/table1`.

    Raises:
        UsageError: no paper has it.
    """
    known = {table.address: table for paper in papers() for table in paper.tables}
    if address.lower() not in known:
        raise UsageError(f"no published table '{address}'{did_you_mean(address.lower(), known)}")
    return known[address.lower()]


def published(task: str) -> Sequence[Published]:
    """Return what leaderboards of a task show of papers: rows of our methods with their comparable columns."""
    found = []
    for paper in papers():
        for table in paper.tables:
            for row in table.rows:
                cells = [c for c in row if c.task == task and c.beside and c.method and c.metric]
                values = {c.metric: c.value for c in cells if c.value is not None}
                if values:
                    first = cells[0]
                    found.append(Published(paper.name, table.name, task, first.method, first.backbone, values,
                                           table.note))  # fmt: skip
    return found
