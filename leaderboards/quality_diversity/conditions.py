"""Conditions: what two models must have in common before they are compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bench.leaderboards.quality_diversity.decoders import length_of
from bench.leaderboards.row import TableRow

__all__ = ["Conditions", "conditions_of"]


@dataclass(frozen=True)
class Conditions:
    """How a model was trained and evaluated, as far as it decides what can be compared.

    Args:
        max_new_tokens: of its texts; None where the task decides.
        batch_size: of the evaluation; None where unknown.
        backbone: its options by name, size and vocabulary among them.
        training: steps and epochs; where it starts from another model, behind those of that one. Epochs decide where
            the steps are 0.
    """

    max_new_tokens: int | None = None
    batch_size: int | None = None
    backbone: tuple[tuple[str, str], ...] = ()
    training: tuple[tuple[int, float], ...] = ()

    @property
    def start(self) -> Conditions:
        """The same of the first model that it starts from, which is itself where it starts from none."""
        return replace(self, training=self.training[:1])

    @property
    def order(self) -> tuple[int, int, tuple[tuple[int, float], ...], tuple[tuple[str, str], ...]]:
        """What sections are sorted by."""
        return self.max_new_tokens or 0, self.batch_size or 0, self.training, self.backbone

    def text(self, others: Iterable[Conditions] = ()) -> str:
        """Return them for people: the length of the texts, and of the rest what some of the others have otherwise.

        >>> continued = Conditions(64, 50, (), ((300, 0.0), (0, 2.0)))
        >>> continued.text(), continued.text([Conditions(32, 50)])
        ('64 new tokens', '64 new tokens, 300 steps + 2 epochs')
        """
        parts = self._parts()
        shown = {"length"}
        for other in others:
            unlike = other._parts()
            shown |= {name for name in parts if parts[name] != unlike.get(name)}
        return ", ".join(part for name, part in parts.items() if name in shown)

    def _parts(self) -> dict[str, str]:
        """Return each condition for people, by name."""
        length = "as many new tokens as the task decides"
        if self.max_new_tokens is not None:
            length = f"{self.max_new_tokens} new tokens"
        parts = {"length": length, "batch": f"evaluation in batches of {self.batch_size}"}
        parts["training"] = " + ".join(map(_trained, self.training)) or "unknown steps"
        for name, value in self.backbone:
            parts[f"backbone.{name}"] = f"backbone.{name}={value}"
        return parts


def conditions_of(row: TableRow) -> Conditions:
    """Return the conditions of a row of a leaderboard."""
    config = row.config
    options = config.get("backbone_options", {})
    return Conditions(
        length_of(row.decoding),
        config.get("evaluation", {}).get("batch_size"),
        tuple((name, str(options[name])) for name in sorted(options)),
        _training_of(config),
    )


def _training_of(config: Mapping[str, Any]) -> tuple[tuple[int, float], ...]:
    """Return steps and epochs of every training that made a model, the first one first."""
    before: tuple[tuple[int, float], ...] = ()
    if "start" in config:
        before = _training_of(config["start"])
    trainer = config.get("trainer", {})
    if "steps" not in trainer:
        return before
    return (*before, (trainer["steps"], trainer.get("epochs", 0.0)))


def _trained(length: tuple[int, float]) -> str:
    """Return steps, or epochs where they decide, for people."""
    steps, epochs = length
    if steps or not epochs:
        return f"{steps} steps"
    return f"{epochs:g} epochs"
