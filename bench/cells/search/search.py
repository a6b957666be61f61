"""Search: what is tried for each method of a run, as `--trials` or `--grid` says.

A comparison at one shared learning rate can be decided by that rate alone. So `--trials` gives every method the same
number of learning rates around its recipe's own, baseline included, unless more are asked for some by name: such as
maximum likelihood with the number that a paper gave its method. With few trials, methods differ in the rates they draw;
`lr=A,B,C` tries the same rates for all. `--grid` tries the same typed values for every method, and it alone tries
options of a method itself: a weight that trades likelihood for something else cannot be picked by likelihood.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from bench.base.keys import key_of
from bench.config.config import VALIDATED, CellConfig, override, parse_sets
from bench.config.resolve import Method, ancestors, find_method, reference_of
from bench.errors import UsageError, did_you_mean

BY = "negative log-likelihood per target token on the validation split, "

FACTOR = 4
"""The learning rate of a trial is the recipe's, divided or multiplied by at most this."""

DIGITS = 3
"""Significant digits of a learning rate that is tried, as a person would type it."""


@dataclass(frozen=True)
class Search:
    """The settings that are tried: learning rates of each method on one seed, or a grid on every seed.

    Args:
        number: of learning rates of every method; 0 to tune only those in `of_method`.
        of_method: numbers of some methods, by name.
        steps: share of a training that a trial is; 1 for all of it.
        rows: of the validation split that a trial is scored on, at most; None for all.
        rates: learning rates to try for every method, in place of those of its own sequence; `number` is their number.
        axes: of a grid, `section.name=value,value` each; empty for trials.
    """

    number: int = 0
    of_method: Mapping[str, int] = field(default_factory=dict)
    steps: Fraction = Fraction(1)
    rows: int | None = None
    rates: tuple[float, ...] = ()
    axes: tuple[str, ...] = ()

    def combinations(self, method: Method, config: CellConfig) -> list[tuple[str, ...]]:
        """Return the combinations to try, as typed after --set; none for weights that are only read."""
        if self.axes:
            return combinations(self.axes)
        number = self.of_method.get(method.trained_name, self.number)
        if not number or not (config.trainer.steps or config.trainer.epochs):
            return []
        name = method.trained_name
        return [(f"{name}:optim.lr={rate}",) for rate in self.rates or learning_rates(name, config.trainer.lr, number)]

    def content(self, method: Method, config: CellConfig) -> dict[str, Any]:
        """Return what the record says about the search itself."""
        content: dict[str, Any]
        if self.axes:
            content = {"axes": list(self.axes), "by": f"{BY}mean over seeds"}
            select = config.trainer.select
            if method_options(self.examples()) and select and select not in VALIDATED:
                content["method_options_by"] = select
            return content
        space = f"its own value, divided or multiplied by at most {FACTOR}, logarithmic"
        content = {
            "trials": self.of_method.get(method.trained_name, self.number),
            "space": {"optim.lr": list(self.rates) or space},
            "steps": str(self.steps),
            "by": f"{BY}of one seed",
        }
        if self.rows is not None:
            content["rows"] = self.rows
        return content

    def examples(self) -> tuple[str, ...]:
        """Return settings that were typed, for a check that some method of the run takes them."""
        return combinations(self.axes)[0] if self.axes else ()

    def only_while_tried(self, method: Method, config: CellConfig) -> tuple[str, ...]:
        """Return fewer steps or epochs for the method itself, and fewer rows; what it starts from is trained whole."""
        sets = [] if self.rows is None else [f"evaluation.rows={self.rows}"]
        trainer = config.trainer
        if self.steps < 1 and trainer.steps:
            sets.append(f"{method.trained_name}:trainer.steps={max(1, round(trainer.steps * self.steps))}")
        elif self.steps < 1:
            sets.append(f"{method.trained_name}:trainer.epochs={float(trainer.epochs * self.steps):.6g}")
        return tuple(sets)

    def whole(self) -> Search | None:
        """Return the same trials at full length, for a tie break; None where they have it already."""
        return replace(self, steps=Fraction(1)) if self.steps < 1 else None

    def seeds(self, seeds: tuple[int, ...]) -> tuple[int, ...]:
        """Return the seeds of the runs that are tried: all of a grid, the first of trials."""
        return seeds if self.axes else seeds[:1]

    def starts_from(self, method: Method) -> list[str]:
        """Return the methods whose picked rates a method starts from, the oldest first, with its reference model's."""
        if self.axes:
            return []
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


def method_options(sets: Sequence[str]) -> tuple[str, ...]:
    """Return those of some settings that are options of the method itself.

    >>> method_options(["optim.lr=0.1", "histalign:method.alpha=1"])
    ('histalign:method.alpha=1',)
    """
    parsed = zip(sets, parse_sets(sets), strict=True)
    return tuple(text for text, item in parsed if item.section == "method")


# What is typed ------------------------------------------------------------------------------------------------------


def read_grid(axes: Sequence[str]) -> Search:
    """Read the words after `--grid`. Errors as in `combinations`."""
    combinations(axes)
    return Search(axes=tuple(axes))


def combinations(axes: Sequence[str]) -> list[tuple[str, ...]]:
    """Return every combination of a grid as `--set` texts.

    >>> combinations(["optim.lr=1e-5,3e-5", "method.alpha=1"])
    [('optim.lr=1e-5', 'method.alpha=1'), ('optim.lr=3e-5', 'method.alpha=1')]
    """
    sets_of: dict[str, list[str]] = {}
    for axis in axes:
        name, _, values = axis.partition("=")
        if override(name, values).section == "execution":  # refuses what is no section.name
            raise UsageError(f"--grid tries settings that change results; '{name}' changes none: give it to --set")
        sets = [f"{name}={value.strip()}" for value in values.split(",") if value.strip()]
        if not sets:
            raise UsageError(f"--grid takes section.name=value,value, not '{axis}'")
        if name in sets_of:
            raise UsageError(f"--grid has '{name}' twice; give all its values at once, with commas")
        sets_of[name] = sets
    return list(itertools.product(*sets_of.values()))


def read_trials(words: Sequence[str]) -> Search:
    """Read the words after `--trials`: numbers of trials or `lr=RATE,RATE`, then maybe `steps=SHARE` and `rows=N`.

    Numbers are one for every method, some by method, or both: `3,histalign=18,mle=18`.

    Raises:
        UsageError: a word is none of these, a method is not known, or is given twice.

    >>> read_trials(["3,mle=18", "steps=1/3", "rows=5000"])
    Search(number=3, of_method={'mle': 18}, steps=Fraction(1, 3), rows=5000, rates=(), axes=())
    >>> read_trials(["lr=1e-5,5e-5"])
    Search(number=2, of_method={}, steps=Fraction(1, 1), rows=None, rates=(1e-05, 5e-05), axes=())
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
    try:
        share = Fraction(limits["steps"])
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not 0 < share <= 1:
        raise UsageError(
            f"steps of --trials is a share of a training above 0 and at most 1, e.g. 1/3, not '{limits['steps']}'"
        )
    rows = limits["rows"]
    if rows and (not rows.isdigit() or int(rows) < 1):
        raise UsageError(f"rows of --trials is a number from 1, e.g. 2000, not '{rows}'")
    found = Search(steps=share, rows=int(rows) if rows else None)
    if first.startswith("lr="):
        rates = parse_rates(first.removeprefix("lr="))
        return replace(found, number=len(rates), rates=rates)
    number, of_method = parse_numbers(first)
    return replace(found, number=number, of_method=of_method)


def parse_numbers(text: str) -> tuple[int, dict[str, int]]:
    """Return the number of trials of every method, 0 for none, and those of some methods by name."""
    number, of_method = 0, dict[str, int]()
    for part in text.split(","):
        name, _, trials = part.strip().rpartition("=")
        if not trials.isdigit() or int(trials) < 1:
            raise UsageError(f"--trials takes numbers from 1, e.g. 3 or 3,mle=18, not '{text}'")
        if name in of_method or (not name and number):
            raise UsageError(f"--trials gives the number of trials of {name or 'every method'} twice: '{text}'")
        if name:
            of_method[find_method(name).trained_name] = int(trials)
        else:
            number = int(trials)
    return number, of_method


def parse_rates(text: str) -> tuple[float, ...]:
    """Read different learning rates above 0, with commas between them."""
    try:
        rates = tuple(float(rate) for rate in text.split(","))
    except ValueError:
        rates = ()
    if not rates or len(set(rates)) < len(rates) or not all(0 < rate < math.inf for rate in rates):
        raise UsageError(f"lr of --trials takes different numbers above 0, e.g. lr=1e-5,5e-5, not '{text}'")
    return rates
