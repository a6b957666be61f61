"""Lightning's logger for Weights & Biases, set up for the runs of this suite."""

from __future__ import annotations

import os

from lightning.pytorch.loggers import WandbLogger

PROJECT = "objective-bench"
"""W&B project of the runs unless WANDB_PROJECT names another one."""
TIMEOUT_S = 8
"""Longest wait in seconds for W&B to begin a run, and again to end one."""
STEP = "trainer/global_step"
"""Lightning's name for the step of a training."""


class RunWandbLogger(WandbLogger):
    """Logs one run to W&B.

    A run that is logged again continues. A W&B run that the user has opened is left alone.

    Args:
        key: of the run, the id on W&B.
        label: for people.
        group: task/method.
    """

    def __init__(self, key: str, label: str, group: str) -> None:
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
            id=key,
            name=label,
            group=group,
            resume="allow",
            reinit="create_new",
            settings=settings,
        )
        begun.define_metric(STEP)
        begun.define_metric("*", step_metric=STEP, step_sync=True)  # a validation is logged after later training steps
        super().__init__(project=project, experiment=begun)

    def finalize(self, status: str) -> None:
        """End the run; W&B shows it as failed unless the status is `success`."""
        super().finalize(status)
        self.experiment.finish(exit_code=int(status != "success"))
