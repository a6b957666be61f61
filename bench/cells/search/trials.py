"""Trials: the search in which every method gets the same number of learning rates around its recipe's own.

A tuned method beside an untuned baseline is no comparison of methods. Here all have as many trials, baseline included,
unless more are asked for some by name: such as maximum likelihood with the number that a paper gave its method. With
few trials, methods differ in the rates they draw; `lr=A,B,C` tries the same rates for all. Options of a method itself
stay as they are: a weight that trades likelihood for something else cannot be picked by likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from bench.base.keys import key_of
from bench.cells.search.search import Search
from bench.config.config import CellConfig
from bench.config.reference import reference_of
from bench.config.resolve import Method, ancestors, find_method
from bench.errors import UsageError, did_you_mean

BY = "negative log-likelihood per target token on the validation split, of one seed"

FACTOR = 4
"""The learning rate of a trial is the recipe's, divided or multiplied by at most this."""

DIGITS = 3
"""Significant digits of a learning rate that is tried, as a person would type it."""


@dataclass(frozen=True)
class Trials(Search):
    """Learning rates of each method, on one seed, maybe with a share of the steps.

    Args:
        number: of trials of every method; 0 to tune only those in `of_method`.
        of_method: numbers of some methods, by name.
        steps: share of a training that a trial is; 1 for all of it.
        rows: of the validation split that a trial is scored on, at most; None for all.
        rates: learning rates to try for every method, in place of those of its own sequence; `number` is their number.
    """

    number: int
    of_method: Mapping[str, int] = field(default_factory=dict)
    steps: Fraction = Fraction(1)
    rows: int | None = None
    rates: tuple[float, ...] = ()

    def combinations(self, method: Method, config: CellConfig) -> list[tuple[str, ...]]:
        """Return a method's trials: the first learning rates of its sequence. None for weights that are only read."""
        number = self.of_method.get(method.trained_name, self.number)
        if not number or not (config.trainer.steps or config.trainer.epochs):
            return []
        name = method.trained_name
        rates = self.rates or learning_rates(name, config.trainer.lr, number)
        return [(f"{name}:optim.lr={rate}",) for rate in rates]

    def content(self, method: Method, config: CellConfig) -> dict[str, Any]:
        """Return the number of trials, the range, the share of the steps, the rows and what was picked by."""
        space: Any = f"its own value, divided or multiplied by at most {FACTOR}, logarithmic"
        if self.rates:
            space = list(self.rates)
        content: dict[str, Any] = {
            "trials": self.of_method.get(method.trained_name, self.number),
            "space": {"optim.lr": space},
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
        """Return the same trials at full length; None where they have it already."""
        if self.steps == 1:
            return None
        return replace(self, steps=Fraction(1))

    def seeds(self, seeds: tuple[int, ...]) -> tuple[int, ...]:
        """Return the first seed."""
        return seeds[:1]

    def starts_from(self, method: Method) -> list[str]:
        """Return the methods whose picked settings its parents have."""
        return trained_before(method)


def trained_before(method: Method) -> list[str]:
    """Return the methods that a method is fine-tuned from, the oldest first, and that of its reference model."""
    names = [older.trained_name for older in reversed(ancestors(method))]
    if reference := reference_of(method):
        names.append(reference.trained_name)
    return names


def learning_rates(name: str, rate: float, number: int) -> list[float]:
    """Return the learning rates that a method's first trials have, each order of magnitude as likely.

    They are the first of a scrambled Sobol sequence of the method's own (Owen 1998), so that a search of more trials
    begins with those of a search of fewer.

    >>> learning_rates("mle", 1e-3, 2)
    [0.000978, 0.00131]
    """
    import torch

    seed = int(key_of({"space of": name})[:12], 16)
    shares = torch.quasirandom.SobolEngine(1, scramble=True, seed=seed).draw(number, dtype=torch.float64)
    return [float(f"{rate * FACTOR ** (2 * share - 1):.{DIGITS}g}") for share in shares.flatten().tolist()]


def read_trials(words: Sequence[str]) -> Trials:
    """Read the words after `--trials`: numbers of trials or `lr=RATE,RATE`, then maybe `steps=SHARE` and `rows=N`.

    Raises:
        UsageError: a word is none of these, or `parse_trials` refuses.

    >>> read_trials(["3,mle=18", "steps=1/3", "rows=5000"])
    Trials(number=3, of_method={'mle': 18}, steps=Fraction(1, 3), rows=5000, rates=())
    """
    first, *others = words or [""]
    limits = {"steps": "1", "rows": ""}
    for word in others:
        name, equals, value = word.partition("=")
        if not equals or name not in limits:
            near = did_you_mean(name, limits)
            raise UsageError(
                f"--trials takes numbers of trials or lr=RATE,RATE, then steps=SHARE and rows=N, not '{word}'{near}"
            )
        limits[name] = value
    return parse_trials(first, **limits)


def parse_trials(text: str, steps: str, rows: str = "") -> Trials:
    """Read the numbers of trials or the learning rates to try, their share of a training and their rows.

    Args:
        text: a number, numbers by method, or both: `3`, `3,histalign=18,mle=18`; or rates that every method tries:
            `lr=1e-5,5e-5`.
        steps: a share of a training: `1/3`, `0.5`, `1`.
        rows: a number from 1, or nothing for all.

    Raises:
        UsageError: it is none of these, a method is not known, or stands there twice.

    >>> parse_trials("lr=1e-5,5e-5", "1/3")
    Trials(number=2, of_method={}, steps=Fraction(1, 3), rows=None, rates=(1e-05, 5e-05))
    """
    number, of_method, rates = 0, dict[str, int](), tuple[float, ...]()
    if text.startswith("lr="):
        rates = parse_rates(text.removeprefix("lr="))
        text = str(len(rates))
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
    if rows and (not rows.isdigit() or int(rows) < 1):
        raise UsageError(f"rows of --trials is a number from 1, e.g. 2000, not '{rows}'")
    return Trials(number, of_method, share, int(rows) if rows else None, rates)


def parse_rates(text: str) -> tuple[float, ...]:
    """Read learning rates with commas between them.

    Raises:
        UsageError: one is not a number above 0, or stands there twice.
    """
    try:
        rates = tuple(float(rate) for rate in text.split(","))
    except ValueError:
        rates = ()
    if not rates or len(set(rates)) < len(rates) or not all(0 < rate < math.inf for rate in rates):
        raise UsageError(f"lr of --trials takes different numbers above 0, e.g. lr=1e-5,5e-5, not '{text}'")
    return rates
