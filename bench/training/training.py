"""Training: one run through a Lightning Trainer, to its weights and the record of the training."""

import logging
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.strategies import DDPStrategy

from bench.config.config import TrainerConfig
from bench.launch.signals import between_steps, interrupts_get_out
from bench.models.backbones.recomputing import recomputed
from bench.models.core.objective import Objective
from bench.store.state_files import StateFiles
from bench.tasks.core.task import Task
from bench.training.events import SILENT, Events
from bench.training.execution import Execution
from bench.training.recorder import Recorder
from bench.training.selection import Selection
from bench.training.state_keeper import StateIO, StateKeeper

GROUP_TIMEOUT_S = 1800.0
"""Seconds that a process waits for the others in one collective; a process that is stopped ends the run after them."""

ALONE = Execution()


def train(
    objective: Objective,
    task: Task,
    config: TrainerConfig,
    execution: Execution = ALONE,
    *,
    events: Events = SILENT,
    of_texts: Callable[[], dict[str, float]] | None = None,
    lower_is_better: bool = True,
    states: StateFiles | None = None,
) -> dict[str, Any]:
    """Train an objective on a task's training split, from the newest state there is.

    Args:
        objective: with its initial weights; how it is optimised is in its `run_context`.
        task: with the batches that `setup_run` has chosen; they are released at the end.
        config: everything that decides the result. With no steps to take, weights stay as they are.
        execution: processes, micro-batches and other settings that decide no result.
        events: receives points of the curve and validations, on the first rank.
        of_texts: scores texts that the objective generates for the validation split, alike on all ranks, and returns
            values by column; None to generate none.
        lower_is_better: whether a lower value of the column is better that the kept step is chosen by.
        states: where the state of the training is kept; None to keep none.

    Returns:
        `status` (`ok` or `diverged`), `diverged_at`, `steps`, `tokens`, `rows`, `truncated`, `curve` [[step, loss]];
        where there was a validation, `validation` [[step, columns]], and `kept`, the chosen step.

    Raises:
        UsageError: the backbone has no layers whose activations could be computed again.
        KeyboardInterrupt: when the training is interrupted, at the end of a step whose state was kept; signal handlers
            are those of before.
    """
    rows = task.loader_rows("train")
    steps = config.n_steps(len(rows))
    interval = min(config.validation_interval(len(rows)), steps)  # once, at the end, if the training is shorter
    recorder = Recorder(steps, execution.accumulate, events)
    if not steps:
        task.setup_run(None)
        return {**recorder.result(), "rows": len(rows), "truncated": rows.n_truncated}
    selection = Selection(recorder, config, of_texts, lower_is_better, events)
    keeper = StateKeeper(recorder, states, interval, execution.state_every)
    try:
        with (
            quiet(),
            between_steps(),
            interrupts_get_out(),
            float32_products(config.float32_products),
            recomputed(objective.backbone, execution.activation_checkpointing),
        ):
            trainer = trainer_of(config, execution, steps, interval, [recorder, selection, keeper])
            state = None if states is None else states.newest_whole()
            trainer.fit(objective, datamodule=task, ckpt_path=state, weights_only=True)
    finally:
        task.setup_run(None)
        task.trainer = None  # it holds the model, and the process group
    selection.take_best(objective)
    return {**recorder.result(), "rows": len(rows), "truncated": rows.n_truncated, **selection.result()}


def trainer_of(
    config: TrainerConfig, execution: Execution, steps: int, interval: int, callbacks: list[Callback]
) -> Trainer:
    """Return a trainer without Lightning's own logs, checkpoints, bars and samplers.

    Its processes and nodes are given to it; it never reads variables of a scheduler such as Slurm.

    Args:
        config: what decides the result.
        execution: processes and micro-batches.
        steps: of the whole training.
        interval: steps from one validation to the next, counted over epochs; 0 for no validation.
        callbacks: in the order in which they see each step.
    """
    place: dict[str, Any] = {"devices": 1}
    if execution.world > 1:
        here = int(os.environ.get("LOCAL_WORLD_SIZE", execution.world))
        strategy = DDPStrategy(timeout=timedelta(seconds=GROUP_TIMEOUT_S))
        place = {"devices": here, "num_nodes": execution.world // here, "strategy": strategy}
    environment = LightningEnvironment() if execution.world == 1 else TorchElasticEnvironment()
    return Trainer(
        max_steps=steps,
        max_epochs=-1,
        callbacks=callbacks,
        accumulate_grad_batches=execution.accumulate,
        precision=config.precision,
        gradient_clip_val=config.clip or None,
        limit_val_batches=1.0 if interval else 0,
        val_check_interval=interval * execution.accumulate or None,
        check_val_every_n_epoch=None if interval else 1,
        num_sanity_val_steps=0,
        plugins=[StateIO(execution.accumulate), environment],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
        **place,
    )


@contextmanager
def float32_products(kind: str) -> Iterator[None]:
    """Multiply float32 matrices as `torch.set_float32_matmul_precision` names it; afterwards as before."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(kind)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence Lightning's advice about hardware and workers; our own checks say what matters."""
    loggers = [logging.getLogger(name) for name in ("lightning.pytorch", "lightning.fabric", "lightning")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="lightning")
            warnings.filterwarnings("ignore", message=".*does not have many workers.*")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
