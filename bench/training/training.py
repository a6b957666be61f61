"""Training: one cell through a Lightning Trainer, to weights and what is to be said of them."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import torch
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.plugins import CheckpointIO
from lightning.pytorch.strategies import DDPStrategy, Strategy

from bench.config.config import TrainerConfig
from bench.errors import StoreError
from bench.launch.signals import between_steps, interrupts_get_out
from bench.models.backbones.recomputing import recomputed
from bench.models.core.objective import Objective
from bench.store.state_files import SECONDS, StateFiles
from bench.tasks.core.feed import Feed, no_exemplars
from bench.tasks.core.task import Task
from bench.tasks.encode.codec import Codec
from bench.training.recorder import OnStep, Recorder
from bench.training.selection import Measure, OnValidation, Selection
from bench.training.sharding import ShardedStrategy
from bench.training.state_keeper import StateIO, StateKeeper

GROUP_TIMEOUT_S = 1800.0
"""Seconds that a process waits for the others in one collective; a process that is stopped ends the run after them."""


def train(
    objective: Objective,
    task: Task,
    codec: Codec,
    config: TrainerConfig,
    seed: int,
    *,
    world: int = 1,
    accumulate: int = 1,
    strategy: str | Strategy | None = None,
    activation_checkpointing: bool = False,
    exemplars: Callable[[str], Mapping[str, str] | None] = no_exemplars,
    workers: int = 0,
    on_step: OnStep | None = None,
    on_validation: OnValidation | None = None,
    measure: Measure | None = None,
    lower_is_better: bool = True,
    states: StateFiles | None = None,
    seconds: float = SECONDS,
    every: int = 0,
    callbacks: Sequence[Callback] = (),
) -> dict[str, Any]:
    """Train an objective on a task's training split, from the newest state there is.

    Args:
        objective: with its initial weights; how it is optimised is in its `run_context`.
        task: loaded.
        codec: of the objective's backbone.
        config: everything that decides the result.
        seed: of order and dropout.
        world: processes; the global batch is shared among them.
        accumulate: micro-batches of an optimiser step on each process.
        strategy: `ddp` (each process has the whole model), `fsdp` (a share of it, see `sharding`), or one of
            Lightning's own; by default one process or `ddp`.
        activation_checkpointing: keep only the inputs of layers for the backward pass, and compute the rest again.
        exemplars: returns the exemplars of a split by row id, for methods that read exemplars.
        workers: processes that prepare batches; the batches are the same for any number.
        on_step: called with step, steps and the logged values, on the first rank.
        on_validation: called with the step and the columns of a validation, on the first rank.
        measure: scores texts of the validation split.
        lower_is_better: which way the column goes that `config.select` names.
        states: where the state of the training is kept; None to keep none.
        seconds: from one state to the next.
        every: a state after every so many steps too.
        callbacks: of the program around, told of every step; they see it before a state is kept.

    With no steps to take, weights stay as they are.

    Returns:
        `status` (`ok` or `diverged`), `diverged_at`, `steps`, `tokens`, `rows`, `truncated`, `curve` [[step, loss]];
        where they are, `diverged_parameter`, `spike`, `validation` [[step, columns]] and `kept`, the step that was
        chosen.

    Raises:
        UsageError: the backbone has no layers that could be sharded, or whose activations could be computed again.
        KeyboardInterrupt: when the training is interrupted, at the end of a step whose state was kept; signal handlers
            are those of before.
    """
    task.setup_run(Feed(codec, config.batch_size, seed, workers, exemplars, config.batch_size, config.validate_rows))
    rows = task.fed_rows("train")
    steps, interval = config.n_steps(len(rows)), config.validation_interval(len(rows))
    recorder = Recorder(steps, accumulate, on_step)
    if not steps:
        task.setup_run(None)
        return {**recorder.result(), "rows": len(rows), "truncated": rows.n_truncated}
    selection = Selection(recorder, config.select, lower_is_better, config.patience, measure, on_validation)
    io = StateIO(accumulate)
    keeper = StateKeeper(recorder, io, states, lambda step: bool(interval) and step % interval == 0, seconds, every)
    try:
        with as_configured(objective, config, activation_checkpointing):
            trainer = Trainer(
                max_steps=steps,
                callbacks=[recorder, *callbacks, selection, keeper],
                **settings_of(config, accumulate),
                **placed(world, strategy_of(strategy, world), io),
                **validation_of(interval * accumulate),
            )
            state = None if states is None else states.newest_whole()
            trainer.fit(objective, datamodule=task, ckpt_path=state, weights_only=True)
    finally:
        with suppress(StoreError):  # what else went wrong comes first
            io.wait()
        task.setup_run(None)
        task.trainer = None  # it holds the model, and the process group
    selection.take_best(objective)
    return {**recorder.result(), "rows": len(rows), "truncated": rows.n_truncated, **selection.result()}


@contextmanager
def as_configured(objective: Objective, config: TrainerConfig, activation_checkpointing: bool) -> Iterator[None]:
    """Train as the recipe says, where a signal ends a training between two steps only."""
    with (
        quiet(),
        between_steps(),
        interrupts_get_out(),
        float32_products(config.float32_products),
        recomputed(objective.backbone, activation_checkpointing),
    ):
        yield


def settings_of(config: TrainerConfig, accumulate: int) -> dict[str, Any]:
    """Return how a trainer trains, with nothing of Lightning's own beside it: logs, checkpoints, bars, samplers."""
    return {
        "max_epochs": -1,
        "accumulate_grad_batches": accumulate,
        "precision": config.precision,
        "gradient_clip_val": config.clip or None,
        "accelerator": "auto",
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "use_distributed_sampler": False,
        "num_sanity_val_steps": 0,
        "detect_anomaly": False,
    }


def validation_of(batches: int) -> dict[str, Any]:
    """Return what tells a trainer to validate after so many training batches, counted over epochs; 0 for never."""
    if not batches:
        return {"limit_val_batches": 0}
    return {"val_check_interval": batches, "check_val_every_n_epoch": None}


def strategy_of(name: str | Strategy | None, world: int) -> str | Strategy | None:
    """Return the strategy of a name; None for the default: one process, or `ddp`."""
    if isinstance(name, str) and (world == 1 or name == "ddp"):
        return None
    if name == "fsdp":
        return ShardedStrategy(timeout=timedelta(seconds=GROUP_TIMEOUT_S))
    return name


def placed(world: int, strategy: str | Strategy | None, checkpoints: CheckpointIO) -> dict[str, Any]:
    """Return the arguments that tell a trainer where it runs. It never asks a scheduler's variables, such as SLURM's.

    Args:
        world: number of processes, of all machines.
        strategy: a Lightning strategy; by default one process or `ddp`.
        checkpoints: how the trainer reads and writes states.
    """
    if world == 1:
        return {"devices": 1, "strategy": strategy or "auto", "plugins": [checkpoints, LightningEnvironment()]}
    here = int(os.environ.get("LOCAL_WORLD_SIZE", world))
    return {
        "devices": here,
        "num_nodes": world // here,
        "strategy": strategy or DDPStrategy(timeout=timedelta(seconds=GROUP_TIMEOUT_S)),
        "plugins": [checkpoints, TorchElasticEnvironment()],
    }


@contextmanager
def float32_products(kind: str) -> Iterator[None]:
    """Multiply float32 matrices so, as `torch.set_float32_matmul_precision` names it; afterwards as before."""
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
