"""Analysis: the intervals and tests of a leaderboard.

Every value has its 95 % t interval over seeds, from three seeds on. Every value of a tested column has its difference
from the baseline of the same backbone and decoding, paired by seed, with a t interval and a p-value; and the p-value of
the paired randomisation test over test items, where the column is a sum over items. Each of the two is corrected by
Holm over the rows of its column, in which a test of the same numbers counts once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from bench.leaderboards.row import StoredSums, Value
from bench.leaderboards.statistics.baseline import baseline_of
from bench.leaderboards.statistics.constants import ROUNDS
from bench.leaderboards.statistics.intervals import holm, paired_difference, seed_mean
from bench.leaderboards.statistics.significance import may_be_tested, over_seeds, p_values_of
from bench.leaderboards.table import Table

if TYPE_CHECKING:
    import pandas as pd

    from bench.metrics.sums import Sums

TESTS = ("difference", "low", "high", "p", "p_items")
"""What a difference of two values has; fields of `Value`."""
Pair = tuple[Value, Value]


def add_statistics(table: Table, rounds: int = ROUNDS, full: bool = True) -> None:
    """Give the values of a table their statistics.

    Args:
        table: with all its rows; intervals over seeds are of all columns.
        rounds: random swaps of a test over items.
        full: whether columns that are not shown are tested, too.
    """
    families, pairs, columns = [], [], table.all_columns if full else table.columns
    for row in table.rows:
        for value in row.values.values():
            value.half = None if value.mean is None else seed_mean(value.repeated).half
        if (place := baseline_of(table, row)) is None:
            continue
        base = table.rows[place]
        for column in columns:
            ours, theirs = row.values.get(column), base.values.get(column)
            if ours is not None and theirs is not None and ours.higher_is_better is not None:
                ours.against = "" if None in (ours.mean, theirs.mean) else base.id
                families.append(column)
                pairs.append((ours, theirs))
    lines = corrected_differences(pairs, families, rounds).itertuples(index=False)
    for (ours, _), line in zip(pairs, lines, strict=True):
        if line.difference == line.difference:  # a difference that there is not is not a number
            for name, number in zip(TESTS, line, strict=True):
                setattr(ours, name, number if number == number else None)


def corrected_differences(pairs: Sequence[Pair], families: Sequence[Hashable], rounds: int = ROUNDS) -> pd.DataFrame:
    """Return `differences` with p-values corrected by Holm over the tests of each pair's family.

    The rows of all decodings of a model have copies of its likelihood, whose test counts once.
    """
    keys = [(family, *(id(value.by_seed) for value in pair)) for family, pair in zip(families, pairs, strict=True)]
    distinct = dict(zip(keys, pairs, strict=True))
    found = differences(list(distinct.values()), rounds)
    for name in ("p", "p_items"):
        found[name] = found.groupby([family for family, *_ in distinct])[name].transform(adjusted)
    places = {key: place for place, key in enumerate(distinct)}
    return found.iloc[[places[key] for key in keys]]


def differences(pairs: Sequence[Pair], rounds: int = ROUNDS) -> pd.DataFrame:
    """Return a line for each pair of values with `TESTS`, whose p-values are not corrected.

    A line has no number where the two values share no seed. Pairs of one table cost least together.

    Args:
        pairs: ours and theirs, of one column each.
        rounds: random swaps of the test over items.
    """
    import pandas as pd

    @cache
    def summed(parts: tuple[StoredSums, ...]) -> Sums | None:
        runs = [sums for part in parts if (sums := part.read()) is not None]
        return over_seeds(runs) if len(runs) == len(parts) else None

    lines, tested = [], {}
    for place, (ours, theirs) in enumerate(pairs):
        effect = None if None in (ours.mean, theirs.mean) else paired_difference(ours.by_seed, theirs.by_seed)
        lines.append([None] * 4 if effect is None else [effect.mean, effect.low, effect.high, effect.p])
        if effect is not None and ours.has_sums and theirs.has_sums:
            first, second = (summed(tuple(side.sums[seed] for seed in effect.by_seed)) for side in (ours, theirs))
            if first is not None and second is not None and may_be_tested(first, second):
                tested[place] = first, second
    found = pd.DataFrame(lines, columns=list(TESTS[:-1]), dtype=float)
    found["p_items"] = pd.Series(p_values_of(list(tested.values()), rounds), index=list(tested), dtype=float)
    return found


def adjusted(p_values: pd.Series[float]) -> pd.Series[float]:
    """Return the p-values of a family corrected by Holm over those there are."""
    import pandas as pd

    known = p_values.dropna()
    return pd.Series(holm(known.tolist()), known.index, dtype=float).reindex(p_values.index)
