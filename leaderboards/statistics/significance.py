"""Significance: whether two systems differ on the same test items, corrected for how often one looks.

Paired approximate randomisation (Noreen 1989; Riezler and Maxwell 2005) and not a paired bootstrap, whose usual p-value
rejects true null hypotheses of BLEU more than twice as often as it says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bench.leaderboards.statistics.value_statistics import ALPHA
from bench.metrics.sums import Form, Sums, values_of

__all__ = [
    "ALPHA",
    "ROUNDS",
    "Comparison",
    "Sides",
    "SwappedSums",
    "compare",
    "compare_all",
    "holm",
    "over_seeds",
    "sides_of",
    "swapped_differences",
    "tie_groups",
]

ROUNDS = 10_000
CHUNK = 2**19
"""Swaps held at a time: 4 MiB as float64."""
ROUNDS_AT_ONCE = 1000
"""Rounds of them at the most: the sums that moved are held for every pair."""
BLOCK = 2**17
"""Sums after swaps that become values at a time: 1 MiB, which a core has near."""
AT_ONCE = 256
"""Pairs whose statistics are swapped in one matrix product."""
SUMS_HELD = 8 * 10**6
"""Sums after swaps that are held from one test to the next: 64 MB, those of 800 lists of numbers."""
HELD = 5 * 10**6
"""Swaps that are held from one test to the next, where a table has no more: 5 MB, a byte each."""
SLACK = 1e-11
"""Sums in another order differ by less than this share of the values; a difference so near to the seen one is a tie."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """Two systems on the same items.

    Args:
        difference: value of ours less value of theirs, of all seeds together.
        p: two-sided.
        p_higher: one-sided, against ours being no higher; `p_lower` against its being no lower.
        rounds: random swaps; no p is below 1 / (rounds + 1).
        n: items.
        seeds: that both have.
    """

    difference: float
    p: float
    p_higher: float
    p_lower: float
    rounds: int
    n: int
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class Sides:
    """Two systems over the seeds that both have, ready to be tested.

    Args:
        ours, theirs: statistics summed over these seeds; row i is the same example in both.
        seeds: that both have.

    Raises:
        ValueError: unlike forms or numbers of items, or a value that is no number.
    """

    ours: Sums
    theirs: Sums
    seeds: tuple[int, ...]

    def __post_init__(self) -> None:
        _alike([self.ours, self.theirs])
        if not (math.isfinite(self.ours.value) and math.isfinite(self.theirs.value)):
            raise ValueError(f"expected two values, got {self.ours.value} and {self.theirs.value}")

    @property
    def difference(self) -> float:
        """Value of ours less value of theirs."""
        return self.ours.value - self.theirs.value

    @property
    def slack(self) -> float:
        """How much nearer than `difference` still counts as a tie."""
        return SLACK * max(abs(self.ours.value), abs(self.theirs.value))


def sides_of(ours: Mapping[int, Sums], theirs: Mapping[int, Sums]) -> Sides:
    """Return two systems over the seeds that both have.

    Args:
        ours: by seed, what the column is made of; row i is the same example everywhere.
        theirs: likewise.

    Raises:
        ValueError: no seed that both have, unlike forms or numbers of items, or a value that is no number.
    """
    seeds = tuple(sorted(set(ours) & set(theirs)))
    if not seeds:
        raise ValueError(f"expected a seed that both have, got {sorted(ours)} and {sorted(theirs)}")
    return Sides(over_seeds([ours[seed] for seed in seeds]), over_seeds([theirs[seed] for seed in seeds]), seeds)


def compare(ours: Mapping[int, Sums], theirs: Mapping[int, Sums], rounds: int = ROUNDS, seed: int = 0) -> Comparison:
    """Test whether two systems differ, by paired approximate randomisation over items.

    Under the null hypothesis it does not matter which system said what: each round swaps the two systems' statistics of
    each item with probability 1/2 and takes the difference again. `p = (hits + 1) / (rounds + 1)`, where a hit is a
    difference at least as large as the one seen (a value that is no number, too).

    It is a test over items for these trained models: whether another seed would win is for `intervals.seed_mean`.

    Args:
        ours: by seed, what the column is made of; row i is the same example everywhere.
        theirs: likewise. Statistics are summed over the seeds that both have.
        rounds: random swaps.
        seed: of the swaps. A bit generator's raw stream is used, so p is the same on every machine.

    Raises:
        ValueError: no seed that both have, unlike forms or numbers of items, or a value that is no number.

    >>> better = {1: Sums(Form("mean"), [[1, 1]] * 20)}
    >>> worse = {1: Sums(Form("mean"), [[0, 1]] * 20)}
    >>> comparison = compare(better, worse, rounds=999)
    >>> comparison.difference, comparison.p, compare(better, better, rounds=999).p
    (1.0, 0.001, 1.0)
    """
    (comparison,) = compare_all([sides_of(ours, theirs)], rounds, seed)
    return comparison


class SwappedSums:
    """Sums over the items that change sides in each round, held for the lists of numbers that were asked for last.

    A row is tested against many others, so its sums are made once. Their number is bounded by `SUMS_HELD`.
    """

    def __init__(self) -> None:
        self._held: dict[tuple[bytes, int, int], Floats] = {}

    def of(self, lists: Sequence[Floats], rounds: int, seed: int) -> Floats:
        """Return the sums `[lists, rounds]` of lists of as many numbers each."""
        keys = [(values.tobytes(), rounds, seed) for values in lists]
        new = {key: values for key, values in zip(keys, lists, strict=True) if key not in self._held}
        found = {key: self._held[key] for key in keys if key in self._held}
        if new:
            stacked = np.array(list(new.values()))
            sums = [stacked @ swaps.T for swaps in random_swaps(rounds, stacked.shape[1], seed)]
            found.update(zip(new, np.concatenate(sums, axis=1), strict=True))
        self._held |= found
        while sum(map(len, self._held.values())) > SUMS_HELD and len(self._held) > len(found):
            del self._held[next(iter(self._held))]
        return np.array([found[key] for key in keys])


def compare_all(
    pairs: Sequence[Sides], rounds: int = ROUNDS, seed: int = 0, swapped: SwappedSums | None = None
) -> list[Comparison]:
    """Test each of many pairs of systems as `compare` does, with the same result.

    Swaps depend on seed, rounds and number of items alone. So they are drawn once for all systems of as many items, and
    applied to the statistics of all of them in one matrix product.

    Args:
        pairs: what `sides_of` returns.
        rounds: random swaps.
        seed: of the swaps.
        swapped: holds sums from one call to the next.

    Raises:
        ValueError: fewer than one round.
    """
    if rounds < 1:
        raise ValueError(f"expected at least 1 round, got {rounds}")
    swapped = swapped or SwappedSums()
    alike: dict[tuple[int, Form], list[int]] = {}
    for place, sides in enumerate(pairs):
        alike.setdefault((len(sides.ours), sides.ours.form), []).append(place)
    comparisons = {}
    for (n, form), places in alike.items():
        size = min(AT_ONCE, max(1, SUMS_HELD // (2 * form.width * rounds)))
        for start in range(0, len(places), size):
            some = places[start : start + size]
            hits = _hits([pairs[place] for place in some], rounds, seed, swapped)  # [pairs, 3]
            for place, (p, p_higher, p_lower) in zip(some, ((hits + 1) / (rounds + 1)).tolist(), strict=True):
                sides = pairs[place]
                comparisons[place] = Comparison(sides.difference, p, p_higher, p_lower, rounds, n, sides.seeds)
    return [comparisons[place] for place in range(len(pairs))]


def _hits(pairs: Sequence[Sides], rounds: int, seed: int, swapped: SwappedSums) -> NDArray[np.int64]:
    """Count the hits of pairs of one form with as many items: two-sided, as high, as low `[pairs, 3]`."""
    form = pairs[0].ours.form
    distinct, columns = _distinct_columns([side.values for sides in pairs for side in (sides.ours, sides.theirs)])
    of_ours, of_theirs = columns[::2], columns[1::2]  # [pairs, k]
    moved = swapped.of(distinct, rounds, seed)  # [distinct columns, rounds]
    ours = np.array([sides.ours.total for sides in pairs])  # [pairs, k]
    theirs = np.array([sides.theirs.total for sides in pairs])  # [pairs, k]
    seen = np.array([sides.difference for sides in pairs])  # [pairs]
    slack = np.array([sides.slack for sides in pairs])  # [pairs]
    hits = np.zeros((len(pairs), 3), dtype=np.int64)
    size = max(1, BLOCK // (form.width * rounds))
    for start in range(0, len(pairs), size):
        block = slice(start, start + size)
        sums = np.moveaxis(moved[of_ours[block]] - moved[of_theirs[block]], 1, 2)  # [block, rounds, k]
        differences = _differences(ours[block, None], theirs[block, None], sums, form)  # [block, rounds]
        hits[block] = _hits_among(differences, seen[block, None], slack[block, None])
    return hits


def _distinct_columns(tables: Sequence[Floats]) -> tuple[list[Floats], NDArray[np.int64]]:
    """Part tables into their distinct columns: systems share many, such as the number of words of references.

    Args:
        tables: `[n, k]` each.

    Returns:
        The distinct columns `[n]` each, and the place of each column of each table `[tables, k]`.
    """
    places: dict[bytes, int] = {}
    distinct: list[Floats] = []
    places_of = []
    for table in tables:
        for column in table.T:
            content = column.tobytes()
            if content not in places:
                places[content] = len(distinct)
                distinct.append(column)
            places_of.append(places[content])
    return distinct, np.array(places_of).reshape(len(tables), -1)


def _hits_among(differences: Floats, seen: Floats, slack: Floats) -> NDArray[np.int64]:
    """Count differences that are not nearer to 0 than the one seen, not lower, and not higher; NaN is a hit of each.

    Args:
        differences: `[pairs, rounds]`.
        seen: `[pairs, 1]`.
        slack: `[pairs, 1]` how much nearer is still a tie.

    Returns:
        `[pairs, 3]`.
    """
    nearer = np.abs(differences) < np.abs(seen) - slack
    lower, higher = differences < seen - slack, differences > seen + slack
    misses = [np.count_nonzero(which, axis=1) for which in (nearer, lower, higher)]
    return differences.shape[1] - np.stack(misses, axis=1)


def swapped_differences(ours: Sums, theirs: Sums, swaps: Floats) -> Floats:
    """Return the difference of the two values after each set of swaps, `[rounds]`.

    Args:
        ours: `[rows, k]`.
        theirs: of the same form and as many rows.
        swaps: `[rounds, rows]`, 1 where a row's statistics change sides and 0 where not.

    >>> ours, theirs = Sums(Form("mean"), [[1, 1], [3, 1]]), Sums(Form("mean"), [[0, 1], [1, 1]])
    >>> swapped_differences(ours, theirs, np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]])).tolist()
    [1.5, -0.5, -1.5]
    """
    return _differences(ours.total, theirs.total, swaps @ (ours.values - theirs.values), ours.form)


def _differences(ours: Floats, theirs: Floats, moved: Floats, form: Form) -> Floats:
    """Return the difference of the two values `[...]` after the sums `[..., k]` have moved from ours to theirs."""
    return values_of(ours - moved, form) - values_of(theirs + moved, form)


def random_swaps(rounds: int, n: int, seed: int) -> Iterator[Floats]:
    """Yield 0 or 1 for each round and item, in chunks `[chunk, n]` of at most `CHUNK` numbers or one round."""
    drawn: Iterable[NDArray[np.uint8]] = _drawn_swaps(rounds, n, seed)
    if rounds * n <= HELD:
        drawn = _held_swaps(rounds, n, seed, CHUNK)
    for swaps in drawn:
        yield swaps.astype(np.float64)


@lru_cache(maxsize=1)
def _held_swaps(rounds: int, n: int, seed: int, chunk: int) -> Sequence[NDArray[np.uint8]]:
    return list(_drawn_swaps(rounds, n, seed))


def _drawn_swaps(rounds: int, n: int, seed: int) -> Iterator[NDArray[np.uint8]]:
    """Draw the bits of `random_swaps`."""
    bits, words = np.random.PCG64(seed), -(-n // 64)
    chunk = max(1, min(ROUNDS_AT_ONCE, CHUNK // n))
    for start in range(0, rounds, chunk):
        size = min(chunk, rounds - start)
        raw = np.asarray(bits.random_raw(size * words), dtype="<u8").view(np.uint8).reshape(size, 8 * words)
        yield np.unpackbits(raw, axis=1, count=n)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number by Holm's step-down rule (1979), in the order given.

    The i-th smallest of m is multiplied by m - i + 1, is no smaller than the one before it, and is at most 1. Rejecting
    where the result is at most alpha keeps the chance of any false rejection in the family at alpha.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03, 0.005])]
    [0.03, 0.06, 0.06, 0.02]
    """
    bad = [p for p in p_values if not 0 <= p <= 1]
    if bad:
        raise ValueError(f"expected p-values from 0 to 1, got {bad}")
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def tie_groups(
    values: Sequence[float | None],
    p_values_of: Callable[[int, Sequence[int]], Sequence[float]],
    higher: bool,
    alpha: float = ALPHA,
) -> list[int | None]:
    """Return each row's group: 0 for the best row and all that are not significantly different from it.

    The best of the rest then leads group 1, and so on. A leader's p-values are Holm-adjusted among the rows that are
    left. Being alike is not transitive: two rows of a group may differ from each other, but not from its leader.

    Args:
        values: a column; None for a row without a value or with a conflict, which gets no group.
        p_values_of: two-sided p of a row and of each of some others, by their places; asked only for rows that have a
            value.
        higher: whether higher is better.
        alpha: a p at most this large is a difference.

    Raises:
        ValueError: a value that is not finite.

    >>> tie_groups([3.0, None, 2.9, 1.0], lambda leader, rest: [0.5 if place == 2 else 0.01 for place in rest], True)
    [0, None, 0, 1]
    """
    if any(value is not None and not math.isfinite(value) for value in values):
        raise ValueError(f"expected finite values, None where there is none, got {list(values)}")
    sign = 1
    if higher:
        sign = -1
    ranked = [(sign * value, place) for place, value in enumerate(values) if value is not None]
    left = [place for _, place in sorted(ranked)]
    groups: list[int | None] = [None] * len(values)
    group = 0
    while left:
        leader, *rest = left
        adjusted = holm(p_values_of(leader, rest))
        alike = {leader} | {place for place, p in zip(rest, adjusted, strict=True) if p > alpha}
        for place in alike:
            groups[place] = group
        left, group = [place for place in left if place not in alike], group + 1
    return groups


def over_seeds(runs: Sequence[Sums]) -> Sums:
    """Return the sums of several runs over the same examples, added over the runs.

    The value is then that of all runs' texts as one corpus. For a mean with one count per item it is the mean over
    seeds; for a perplexity it is the geometric one; for BLEU it is near it.

    Raises:
        ValueError: no run, or unlike forms or numbers of items.

    >>> over_seeds([Sums(Form("mean"), [[1, 1]]), Sums(Form("mean"), [[2, 1]])]).value
    1.5
    """
    _alike(runs)
    if len(runs) == 1:
        return runs[0]
    return Sums(runs[0].form, sum(run.values for run in runs))


def _alike(runs: Sequence[Sums]) -> None:
    if not runs:
        raise ValueError("expected at least one run, got none")
    forms: dict[Form, None] = dict.fromkeys(run.form for run in runs)
    sizes = {len(run): None for run in runs}
    if len(forms) > 1:
        raise ValueError(f"expected one form of value, got {' and '.join(map(str, forms))}")
    if len(sizes) > 1:
        raise ValueError(f"expected the same examples, got {' and '.join(map(str, sizes))} items")
