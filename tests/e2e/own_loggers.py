"""Lightning loggers of a user's own, as `--logger tests.e2e.own_loggers:Kept`; some of them misbehave."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from lightning.pytorch.loggers import Logger


class Kept(Logger):
    """Keeps whatever it is told, for as long as the process lives."""

    made: ClassVar[list[Kept]] = []

    def __init__(self, save_dir: str, name: str) -> None:
        super().__init__()
        self.save_to, self.run = save_dir, name
        self.config: dict[str, Any] = {}
        self.metrics: list[tuple[int | None, dict[str, float]]] = []
        self.tables: dict[str, tuple[list[str], list[list[Any]]]] = {}
        self.status = ""
        self.happens("__init__")
        self.made.append(self)

    def happens(self, where: str) -> None:
        """Do nothing; others do."""

    @property
    def name(self) -> str:
        return self.run

    @property
    def version(self) -> str:
        return ""

    def log_hyperparams(self, params: Any) -> None:
        self.happens("log_hyperparams")
        self.config = dict(params)

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        self.happens("log_metrics")
        self.metrics.append((step, dict(metrics)))

    def log_table(self, key: str, columns: Sequence[str], data: Sequence[Sequence[Any]]) -> None:
        self.happens("log_table")
        self.tables[key] = (list(columns), [list(row) for row in data])

    def finalize(self, status: str) -> None:
        self.happens("finalize")
        self.status = status


class Raises(Kept):
    """Raises in the method that the variable FAILS_IN names."""

    def happens(self, where: str) -> None:
        if os.environ["FAILS_IN"] == where:
            raise RuntimeError("the disk is gone\nand this is its trace")


class Exits(Kept):
    """Leaves the program in the method that the variable FAILS_IN names."""

    def happens(self, where: str) -> None:
        if os.environ["FAILS_IN"] == where:
            sys.exit("no key")


class Draws(Kept):
    """Seeds and draws from every generator that the process shares, and changes what it is given."""

    def happens(self, where: str) -> None:
        torch.manual_seed(7)
        random.seed(7)
        np.random.seed(7)
        torch.rand(3)

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        super().log_metrics(metrics, step)
        assert isinstance(metrics, dict)
        metrics.clear()


def no_logger(save_dir: str, name: str) -> str:
    """Return what is no logger."""
    return f"{save_dir}/{name}"
