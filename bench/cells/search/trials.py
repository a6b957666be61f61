"""Trials: the search in which every method gets the same number of tries over a space of its own.

A tuned method beside an untuned baseline is no comparison of methods. Here all have as many trials, baseline included,
unless more are asked for some by name: such as maximum likelihood with the number that a paper gave its method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from bench.base.options import options_of
from bench.base.space import Space, points
from bench.cells.search.search import Search
from bench.config.config import OPTIONS, CellConfig, Override, override
from bench.config.resolve import Method, ancestors, find_method
from bench.config.second import second_of
from bench.errors import UsageError, did_you_mean
from bench.models.backbones import find_backbone
from bench.models.core.objective import Objective

BY = "nats per target token on the validation split, of one seed"


@dataclass(frozen=True)
class Trials(Search):
    """Quasi-random points of each method's space, on one seed, maybe with a share of the steps.

    Args:
        number: of trials of every method; 0 to tune only those in `of_method`.
        of_method: numbers of some methods, by name.
        steps: share of a training that a trial is; 1 for all of it.
        rows: of the validation split that a trial is scored on, at most; None for all.
    """

    number: int
    of_method: Mapping[str, int] = field(default_factory=dict)
    steps: Fraction = Fraction(1)
    rows: int | None = None

    def combinations(self, method: Method, config: CellConfig) -> list[tuple[str, ...]]:
        """Return a method's trials: the first points of its sequence. None for weights that are only read."""
        number = self.of_method.get(method.trained_name, self.number)
        if not number or not (config.trainer.steps or config.trainer.epochs):
            return []
        space = space_of(method, config)
        drawn = points(method.trained_name, len(space), number)
        return [sets_at(point, space, method, config) for point in drawn]

    def content(self, method: Method, config: CellConfig) -> dict[str, Any]:
        """Return the number of trials, the space, the share of the steps, the rows and what was chosen by."""
        space = space_of(method, config)
        content = {
            "trials": self.of_method.get(method.trained_name, self.number),
            "space": {name: dimension.text for name, dimension in space.items()},
            "steps": str(self.steps),
            "by": BY,
        }
        if self.rows is not None:
            content["rows"] = self.rows
        return content

    def only_while_tried(self, method: Method, config: CellConfig) -> tuple[str, ...]:
        """Return fewer steps, or fewer epochs, for the method itself, and fewer rows to score it on.

        What it starts from is trained whole.
        """
        sets = []
        if self.rows is not None:
            sets.append(f"evaluation.rows={self.rows}")
        if self.steps == 1:
            return tuple(sets)
        trainer = config.trainer
        if trainer.steps:
            fewer = f"steps={max(1, round(trainer.steps * self.steps))}"
        else:
            fewer = f"epochs={float(trainer.epochs * self.steps):.6g}"
        return (*sets, f"{method.trained_name}:trainer.{fewer}")

    def whole(self) -> Search | None:
        """Return the same trials with all the steps of a training; None where they have them."""
        if self.steps == 1:
            return None
        return replace(self, steps=Fraction(1))

    def seeds(self, seeds: tuple[int, ...]) -> tuple[int, ...]:
        """Return the first seed."""
        return seeds[:1]

    def starts_from(self, method: Method) -> list[str]:
        """Return the methods whose chosen settings its parents have."""
        return trained_before(method)


def trained_before(method: Method) -> list[str]:
    """Return the methods that a method is fine-tuned from, the oldest first, and that of its second model."""
    names = [older.trained_name for older in reversed(ancestors(method))]
    if second := second_of(method):
        names.append(second.trained_name)
    return names


def space_of(method: Method, config: CellConfig) -> Space:
    """Return the space a method declares.

    Raises:
        UsageError: it is empty, or names a setting that the method does not have.
    """
    assert issubclass(method.kind, Objective)
    space = method.kind.space
    if not space:
        raise UsageError(f"the space of method '{method.name}' should have a setting or more; it has none")
    for name in space:
        item = override(name, "")
        known = settings_of(item, method, config)
        if item.name not in known:
            raise UsageError(
                f"the space of method '{method.name}' names '{name}', which it does not have"
                f"{did_you_mean(item.name, known)}"
            )
    return space


def settings_of(item: Override, method: Method, config: CellConfig) -> Sequence[str]:
    """Return the settings of the section that an override is for."""
    if item.section == "method":
        return list(options_of(method.kind))
    if item.section == "backbone":
        return list(options_of(find_backbone(config.asked("backbone")).value.load()))
    if item.section == "trainer":
        return OPTIONS["trainer"]
    raise UsageError(
        f"the space of method '{method.name}' names '{item.text}'; settings of a method are method.*, backbone.* and "
        f"trainer.* (or optim.*), since tasks and evaluations are the same for all"
    )


def sets_at(point: Sequence[float], space: Space, method: Method, config: CellConfig) -> tuple[str, ...]:
    """Return the settings at one point of a space, for this method only."""
    content = config.as_dict()
    sets = []
    for share, (name, dimension) in zip(point, space.items(), strict=True):
        item = override(name, "")
        section = item.section
        if section in ("method", "backbone"):
            section += "_options"
        value = dimension.at(share, content[section].get(item.name))
        sets.append(f"{method.trained_name}:{name}={value}")
    return tuple(sets)


def read_trials(words: Sequence[str]) -> Trials:
    """Read the words after `--trials`: the numbers of trials, then maybe `steps=SHARE` and `rows=N`.

    Raises:
        UsageError: a word is none of these, or `parse_trials` refuses.

    >>> read_trials(["3,mle=18", "steps=1/3", "rows=5000"])
    Trials(number=3, of_method={'mle': 18}, steps=Fraction(1, 3), rows=5000)
    """
    numbers, *others = words
    limits = {"steps": "1", "rows": ""}
    for word in others:
        name, equals, value = word.partition("=")
        if not equals or name not in limits:
            near = did_you_mean(name, limits)
            raise UsageError(f"--trials takes numbers of trials, then steps=SHARE and rows=N, not '{word}'{near}")
        limits[name] = value
    return parse_trials(numbers, **limits)


def parse_trials(text: str, steps: str, rows: str = "") -> Trials:
    """Read the numbers of trials, their share of a training and their rows.

    Args:
        text: a number, numbers by method, or both: `3`, `3,histalign=18,mle=18`.
        steps: a share of a training: `1/3`, `0.5`, `1`.
        rows: a number from 1, or nothing for all.

    Raises:
        UsageError: it is none of these, a method is not known, or stands there twice.

    >>> parse_trials("3,mle=18", "1/3")
    Trials(number=3, of_method={'mle': 18}, steps=Fraction(1, 3), rows=None)
    """
    number, of_method = 0, dict[str, int]()
    for part in text.split(","):
        name, _, trials = part.strip().rpartition("=")
        if not trials.isdigit() or int(trials) < 1:
            raise UsageError(f"--trials takes numbers from 1, e.g. 3 or 3,mle=18, not '{text}'")
        if name in of_method or (not name and number):
            raise UsageError(f"--trials says twice how many trials {name or 'every method'} has: '{text}'")
        if name:
            of_method[find_method(name).trained_name] = int(trials)
        else:
            number = int(trials)
    try:
        share = Fraction(steps)
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not 0 < share <= 1:
        raise UsageError(f"steps of --trials is a share of a training above 0 and at most 1, e.g. 1/3, not '{steps}'")
    if not rows:
        return Trials(number, of_method, share)
    if not rows.isdigit() or int(rows) < 1:
        raise UsageError(f"rows of --trials is a number from 1, e.g. 2000, not '{rows}'")
    return Trials(number, of_method, share, int(rows))
