"""Selection: what each validation measured, the weights of the best step by one column, and early stopping.

All methods are compared at the step with the lowest negative log-likelihood under their own distribution (`nll`), never
at that of their own loss: a ranking or penalty term in it makes losses of two methods, or of two weights of the term,
incomparable. A recipe or a user may name another column, such as the ROUGE of AdaDec's paper.

The best weights are part of the training state. Lightning's ModelCheckpoint writes them to a file next to it, and after
a kill between the two the file would not be that of the state.
"""

import math
from collections.abc import Callable
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

from bench.config.config import VALIDATED, TrainerConfig
from bench.errors import UsageError
from bench.training.events import Events
from bench.training.recorder import Recorder


class Selection(Callback):
    """Records the values of each validation and, where a column is named, keeps the weights of the best step.

    A value that is not finite is never the best one. Of equal values the first is kept.

    Args:
        recorder: counts the steps.
        config: `select` names a column (`nll`, `ppl`, `loss`, or one of the metrics; empty keeps the last step), and
            `patience` ends the training after so many validations without a better value.
        of_texts: as `train` takes it.
        lower_is_better: whether a lower value of the column is better.
        events: receives each validation, on the first rank.
    """

    def __init__(
        self,
        recorder: Recorder,
        config: TrainerConfig,
        of_texts: Callable[[], dict[str, float]] | None,
        lower_is_better: bool,
        events: Events,
    ) -> None:
        self.recorder, self.column, self.patience = recorder, config.select, config.patience
        self.of_texts, self.lower_is_better, self.events = of_texts, lower_is_better, events
        self.curve: list[list[Any]] = []  # [step, finite values by column] of each validation
        self.best: dict[str, Any] = {}  # step, value and weights
        self.without_better = 0

    def state_dict(self) -> dict[str, Any]:
        """Return all values so far and the best weights, so that a state needs no other file."""
        return {"curve": self.curve, "best": self.best, "without_better": self.without_better}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state."""
        self.curve, self.best = state_dict["curve"], state_dict["best"]
        self.without_better = state_dict["without_better"]

    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        """Stop at once if the stored training has already ended early."""
        trainer.should_stop |= 0 < self.patience <= self.without_better

    def on_validation_end(self, trainer: Trainer, module: LightningModule) -> None:
        """Record a validation; keep the weights if they are the best so far; stop after `patience` without better."""
        measured = {name: float(trainer.callback_metrics[f"val/{name}"]) for name in VALIDATED}
        if self.of_texts is not None:
            measured |= self.of_texts()
        rounded = {name: round(value, 6) for name, value in measured.items() if math.isfinite(value)}
        self.curve.append([self.recorder.step, rounded])
        if trainer.is_global_zero:
            self.events.validation(self.recorder.step, dict(rounded))
        if not self.column:
            return
        value = measured.get(self.column)
        if value is None:
            raise UsageError(
                f"trainer.select={self.column} has no value in validation, which measures {', '.join(measured)}"
            )
        best = self.best.get("value", math.inf if self.lower_is_better else -math.inf)
        if math.isfinite(value) and (value < best if self.lower_is_better else value > best):
            self.best = {"step": self.recorder.step, "value": value, "weights": copied_weights(module)}
            self.without_better = 0
            return
        self.without_better += 1
        trainer.should_stop |= 0 < self.patience <= self.without_better

    def take_best(self, module: LightningModule) -> None:
        """Load the weights of the best step, if there is one."""
        if self.best:
            module.load_state_dict(self.best["weights"], strict=module.strict_loading)

    def result(self) -> dict[str, Any]:
        """Return the part of a run's record about validation; empty without one."""
        if not self.curve:
            return {}
        content: dict[str, Any] = {"validation": self.curve}
        if self.column:
            content["kept"] = {"by": self.column, "of": len(self.curve)}
            if self.best:
                content["kept"] |= {"step": self.best["step"], "value": round(self.best["value"], 6)}
        return content


def copied_weights(module: Any) -> dict[str, Tensor]:
    """Return the weights and buffers of an objective, without frozen ones, on the CPU; tied weights are one tensor."""
    copies: dict[int, Tensor] = {}
    weights: dict[str, Tensor] = {}
    for name, value in module.state_dict(keep_vars=True).items():
        if name in module.frozen_weights:
            continue
        if id(value) not in copies:
            copies[id(value)] = value.detach().to("cpu", copy=True)
        weights[name] = copies[id(value)]
    return weights
