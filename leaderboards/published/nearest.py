"""Nearest: the stored run that is shown where the planned run of a published number is not stored.

It is of the same method, task and split, and says its size and what else is different about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from bench.leaderboards.published.paper_files import PublishedCell
from bench.leaderboards.row import TableRow
from bench.leaderboards.table import Table
from bench.models.backbones import is_pretrained
from bench.tasks.core.stated import as_text

__all__ = ["differences", "nearest", "size_of"]

SEARCHES = ("greedy", "beam=")
"""How the names of decodings begin that search for the most probable text."""


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
    """Return how a stored row was tuned, and its decoding, preset and options of the method that are unlike the plan.

    Its other settings are compared with the paper's, and not with those of the plan.

    Args:
        cell: the published number that it stands beside.
        table: of the row.
        row: ours.
        preset: that was planned; the settings of another one are not compared.
        planned: the method's settings that were planned.
    """
    found = [tuning_of(row)] if row.tried else []
    trainer = row.config.get("trainer", {})
    if trainer.get("select"):
        found.append(f"of its steps the one with the best {trainer['select']} of validation is kept")
    if row.decoding and cell.decoding and row.decoding != cell.decoding:
        found.append(f"decoding {row.decoding} in place of {cell.decoding}")
    if table.preset != preset:
        return [*found, f"preset {table.preset}"]
    stored = row.config.get("method_options", {})
    return found + [
        f"method.{name}={as_text(stored[name])} in place of {as_text(value)}"
        for name, value in planned.items()
        if name in stored and stored[name] != value
    ]


def tuning_of(row: TableRow) -> str:
    """Return which settings of a row were picked, from how many trials, and how long these were, for people."""
    names = row.picked.partition(" picked from ")[0].replace("optim.lr", "learning rate")
    verb = "are" if ", " in names else "is"
    text = f"its {names} {verb} the best of {row.tried} by validation loss"
    steps = row.config.get("trainer", {}).get("steps")
    if row.trial_steps and steps:
        share = Fraction(row.trial_steps)
        text += f" after {round(share * steps if share <= 1 else share):,} steps of one seed"
    return text


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
