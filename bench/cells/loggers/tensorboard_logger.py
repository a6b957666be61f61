"""TensorBoard: Lightning's logger of event files, with tables as text. Each start of a run is a version of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lightning.pytorch.loggers import TensorBoardLogger

__all__ = ["CellTensorBoardLogger"]


class CellTensorBoardLogger(TensorBoardLogger):
    """Logs one run to an event file and `hparams.yaml`.

    Args:
        save_dir: folder of all runs.
        name: of the run, with slashes between folders.
    """

    def __init__(self, save_dir: str, name: str) -> None:
        super().__init__(save_dir, name, default_hp_metric=False)

    def log_table(self, key: str, columns: Sequence[str], data: Sequence[Sequence[Any]]) -> None:
        """Add a table to the texts of the run, which TensorBoard shows as Markdown."""
        self.experiment.add_text(key, markdown(columns, data))


def markdown(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table in Markdown, a line for each row.

    >>> print(markdown(["id", "text"], [["a", "one | two"], ["b", None]]))
    | id | text |
    | --- | --- |
    | a | one &#124; two |
    | b |  |
    """
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return str(value).replace("|", "&#124;").replace("\n", " ")
