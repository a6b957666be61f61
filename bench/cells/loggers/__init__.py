"""Loggers: where a run is copied to while it works. A view, never the store: no logger changes a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.base.entries import Entry, installed, unknown
from bench.base.own_code import load

__all__ = ["LOGGERS", "check_loggers", "find_logger", "package_for"]

LOGGERS = {
    "wandb": Entry(
        "bench.cells.loggers.wandb_logger:CellWandbLogger",
        "Weights & Biases; WANDB_PROJECT, WANDB_MODE and WANDB_DIR are its own",
        needs="wandb",
    ),
    "tensorboard": Entry(
        "bench.cells.loggers.tensorboard_logger:CellTensorBoardLogger", "event files", needs="tensorboard"
    ),
    "csv": Entry("bench.cells.loggers.csv_logger:CellCSVLogger", "tables that any program reads"),
}
"""Name -> entry; `--logger` takes these, `module:Name`, `file.py:Name`, and what packages have registered."""


def find_logger(asked: str) -> Any:
    """Return what makes the logger of a name: a class of Lightning's `Logger`, or a function that returns one.

    Raises:
        UsageError: there is none of this name.
        MissingError: its module or file is not there, or needs a package that is not.
    """
    if asked in LOGGERS:
        return LOGGERS[asked].load()
    if ":" in asked:
        return load(asked)
    points = installed("logger", LOGGERS)
    if asked in points:
        return load(points[asked].value)
    raise unknown(asked, [*LOGGERS, *points], "logger")


def check_loggers(asked: Sequence[str]) -> None:
    """Refuse names of loggers that do not exist, before anything is run. Those that are built in are not imported.

    Raises:
        UsageError, MissingError: as `find_logger`.
    """
    for name in asked:
        if name not in LOGGERS:
            find_logger(name)


def package_for(asked: str) -> str:
    """Return the package that a logger needs, empty where we know of none."""
    if asked in LOGGERS:
        return LOGGERS[asked].needs
    return ""
