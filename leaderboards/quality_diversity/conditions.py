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
        steps: of training; where it starts from another model, behind the steps of that one.
    """

    max_new_tokens: int | None = None
    batch_size: int | None = None
    backbone: tuple[tuple[str, str], ...] = ()
    steps: tuple[int, ...] = ()

    @property
    def start(self) -> Conditions:
        """The same of the first model that it starts from, which is itself where it starts from none."""
        return replace(self, steps=self.steps[:1])

    @property
    def order(self) -> tuple[int, int, tuple[int, ...], tuple[tuple[str, str], ...]]:
        """What sections are sorted by."""
        return self.max_new_tokens or 0, self.batch_size or 0, self.steps, self.backbone

    def text(self, others: Iterable[Conditions] = ()) -> str:
        """Return them for people: the length of the texts, and of the rest what some of the others have otherwise.

        >>> Conditions(64, 50, (), (300, 100)).text(), Conditions(64, 50, (), (300, 100)).text([Conditions(32, 50)])
        ('64 new tokens', '64 new tokens, 300+100 steps')
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
        parts["steps"] = f"{'+'.join(map(str, self.steps)) or 'unknown'} steps"
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
        _steps_of(config),
    )


def _steps_of(config: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the steps of every training that made a model, the first one first."""
    before: tuple[int, ...] = ()
    if "start" in config:
        before = _steps_of(config["start"])
    steps = config.get("trainer", {}).get("steps")
    if steps is None:
        return before
    return (*before, steps)
