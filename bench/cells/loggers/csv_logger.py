"""CSV: Lightning's logger of files, with a file for each table. Each start of a run has a `version_N` of its own."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import CSVLogger

from bench.base.files import write_atomic

__all__ = ["CellCSVLogger"]


class CellCSVLogger(CSVLogger):
    """Logs one run to `metrics.csv`, `hparams.yaml` and files of tables. Each value is on the disk when it is logged.

    Args:
        save_dir: folder of all runs.
        name: of the run, with slashes between folders.
    """

    def __init__(self, save_dir: str, name: str) -> None:
        super().__init__(save_dir, name, flush_logs_every_n_steps=1)

    def log_table(self, key: str, columns: Sequence[str], data: Sequence[Sequence[Any]]) -> None:
        """Write a table to a file of its name, such as `samples/greedy.csv`."""
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(columns)
        writer.writerows(data)
        path = Path(self.log_dir) / f"{file_name(key)}.csv"
        write_atomic(path, text.getvalue().encode("utf-8", "replace"), replace=True)


def file_name(key: str) -> str:
    """Return the name of a table as a path that every file system takes.

    >>> file_name("samples/decoupled:topk=3")
    'samples/decoupled_topk=3'
    """
    return re.sub(r"[^\w.+=/-]", "_", key).replace("..", "_")
