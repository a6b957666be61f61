"""W&B: Lightning's logger of Weights & Biases, with a run for each cell: id = cell key, group = task/method."""

from __future__ import annotations

import os

from lightning.pytorch.loggers import WandbLogger

from bench.cells.loggers.logged_run import LoggedRun

__all__ = ["PROJECT", "TIMEOUT_S", "CellWandbLogger"]

PROJECT = "objective-bench"
"""Where runs go unless WANDB_PROJECT names another project."""

TIMEOUT_S = 8
"""Longest wait in seconds for W&B to begin a run, and again to end one."""


STEP = "trainer/global_step"
"""What Lightning calls the step of a training."""


class CellWandbLogger(WandbLogger):
    """Logs one run. A cell that is logged again goes on with its run; a run that the user has opened is left alone.

    Args:
        run: of a cell, or of the board.
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
        """End the run, as a failed one unless the status is `success`."""
        super().finalize(status)
        self.experiment.finish(exit_code=int(status != "success"))
