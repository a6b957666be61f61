"""RunContext: what an objective needs to know of its run, such as seed, optimiser and learning rate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from torch import Tensor, nn

from bench.base.options import Amount, Range, Share, check_fields

Counts = Callable[[], Tensor]
"""How often each token is a training target, [V]; counted by the call."""

ContinuePrompts = Callable[..., list[list[int]]]
"""Continues prompts without gradient: (prompts, most new tokens) -> new tokens of each row, written greedily; or with
(prompts, most new tokens, decoding as typed after --decode, a seed for each prompt)."""


@dataclass(frozen=True)
class Optimiser:
    """AdamW and its schedule, as a recipe states them.

    Raises:
        UsageError: for a value that is not finite, or not in its range.
    """

    lr: Amount = 1e-3
    warmup: Share = 0.0  # share of the steps
    schedule: Literal["linear", "constant", "steps"] = "linear"  # after the warm-up: linear decay to zero, ...
    weight_decay: Amount = 0.0
    steps: Annotated[int, Range(0)] = 0  # 0 for as many as the trainer takes
    decay: Amount = 1.0  # what the schedule `steps` multiplies the rate with, each time
    decay_epochs: Amount = 0.0  # epochs of the trainer from one such time to the next

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class RunContext:
    """What an objective needs to know of its run; the defaults are those of a training by hand.

    Args:
        seed: of the run, for draws that are a function of (seed, step).
        max_target: most target tokens of the task.
        optimiser: what `configure_optimizers` makes.
        token_counts: counts training targets; decoupled decoding needs it.
        continue_prompts: continues prompts; `predict` and losses on texts of the model itself need it.
        reference: the reference model of a method that names one; it is frozen.
        made_of: describes the parts of the objective, as plain content for a checkpoint.
    """

    seed: int = 0
    max_target: int = 64
    optimiser: Optimiser = Optimiser()
    token_counts: Counts | None = None
    continue_prompts: ContinuePrompts | None = None
    reference: nn.Module | None = None
    made_of: Callable[[], Mapping[str, Any]] | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> RunContext:
        """Return the same run, whose data are not copied, with what continues prompts by the copy of an objective."""
        return replace(self, continue_prompts=deepcopy(self.continue_prompts, memo))


def lr_factor(step: int, settings: Optimiser, epoch: int = 0) -> float:
    """Return the learning rate of a step as a share of its peak.

    Args:
        step: from 0.
        settings: of the optimiser.
        epoch: optimiser steps of an epoch, for the schedule `steps`.

    >>> [lr_factor(s, Optimiser(steps=10, warmup=0.2)) for s in (0, 1, 2, 6)]
    [0.5, 1.0, 1.0, 0.5]
    >>> [lr_factor(s, Optimiser(schedule="steps", decay=0.5, decay_epochs=2), epoch=1) for s in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """
    warm = round(settings.warmup * settings.steps)
    if step < warm:
        return (step + 1) / warm
    if settings.schedule == "steps":
        every = round(settings.decay_epochs * epoch)
        return float(settings.decay ** (step // every)) if every else 1.0
    if settings.schedule == "constant" or not settings.steps:  # a decay has no end here
        return 1.0
    return max(0.0, (settings.steps - step) / max(1, settings.steps - warm))
