"""Training times: the hours and hardware that papers say their trainings took (`[[training]]` in `papers/*.toml`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.leaderboards.published.searches import check_keys, check_methods, check_name
from bench.models.backbones import BACKBONES
from bench.tasks import TASKS

__all__ = ["TrainingTime", "training_times"]

REQUIRED = {"task", "methods", "backbone", "where"}
OPTIONAL = {"hours", "device", "count", "note"}


@dataclass(frozen=True)
class TrainingTime:
    """What a paper says of the hours and hardware of one training.

    Args:
        paper: its name.
        task, method, backbone: ours.
        where: section of the paper.
        hours: of training; None where the paper gives none.
        device: as the paper calls it; empty where it names none.
        count: how many of them; 0 where the paper does not say.
        note: what is not stated, or how it is meant; may be empty.
    """

    paper: str
    task: str
    method: str
    backbone: str
    where: str
    hours: float | None = None
    device: str = ""
    count: int = 0
    note: str = ""

    @property
    def text(self) -> str:
        """The hours and hardware for people."""
        said = "hours not stated"
        if self.hours is not None and self.hours < 1:
            said = f"{self.hours * 60:.0f} min"
        elif self.hours is not None:
            said = f"{self.hours:g} h"
        if self.device:
            said += f" on {self.count or 'a number of'} {self.device}"
        if self.note:
            said += f" ({self.note})"
        return said


def training_times(paper: str, entries: Iterable[Mapping[str, Any]], file: str) -> tuple[TrainingTime, ...]:
    """Read the `[[training]]` entries of a paper's file, one training time for each method of an entry.

    Raises:
        DataError: a key or name that is not known, or a key that is missing.
    """
    found = []
    for number, entry in enumerate(entries, 1):
        where = f"{file}, training {number}"
        check_keys(entry, REQUIRED, OPTIONAL, where)
        check_name("task", entry["task"], TASKS, where)
        check_name("backbone", entry["backbone"], BACKBONES, where)
        check_methods(entry["methods"], where)
        rest = {name: value for name, value in entry.items() if name != "methods"}
        for method in entry["methods"]:
            found.append(TrainingTime(paper=paper, method=method, **rest))
    return tuple(found)
