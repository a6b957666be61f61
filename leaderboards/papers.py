"""Published numbers: what the papers' own tables say, as data."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True)
class Published:
    """One row of a paper's table.

    Args:
        paper: short name.
        table: where it stands in the paper.
        task: our task.
        method: our method.
        backbone: ours, or the nearest name.
        values: column -> number as printed.
        note: what a reader must know before comparing.
    """

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


def published(task: str) -> Sequence[Published]:
    """Return every published row for a task, in paper order."""
    found = []
    for file in sorted(resources.files("bench.leaderboards").joinpath("papers").iterdir(), key=lambda f: f.name):
        if not file.name.endswith(".toml"):
            continue
        paper = tomllib.loads(file.read_text(encoding="utf-8"))
        for table in paper["table"]:
            if table["task"] != task:
                continue
            for row in table["row"]:
                values = dict(zip(table["columns"], row["values"], strict=True))
                found.append(Published(paper["name"], table["name"], task, row["method"], row["backbone"], values,
                                       table.get("note", "")))  # fmt: skip
    return found
