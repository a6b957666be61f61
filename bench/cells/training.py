"""Training: one cell through a Lightning Trainer, to a checkpoint that says what made it."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer

from bench.base.seeds import seed_of
from bench.base.signals import interrupts_get_out, restore_handlers, signal_handlers
from bench.config.config import TrainerConfig
from bench.models.core.objective import Objective
from bench.tasks.core.task import Feed, Task
from bench.tasks.encode.codec import Codec

CURVE_POINTS = 100
"""Points of the training curve that are kept."""


def train(
    objective: Objective,
    task: Task,
    codec: Codec,
    config: TrainerConfig,
    seed: int,
    *,
    world: int = 1,
    accumulate: int = 1,
    strategy: str | None = None,
    exemplars: Mapping[str, str] | None = None,
    workers: int = 0,
    on_step: Callable[[int, int, dict[str, float]], None] | None = None,
) -> dict[str, Any]:
    """Train an objective on a task's training split.

    Args:
        objective: with its initial weights; how it is optimised is in its `run_context`.
        task: loaded.
        codec: of the objective's backbone.
        config: everything that decides the result.
        seed: of order and dropout.
        world: processes; the global batch is shared among them.
        accumulate: micro-batches of an optimiser step on each process.
        strategy: a Lightning strategy; by default one process or `ddp`.
        exemplars: text by row id, for methods that read exemplars.
        workers: processes that prepare batches; the batches are the same for any number.
        on_step: called with step, steps and the logged values, on the first rank.

    Returns:
        `status` (`ok` or `diverged`), `diverged_at`, `steps`, `tokens`, `rows`, `truncated`, `curve` [[step, loss]].

    Raises:
        KeyboardInterrupt: when the training is interrupted; signal handlers are those of before.
    """
    rows = task.encoded("train", codec, exemplars=exemplars)
    steps = config.n_steps(len(rows))
    lengths = None if task.info.open_ended else rows.lengths
    task.setup_run(Feed(codec, config.batch_size, steps, seed, rows, accumulate, lengths, workers))
    if strategy is None:
        strategy = "ddp" if world > 1 else "auto"
    recorder = Recorder(seed, steps, accumulate, on_step)
    with quiet(), interrupts_get_out():
        trainer = Trainer(
            max_epochs=1,
            accumulate_grad_batches=accumulate,
            precision=config.precision,
            gradient_clip_val=config.clip or None,
            callbacks=[recorder, HandlerKeeper()],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            use_distributed_sampler=False,
            devices=world,
            strategy=strategy,
            accelerator="auto",
            num_sanity_val_steps=0,
            detect_anomaly=False,
        )
        trainer.fit(objective, datamodule=task)
    return {
        "status": "ok" if recorder.diverged_at is None else "diverged",
        "diverged_at": recorder.diverged_at,
        "steps": recorder.step,
        "tokens": recorder.tokens,
        "rows": len(rows),
        "truncated": rows.n_truncated,
        "curve": recorder.curve,
    }


class Recorder(Callback):
    """Seeds each step, keeps the training curve, and stops a run whose loss or weights are no longer finite.

    Each step's loss is looked at where it lies; the answer is fetched at the points of the curve only, together with a
    look at the weights: a gradient that is not finite leaves them so for good.
    """

    def __init__(self, seed: int, steps: int, accumulate: int, on_step: Any) -> None:
        self.seed, self.steps, self.accumulate, self.on_step = seed, steps, accumulate, on_step
        self.step = self.tokens = 0
        self.diverged_at: int | None = None
        self.curve: list[list[float]] = []
        self.sums: dict[str, torch.Tensor] = {}
        self.bad_at: torch.Tensor | None = None  # first step whose loss was not finite; infinite if there is none
        self.every = max(1, steps // CURVE_POINTS)

    def on_train_batch_start(self, trainer: Trainer, module: LightningModule, batch: Any, batch_idx: int) -> None:
        """Seed dropout as a function of seed, step and rank, so that a resumed run draws the same."""
        torch.manual_seed(seed_of(self.seed, "step", trainer.global_rank, batch_idx))

    def on_train_batch_end(
        self, trainer: Trainer, module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Add the micro-batch's share of the step's loss; at the end of a step, record it."""
        assert isinstance(module, Objective)
        for name, value in module.logged.items():
            self.sums[name] = self.sums.get(name, torch.zeros_like(value)) + value
        if (batch_idx + 1) % self.accumulate:
            return
        self.step += 1
        self._look_at(self.sums["loss"])
        self.tokens += int(batch["step_tokens"])
        if self.step % self.every == 0 or self.step == self.steps:
            self._record(trainer, module)
        self.sums = {}

    def _look_at(self, loss: torch.Tensor) -> None:
        """Note the first step whose loss is not finite, without waiting for the device."""
        if self.bad_at is None:
            self.bad_at = torch.full_like(loss, math.inf)
        self.bad_at = torch.where(loss.isfinite(), self.bad_at, self.bad_at.clamp(max=self.step))

    def _record(self, trainer: Trainer, module: LightningModule) -> None:
        """Average over ranks (each holds its share times the number of copies), unless one has diverged."""
        assert self.bad_at is not None
        here = torch.stack([p.detach().isfinite().all() for p in module.parameters() if p.requires_grad]).all()
        bad_at = torch.where(here, self.bad_at, self.bad_at.clamp(max=self.step))
        first = float(trainer.strategy.reduce(bad_at, reduce_op="min"))
        if math.isfinite(first):
            self.diverged_at = int(first)
            trainer.should_stop = True
            return
        values = torch.stack([v.float() for v in self.sums.values()]) / self.accumulate
        values = trainer.strategy.reduce(values, reduce_op="mean")
        named = dict(zip(self.sums, values.tolist(), strict=True))
        self.curve.append([self.step, round(named["loss"], 6)])
        if self.on_step is not None and trainer.is_global_zero:
            self.on_step(self.step, self.steps, named)


class HandlerKeeper(Callback):
    """Takes Lightning's signal handlers off again: who calls `train` decides what a signal does.

    On SIGTERM, Lightning's own ends the training with exit code 0, or waits for the other ranks for ever.
    """

    def __init__(self) -> None:
        self.handlers = signal_handlers()

    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        """Restore the handlers of before the training; Lightning has just set its own."""
        restore_handlers(self.handlers)


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
