"""Selection: the curve of the validation split, the best step by one of its columns, and an early end."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from bench.config.config import LOWER_IS_BETTER
from bench.errors import UsageError
from bench.training.recorder import Recorder
from bench.training.sharding import ShardedStrategy, whole_weights

Measure = Callable[[], dict[str, float]]
"""Scores what the objective writes for the validation split."""

OnValidation = Callable[[int, dict[str, float]], None]
"""Takes a step, and what its validation found."""


class Selection(Callback):
    """Records what a validation finds and, where a column is named, keeps the weights of the best step.

    Args:
        recorder: knows the step.
        column: `loss`, `ppl`, or a column that `measure` gives; empty to keep the last step.
        lower_is_better: which way the column goes.
        patience: end after so many validations without a better one; 0 for never.
        measure: scores texts, on all ranks alike; None for loss and perplexity only.
        on_validation: told what each validation found, on the first rank.
    """

    def __init__(
        self,
        recorder: Recorder,
        column: str = "",
        lower_is_better: bool = True,
        patience: int = 0,
        measure: Measure | None = None,
        on_validation: OnValidation | None = None,
    ) -> None:
        self.recorder, self.column, self.lower_is_better = recorder, column, lower_is_better
        self.patience, self.measure, self.on_validation = patience, measure, on_validation
        self.curve: list[list[Any]] = []  # [step, columns] of each validation
        self.best: dict[str, Any] = {}  # step, value and weights
        self.without_better = 0

    def state_dict(self) -> dict[str, Any]:
        """Return all that was found, with the best weights: so a state is whole by itself."""
        return {"curve": self.curve, "best": self.best, "without_better": self.without_better}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what was found."""
        self.curve, self.best = state_dict["curve"], state_dict["best"]
        self.without_better = state_dict["without_better"]

    def on_validation_end(self, trainer: Trainer, module: LightningModule) -> None:
        """Record a validation; keep the weights if they are the best so far, and stop if none were for long."""
        named = {name: float(trainer.callback_metrics[f"val/{name}"]) for name in LOWER_IS_BETTER}
        if self.measure is not None:
            named |= self.measure()
        rounded = {name: round(value, 6) for name, value in named.items()}
        self.curve.append([self.recorder.step, rounded])
        if self.on_validation is not None and trainer.is_global_zero:
            self.on_validation(self.recorder.step, dict(rounded))
        if not self.column:
            return
        if self.column not in named:
            raise UsageError(
                f"trainer.select={self.column} is not measured in validation; there are {', '.join(sorted(named))}: "
                f"name its metric family in trainer.watch"
            )
        value = named[self.column]
        if self._is_better(value):
            is_kept = trainer.is_global_zero or not isinstance(trainer.strategy, ShardedStrategy)
            self.best = {"step": self.recorder.step, "value": value, "weights": whole_weights(module, is_kept)}
            self.without_better = 0
            return
        self.without_better += 1
        if self.patience and self.without_better >= self.patience:
            trainer.should_stop = True

    def _is_better(self, value: float) -> bool:
        """Return whether a value is finite and better than the best so far."""
        if not math.isfinite(value):
            return False
        if not self.best:
            return True
        if self.lower_is_better:
            return bool(value < self.best["value"])
        return bool(value > self.best["value"])

    def take_best(self, module: LightningModule) -> None:
        """Give the objective the weights of the best step, if there is one; of sharded ranks only the first has it."""
        if self.best and self.best["weights"]:
            module.load_state_dict(self.best["weights"], strict=module.strict_loading)

    def result(self) -> dict[str, Any]:
        """Return what a record says of validation; nothing without one."""
        if not self.curve:
            return {}
        content: dict[str, Any] = {"validation": self.curve}
        if self.column:
            content["kept"] = {"by": self.column, "of": len(self.curve)}
            if self.best:
                content["kept"] |= {"step": self.best["step"], "value": round(self.best["value"], 6)}
        return content
