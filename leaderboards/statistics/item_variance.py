"""Item variance: how much of an effect's error comes from which test items were drawn, the same for every seed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bench.metrics.sums import Sums, values_of

__all__ = ["shared_item_variance", "shared_variance"]

Floats = NDArray[np.float64]


def shared_item_variance(
    ours: Mapping[int, Sums], theirs: Mapping[int, Sums], logarithm: bool = False
) -> tuple[float, int]:
    """Return the variance that test items give to a mean difference over seeds, and the number of rows behind it.

    All seeds are scored on the same items, so more seeds do not make it smaller, and the spread over seeds does not
    show it. It is the covariance of the items' contributions between seeds; what an item adds to one seed alone is
    in that spread already and is left out. A row's contribution to a value that is no mean (a ratio, BLEU, a
    perplexity) is the one of the jackknife (Efron 1982): what the value loses without the row.

    Args:
        ours: by seed, what the column is made of; row i is the same example everywhere. Rows that are not independent
            (sentences of one table) are one row: `Sums.together`.
        theirs: likewise.
        logarithm: whether the effect is the logarithm of the ratio and not the difference.

    Returns:
        Variance and rows, as `Contrast` takes them. The variance is 0 with one seed or one row, where none is known.

    Raises:
        ValueError: no seed that both have, unlike numbers of rows, or a value without a row that is no number.

    >>> from bench.metrics.sums import Form
    >>> by_seed = {seed: Sums(Form("mean", 1.0), [[i % 2, 1] for i in range(11)]) for seed in (0, 1)}
    >>> nothing = {seed: Sums(Form("mean", 1.0), [[0, 1]] * 11) for seed in (0, 1)}
    >>> variance, rows = shared_item_variance(by_seed, nothing)
    >>> round(variance, 6), rows
    (0.024793, 11)
    """
    seeds = sorted(set(ours) & set(theirs))
    sizes = {len(runs[seed]) for runs in (ours, theirs) for seed in seeds}
    if len(sizes) != 1:
        raise ValueError(f"expected a seed that both have and one number of rows, got {seeds} and {sorted(sizes)}")
    contributions = []
    for seed in seeds:
        difference = _without(ours[seed], logarithm) - _without(theirs[seed], logarithm)
        contributions.append((len(difference) - 1) * (difference.mean() - difference))
    return float(shared_variance(contributions)), len(contributions[0])


def shared_variance(contributions: ArrayLike) -> Floats:
    """Return the variance of a mean over items and seeds that the items have in common over seeds, at least 0.

    `sum over pairs of seeds of their covariance over items / (pairs * items)`.

    Args:
        contributions: [..., seeds, items], the effect of each seed on each item.
    """
    values = np.asarray(contributions, dtype=np.float64)
    seeds, items = values.shape[-2:]
    if seeds < 2 or items < 2:
        return np.zeros(values.shape[:-2])
    centred = values - values.mean(-1, keepdims=True)
    together = (centred.sum(-2) ** 2).sum(-1) - (centred**2).sum((-1, -2))
    return np.asarray(np.maximum(together, 0) / (seeds * (seeds - 1) * (items - 1) * items))


def _without(side: Sums, logarithm: bool) -> Floats:
    """Return the value, or its logarithm, without each row in turn."""
    values = values_of(side.total - side.values, side.form)
    if len(values) > 1 and not (np.isfinite(values).all() and (not logarithm or (values > 0).all())):
        raise ValueError(f"expected a {side.form.kind} without any one row that is a number (above 0 for a ratio)")
    if logarithm:
        return np.asarray(np.log(values))
    return values
