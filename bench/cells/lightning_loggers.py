"""Lightning's loggers for Weights & Biases, TensorBoard and CSV, set up for the runs of this suite, with tables."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger, WandbLogger

from bench.base.files import write_atomic
from bench.cells.loggers import LoggedRun

__all__ = ["PROJECT", "TIMEOUT_S", "RunCSVLogger", "RunTensorBoardLogger", "RunWandbLogger"]

PROJECT = "objective-bench"
"""W&B project of the runs unless WANDB_PROJECT names another one."""
TIMEOUT_S = 8
"""Longest wait in seconds for W&B to begin a run, and again to end one."""
STEP = "trainer/global_step"
"""Lightning's name for the step of a training."""


class RunCSVLogger(CSVLogger):
    """Writes `metrics.csv`, `hparams.yaml` and one file for each table. Each start of a run is a new `version_N`.

    Args:
        save_dir: folder of all runs.
        name: of the run, with slashes between folders.
    """

    def __init__(self, save_dir: str, name: str) -> None:
        super().__init__(save_dir, name, flush_logs_every_n_steps=1)

    def log_table(self, key: str, columns: Sequence[str], data: Sequence[Sequence[Any]]) -> None:
        """Write a table to a file of its name, such as `samples/greedy.csv`."""
        import pandas as pd

        text = pd.DataFrame(list(data), columns=list(columns), dtype=object).to_csv(index=False)
        path = Path(self.log_dir) / f"{file_name(key)}.csv"
        write_atomic(path, text.encode("utf-8", "replace"), replace=True)


def file_name(key: str) -> str:
    """Return the name of a table as a path that every file system takes.

    >>> file_name("samples/decoupled:topk=3")
    'samples/decoupled_topk=3'
    """
    return re.sub(r"[^\w.+=/-]", "_", key).replace("..", "_")


class RunTensorBoardLogger(TensorBoardLogger):
    """Writes an event file and `hparams.yaml`. Each start of a run is a new `version_N`.

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
    """Return a table in Markdown, one line for each row.

    >>> print(markdown(["id", "text"], [["a", "one | two"], ["b", None]]))
    | id | text |
    | --- | --- |
    | a | one &#124; two |
    | b |  |
    """
    lines = []
    for row in [columns, ["---"] * len(columns), *rows]:
        cells = ["" if value is None else str(value).replace("|", "&#124;").replace("\n", " ") for value in row]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


class RunWandbLogger(WandbLogger):
    """Logs one run to W&B: its id is the key of the run, its group is task/method.

    A run that is logged again continues. A W&B run that the user has opened is left alone.

    Args:
        run: a training with its evaluations, or the leaderboards of a command.
    """

    def __init__(self, run: LoggedRun) -> None:
        # W&B would send stack traces to its maker, and wait for a silent server when the process ends.
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        import wandb

        project = os.environ.get("WANDB_PROJECT") or PROJECT
        settings = wandb.Settings(
            init_timeout=TIMEOUT_S,
            finish_timeout=TIMEOUT_S,
            silent=True,
            console="off",
            save_code=False,
            disable_code=True,
            disable_git=True,
            x_disable_meta=True,
            x_disable_stats=True,
            x_save_requirements=False,
        )
        begun = wandb.init(
            project=project,
            id=run.id,
            name=run.label,
            group=run.group,
            resume="allow",
            reinit="create_new",
            settings=settings,
        )
        begun.define_metric(STEP)
        begun.define_metric("*", step_metric=STEP, step_sync=True)  # validation is logged behind later training steps
        super().__init__(project=project, experiment=begun)

    def finalize(self, status: str) -> None:
        """End the run; W&B shows it as failed unless the status is `success`."""
        super().finalize(status)
        self.experiment.finish(exit_code=int(status != "success"))
