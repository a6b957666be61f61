"""Sums: the sufficient statistics of a column, one row for each example, so that tests and intervals need no texts.

A value that is a function of sums over examples (a mean, a ratio, a perplexity, a corpus BLEU) is stored as the numbers
that are summed. To swap or to resample examples is then an addition, and nothing is tokenised again.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Form",
    "Kind",
    "Smoothing",
    "Sums",
    "bleu",
    "mean",
    "perplexity",
    "ratio",
    "value_of",
    "values_of",
]

Kind = Literal["mean", "ratio", "perplexity", "bleu"]
Smoothing = Literal["none", "exp", "tiny"]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Form:
    """How sums over examples become a value; make it by `mean`, `ratio`, `perplexity` or `bleu`.

    Args:
        kind: one of these four.
        scale: factor of the value, 100 for percent; a perplexity has none.
        weights: of the n-gram orders, for BLEU only.
        smoothing: for BLEU only, the precision of an order without a match.

    Raises:
        ValueError: an unknown kind or smoothing, as in a file of a newer version.
    """

    kind: Kind
    scale: float = 1.0
    weights: tuple[float, ...] = ()
    smoothing: Smoothing = "none"

    def __post_init__(self) -> None:
        for name, value, known in (("kind", self.kind, Kind), ("smoothing", self.smoothing, Smoothing)):
            if value not in get_args(known):
                raise ValueError(f"{name} {value!r} is unknown; there are: {', '.join(get_args(known))}")

    @property
    def width(self) -> int:
        """Number of statistics of a row."""
        return 2 * len(self.weights) + 2 if self.kind == "bleu" else 2


def mean(scale: float = 100.0) -> Form:
    """Return the form `scale * sum of values / sum of counts`; a row is (value, count).

    >>> Sums(mean(), [[1, 1], [0, 1], [1, 1], [1, 1]]).value
    75.0
    """
    return Form("mean", scale)


def ratio(scale: float = 100.0) -> Form:
    """Return the form `scale * sum of numerators / sum of denominators`; a row is (numerator, denominator).

    >>> Sums(ratio(1), [[1, 2], [3, 6]]).value
    0.5
    """
    return Form("ratio", scale)


def perplexity() -> Form:
    """Return the form `exp(sum of nll / sum of counts)`; a row is (negative log-likelihood in nats, units).

    >>> round(Sums(perplexity(), [[2 * math.log(8), 2], [0, 2]]).value, 6)
    2.828427
    """
    return Form("perplexity")


def bleu(weights: Sequence[float] = (0.25,) * 4, smoothing: Smoothing = "none") -> Form:
    """Return the form of corpus BLEU (Papineni et al. 2002) in percent.

    `100 * min(1, exp(1 - r / h)) * exp(sum of w_n * log(matches_n / totals_n))`. A row has the matches of each n-gram
    order, the totals of each, the length h of the hypothesis and the length r of its reference.

    Args:
        weights: one for each order; they need not sum to one.
        smoothing: precision of an order without a match. `none`: the value is 0. `exp`: the k-th such order has
            precision 1 / (2^k * total), sacrebleu's default. `tiny`: the smallest positive float, nltk's rule. The
            value is 0 without any match, and an order without n-grams makes it 0.

    >>> round(Sums(bleu((0.5, 0.5)), [[3, 2, 4, 3, 4, 6]]).value, 6)
    42.888194
    """
    return Form("bleu", 100.0, tuple(weights), smoothing)


@dataclass(frozen=True, init=False, eq=False)
class Sums:
    """The sufficient statistics of one column of one run.

    Args:
        form: how their sums become the value.
        values: float64 `[rows, k]`; row i of two systems must be the same example. Counts are whole numbers.

    Raises:
        ValueError: no rows, a wrong number of statistics, a number that is not finite, a negative denominator, a count
            that is not whole, or more matches than n-grams.
    """

    form: Form
    values: Floats = field(repr=False)

    def __init__(self, form: Form, values: ArrayLike) -> None:
        try:
            array = np.array(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"expected a table of numbers, got {values!r:.60}") from error
        if array.ndim != 2 or not len(array) or array.shape[1] != form.width:
            raise ValueError(f"expected one row or more of {form.width} numbers for {form.kind}, got {array.shape}")
        _check(form, array)
        array.flags.writeable = False
        object.__setattr__(self, "form", form)
        object.__setattr__(self, "values", array)

    def __len__(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sums) and self.form == other.form and np.array_equal(self.values, other.values)

    @cached_property
    def total(self) -> Floats:
        """Sums over rows `[k]`, exact before one rounding, so that the order of the rows does not matter."""
        total = np.array([math.fsum(column) for column in self.values.T.tolist()])
        total.flags.writeable = False
        return total

    @property
    def value(self) -> float:
        """The value of the column; NaN where nothing was counted."""
        value = value_of(self.total.tolist(), self.form)
        return math.nan if value is None else value

    def together(self, groups: Sequence[str]) -> Sums:
        """Return the statistics summed by group, with the groups in the order of their names.

        The value stays the same; tests and intervals then swap and resample whole groups.

        Args:
            groups: `[rows]` group of each row.

        >>> Sums(mean(1), [[1, 1], [2, 1], [6, 1]]).together(["b", "a", "b"]).values.tolist()
        [[2.0, 1.0], [7.0, 2.0]]
        """
        if len(groups) != len(self):
            raise ValueError(f"expected a group for each of {len(self)} rows, got {len(groups)}")
        names, places = np.unique(np.array(groups, dtype=str), return_inverse=True)
        sums = np.zeros((len(names), self.form.width))
        np.add.at(sums, places, self.values)
        return Sums(self.form, sums)


def value_of(total: Sequence[float], form: Form) -> float | None:
    """Return the value of summed statistics: the number that is stored and shown.

    `values_of` gives the same for many rows of sums at once, to about 1e-15, for tests and intervals.

    Args:
        total: `[k]` sums over rows, each added exactly.
        form: how they become a value.

    Returns:
        None where the denominator is 0; infinity where a perplexity is too large for float64.

    >>> value_of([3, 4], mean()), value_of([0, 0], ratio())
    (75.0, None)
    """
    if form.kind == "bleu":
        return _bleu_of_sacrebleu(total) if form.smoothing == "exp" else _bleu_of_nltk(total, form)
    numerator, denominator = total
    if denominator == 0:
        return None
    if form.kind != "perplexity":
        return form.scale * numerator / denominator
    try:
        return math.exp(numerator / denominator)
    except OverflowError:
        return math.inf


def _bleu_of_sacrebleu(total: Sequence[float]) -> float:
    """Return corpus BLEU in percent by the operations of sacrebleu in their order, equal to it in every bit."""
    n = len(total) // 2 - 1
    matches, totals, (length, reference_length) = total[:n], total[n : 2 * n], total[2 * n :]
    if not any(matches) or not all(totals):
        return 0.0
    halvings, logs = 1.0, 0.0
    for matched, of in zip(matches, totals, strict=True):
        if matched:
            logs += math.log(100.0 * matched / of)
        else:
            halvings *= 2
            logs += math.log(100.0 / (halvings * of))
    return _brevity(length, reference_length) * math.exp(logs / n)


def _bleu_of_nltk(total: Sequence[float], form: Form) -> float:
    """Return corpus BLEU in percent by the operations of nltk in their order, equal to it in every bit."""
    n = len(form.weights)
    matches, totals, (length, reference_length) = total[:n], total[n : 2 * n], total[2 * n :]
    used = [weight > 0 for weight in form.weights]
    if not any(matches) or not all(itertools.compress(totals, used)):
        return 0.0
    if form.smoothing == "none" and not all(itertools.compress(matches, used)):
        return 0.0
    logs = []
    for weight, matched, of in zip(form.weights, matches, totals, strict=True):
        logs.append(weight * math.log(matched / of if matched else sys.float_info.min))
    return form.scale * (_brevity(length, reference_length) * math.exp(math.fsum(logs)))


def _brevity(length: float, reference_length: float) -> float:
    """Return BLEU's factor for texts that are shorter than their references."""
    return 1.0 if length >= reference_length else math.exp(1 - reference_length / length)


def values_of(sums: ArrayLike, form: Form) -> Floats:
    """Return the value of each row of summed statistics.

    Args:
        sums: `[..., k]`.
        form: how they become a value.

    Returns:
        `[...]`; NaN where the denominator is 0, infinity where a perplexity is too large for float64.

    >>> values_of([[3, 4], [1, 2], [0, 0]], mean()).tolist()
    [75.0, 50.0, nan]
    """
    array = np.asarray(sums, dtype=np.float64)
    if array.shape[-1:] != (form.width,):
        raise ValueError(f"expected {form.width} sums for {form.kind}, got the shape {array.shape}")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if form.kind == "bleu":
            return form.scale * _bleu_of_rows(array, form)
        quotient = np.where(array[..., 1] == 0, np.nan, array[..., 0] / array[..., 1])
        return np.exp(quotient) if form.kind == "perplexity" else form.scale * quotient


def _bleu_of_rows(array: Floats, form: Form) -> Floats:
    """Return corpus BLEU from 0 to 1 of sums `[..., 2 N + 2]`; call it within `np.errstate`."""
    n = len(form.weights)
    matches, totals, length, reference_length = array[..., :n], array[..., n : 2 * n], array[..., -2], array[..., -1]
    missed = matches == 0
    if form.smoothing == "exp":
        lowest = 1 / (np.exp2(np.cumsum(missed, axis=-1)) * totals)
    else:
        lowest = np.full(matches.shape, sys.float_info.min)
    logs = np.log(np.where(missed, lowest, matches / totals)) * form.weights
    used = np.array(form.weights) > 0
    zero = totals == 0
    if form.smoothing == "none":
        zero |= missed
    zero = (zero & used).any(axis=-1) | missed.all(axis=-1)
    brevity = np.exp(np.minimum(0, 1 - reference_length / length))
    return np.where(zero, 0, brevity * np.exp(np.where(used, logs, 0).sum(axis=-1)))


def _check(form: Form, values: Floats) -> None:
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(f"row {row}: expected a finite number, got {values[row, column]} in place {column}")
    counts = values if form.kind == "bleu" else values[:, 1:]
    wrong = counts < 0
    if form.kind != "ratio":
        wrong |= counts != np.floor(counts)
    if form.kind == "bleu":
        n = len(form.weights)
        wrong[:, :n] |= counts[:, :n] > counts[:, n : 2 * n]
    if wrong.any():
        row = int(wrong.any(axis=1).argmax())
        raise ValueError(f"row {row}: expected counts, matches no more than n-grams, got {values[row].tolist()}")
