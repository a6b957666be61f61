"""Asked: what a person wants of a ladder, before anything is looked up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench.base.keys import key_of
from bench.config.arguments import RunArguments
from bench.config.config import parse_sets
from bench.errors import UsageError
from bench.ladder.sizes import BACKBONE, Size

__all__ = ["MOST_EPOCHS", "PRESET", "Asked", "default_epochs", "parse_epochs", "parse_hours"]

PRESET = "small"
MOST_EPOCHS = 4.0
"""Passes over the training text, those of a fine-tuning among them: beyond it repeated text is worth less."""
EPOCHS = (3.0, 2.0, 0.5)
"""Of the rungs, smallest first; further rungs have the last."""
LEAST_SEEDS = 2
DECIDED = ("trainer.steps", "trainer.epochs", "trainer.lr", "backbone.width", "backbone.layers", "backbone.heads")
"""Settings that a ladder decides itself."""
UNITS = {"h": 1.0, "m": 1 / 60}
"""Hours of a unit of time."""


@dataclass(frozen=True)
class Asked:
    """A ladder. What stands behind `budget` changes speed and place, not what is run.

    Args:
        task: that all rungs train and are scored on.
        methods: names and groups, as typed.
        sizes: of the models, smallest first.
        epochs: of each rung, smallest first.
        seeds: how many: 0, 1, 2 for 3.
        sets: `section.name=value` for all rungs.
        budget: hours of all that is run; None for any.

    Raises:
        UsageError: fewer than two seeds or rungs, another number of epochs than of sizes, or a setting that the ladder
            decides itself.
    """

    task: str
    methods: tuple[str, ...]
    sizes: tuple[Size, ...]
    epochs: tuple[float, ...]
    seeds: int = 3
    sets: tuple[str, ...] = ()
    budget: float | None = None
    jobs: int = 1
    state_every: float = 300.0  # seconds
    data_dir: str | None = None
    results: str = "results"

    def __post_init__(self) -> None:
        if self.seeds < LEAST_SEEDS:
            raise UsageError(
                f"--seeds takes how many seeds there are, {LEAST_SEEDS} or more, since one says nothing of noise; "
                f"not {self.seeds}"
            )
        if len(self.sizes) < 2:
            raise UsageError(f"a ladder has two rungs or more, not {len(self.sizes)}; give --rungs 2 or more --sizes")
        if len(self.epochs) != len(self.sizes):
            raise UsageError(f"--epochs takes a number for each of {len(self.sizes)} rungs, not {len(self.epochs)}")
        for item in parse_sets(self.sets):
            if f"{item.section}.{item.name}" in DECIDED:
                raise UsageError(
                    f"a ladder decides {item.section}.{item.name} itself; leave it out of --set and give --sizes or "
                    f"--epochs (two learning rates are tried for every method)"
                )

    @property
    def key(self) -> str:
        """The hash of what decides which cells there are."""
        decides: dict[str, Any] = {
            "task": self.task,
            "methods": self.methods,
            "sizes": [[size.width, size.layers] for size in self.sizes],
            "epochs": self.epochs,
            "seeds": self.seeds,
            "sets": self.sets,
            "budget": self.budget,
        }
        return key_of(decides)

    def arguments(self, methods: tuple[str, ...], sets: tuple[str, ...]) -> RunArguments:
        """Return the `bench run` of some methods with settings of one rung."""
        return RunArguments(
            tasks=(self.task,),
            methods=methods,
            seeds=tuple(range(self.seeds)),
            backbone=BACKBONE,
            preset=PRESET,
            sets=(*self.sets, *sets, f"execution.state_every={self.state_every}"),
            controls=False,
            jobs=self.jobs,
            data_dir=self.data_dir,
            results=self.results,
        )


def default_epochs(rungs: int) -> tuple[float, ...]:
    """Return the epochs of so many rungs where nobody says them: the larger a model, the fewer.

    >>> default_epochs(2), default_epochs(4)
    ((3.0, 2.0), (3.0, 2.0, 0.5, 0.5))
    """
    further = max(0, rungs - len(EPOCHS))
    return (*EPOCHS[:rungs], *[EPOCHS[-1]] * further)


def parse_epochs(text: str) -> tuple[float, ...]:
    """Read what was typed after --epochs.

    Raises:
        UsageError: a part is no number above 0, or more than `MOST_EPOCHS`.

    >>> parse_epochs("3,2,0.5")
    (3.0, 2.0, 0.5)
    """
    found = []
    for part in text.split(","):
        try:
            epochs = float(part)
        except ValueError:
            epochs = 0.0
        if not 0 < epochs <= MOST_EPOCHS:
            raise UsageError(
                f"--epochs takes a number above 0 and at most {MOST_EPOCHS:g} for each rung, such as 3,2,0.5, "
                f"not '{text}'"
            )
        found.append(epochs)
    return tuple(found)


def parse_hours(text: str) -> float:
    """Read what was typed after --budget: hours or minutes.

    Raises:
        UsageError: it is none of them, or not above 0.

    >>> parse_hours("8h"), parse_hours("90m")
    (8.0, 1.5)
    """
    try:
        hours = float(text[:-1]) * UNITS[text[-1:]]
    except (ValueError, KeyError):
        hours = 0.0
    if not 0 < hours < float("inf"):
        raise UsageError(f"--budget takes hours or minutes above 0, such as 8h or 90m, not '{text}'")
    return hours
