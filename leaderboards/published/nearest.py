"""Nearest: the stored run that is shown where the planned run of a published number is not stored.

It is of the same method, task and split, and says its size and what else is different about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bench.leaderboards.published.paper_files import PublishedCell
from bench.leaderboards.row import TableRow
from bench.leaderboards.table import Table
from bench.models.backbones import is_pretrained

__all__ = ["comparable_size", "differences", "nearest", "settings_of", "size_of"]

SEARCHES = ("greedy", "beam=")
"""How the names of decodings begin that search for the most probable text."""
SECTIONS = {"trainer": "trainer", "method": "method_options", "backbone": "backbone_options", "task": "task_options"}
"""Sections of settings, and where a configuration holds them."""


def nearest(cell: PublishedCell, tables: Iterable[Table], preset: str) -> tuple[Table, TableRow] | None:
    """Return the stored row that is nearest to the planned run of a published number, with its table; None without one.

    The same preset counts first, then the backbone, the decoding, and the number of rows, of seeds and of steps. Texts
    that were sampled never stand in for texts that were searched for, nor for those of another sampling.
    """
    found = [
        (table, row)
        for table in tables
        if (table.task, table.split) == (cell.task, cell.split)
        for row in table.rows
        if row.method == cell.method and (cell.metric.startswith("ppl/") or is_alike(row.decoding, cell.decoding))
    ]

    def nearness(one: tuple[Table, TableRow]) -> tuple[float, ...]:
        table, row = one
        alike = (table.preset == preset, row.backbone == cell.backbone, row.decoding == cell.decoding)
        return (*alike, table.n, len(row.seeds), row.config.get("trainer", {}).get("steps") or 0)

    return max(found, key=nearness, default=None)


def is_alike(decoding: str, other: str) -> bool:
    """Return whether two decodings write texts in one way: both search for the most probable text, or sample alike.

    >>> is_alike("greedy", "beam=5+gnmt=1.0"), is_alike("topk=3+max_new_tokens=64", "topk=3+max_new_tokens=100")
    (True, True)
    >>> is_alike("topk=3", "greedy"), is_alike("topk=3", "topk=20")
    (False, False)
    """
    first, second = decoding.partition("+")[0], other.partition("+")[0]
    return first == second or (first.startswith(SEARCHES) and second.startswith(SEARCHES))


def differences(cell: PublishedCell, table: Table, row: TableRow, preset: str, planned: Mapping[str, Any]) -> list[str]:
    """Return what is different about a stored row, for people: how it was tuned, preset, decoding and settings.

    Args:
        cell: the published number that it stands beside.
        table: of the row.
        row: ours.
        preset: that was planned; the settings of another one are not compared.
        planned: the settings that were planned, as `settings_of` returns them.
    """
    found = []
    if row.tried:
        found.append(f"its settings were picked from {row.tried} trials by validation loss")
    if row.decoding and cell.decoding and row.decoding != cell.decoding:
        found.append(f"written by {row.decoding} (planned: {cell.decoding})")
    if table.preset != preset:
        return [*found, f"preset {table.preset}"]
    stored = settings_of(row.config)
    return found + [
        f"{name}={stored[name]} (planned: {value})"
        for name, value in planned.items()
        if name in stored and stored[name] != value
    ]


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a configuration by section and name, such as `trainer.lr`."""
    return {
        f"{section}.{name}": value for section, part in SECTIONS.items() for name, value in config.get(part, {}).items()
    }


def size_of(row: TableRow) -> str:
    """Return backbone, number of parameters, pretrained or not, and length of training of a row, for people."""
    if not row.backbone:
        return "nothing is trained"
    parameters, start = "", row.config.get("start")
    if row.parameters:
        parameters = f" of {row.parameters:,} parameters"
    begun = "pretrained" if is_pretrained(row.backbone) else "from scratch"
    after = ""
    if start:
        after = f" after {length_of(start)} of {start['method']}"
    return f"{row.backbone}{parameters} {begun}, {length_of(row.config)}{after}"


def length_of(config: Mapping[str, Any]) -> str:
    """Return how long a run trains, for people."""
    trainer = config.get("trainer", {})
    if trainer.get("steps"):
        return f"{trainer['steps']:,} steps of {trainer.get('batch_size', 'some')} rows"
    return f"{trainer.get('epochs', 0):g} epochs"


def comparable_size(row: TableRow) -> str:
    """Return backbone and length of the first training of a row: rows that share them can be put in an order."""
    return ", ".join(filter(None, [row.backbone, length_of(row.config.get("start") or row.config)]))
