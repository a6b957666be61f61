"""Significance: whether two systems differ on the same test items.

Paired approximate randomisation (Noreen 1989; Riezler and Maxwell 2005) and not a paired bootstrap, whose usual p-value
rejects true null hypotheses of BLEU more than twice as often as it says. It is a test of these trained models on other
items. Whether another seed would differ is tested by `paired.paired_difference`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.metrics.sums import Form, Sums, values_of

__all__ = ["ROUNDS", "Comparison", "compare", "compare_all", "may_be_tested", "over_seeds", "random_swaps"]

ROUNDS = 10_000
CHUNK = 2**20
"""Swaps held at a time: 8 MiB as float64."""
SLACK = 1e-11
"""Sums in another order differ by less than this share of the values; a difference so near to the seen one is a tie."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """Two systems on the same items.

    Args:
        difference: value of ours less value of theirs, of all seeds together.
        p: two-sided.
        rounds: random swaps; no p is below 1 / (rounds + 1).
        n: items.
        seeds: that both have.
    """

    difference: float
    p: float
    rounds: int
    n: int
    seeds: tuple[int, ...]


def compare(ours: Mapping[int, Sums], theirs: Mapping[int, Sums], rounds: int = ROUNDS, seed: int = 0) -> Comparison:
    """Test whether two systems differ, by paired approximate randomisation over items.

    Under the null hypothesis it does not matter which system an output is of: each round swaps the two systems'
    statistics of each item with probability 1/2 and takes the difference again. `p = (hits + 1) / (rounds + 1)`, where
    a hit is a difference at least as large as the one seen (a value that is no number counts as one).

    Args:
        ours: by seed, the sufficient statistics of the column; row i is the same example everywhere.
        theirs: likewise. Statistics are summed over the seeds that both have.
        rounds: random swaps.
        seed: of the swaps. A bit generator's raw stream is used, so that p is the same on every machine.

    Raises:
        ValueError: no seed that both have, unlike forms or numbers of items, a value that is no number, or no round.

    >>> better = {1: Sums(Form("mean"), [[1, 1]] * 20)}
    >>> worse = {1: Sums(Form("mean"), [[0, 1]] * 20)}
    >>> comparison = compare(better, worse, rounds=999)
    >>> comparison.difference, comparison.p, compare(better, better, rounds=999).p
    (1.0, 0.001, 1.0)
    """
    seeds = tuple(sorted(set(ours) & set(theirs)))
    if not seeds:
        raise ValueError(f"expected a seed that both have, got {sorted(ours)} and {sorted(theirs)}")
    first, second = over_seeds([ours[seed] for seed in seeds]), over_seeds([theirs[seed] for seed in seeds])
    (p,) = compare_all([(first, second)], rounds, seed)
    return Comparison(first.value - second.value, p, rounds, len(first), seeds)


def compare_all(pairs: Sequence[tuple[Sums, Sums]], rounds: int = ROUNDS, seed: int = 0) -> list[float]:
    """Return the two-sided p-value of each of many pairs of systems, as `compare` does.

    Swaps depend on seed, rounds and number of items alone. So they are drawn once for all pairs of as many items, and
    applied in one matrix product to the columns of statistics that differ; systems share many of these, such as the
    number of words of the references.

    Args:
        pairs: sufficient statistics of ours and theirs, summed over seeds.
        rounds: random swaps.
        seed: of the swaps.

    Raises:
        ValueError: unlike forms or numbers of items, a value that is no number, or no round.
    """
    if rounds < 1:
        raise ValueError(f"expected at least 1 round, got {rounds}")
    for pair in pairs:
        _check_alike(pair)
        if not all(math.isfinite(side.value) for side in pair):
            raise ValueError(f"expected two values, got {pair[0].value} and {pair[1].value}")
    p_values = [1.0] * len(pairs)
    for n in {len(ours) for ours, _ in pairs}:
        places = [place for place, (ours, _) in enumerate(pairs) if len(ours) == n]
        hits = _hits([pairs[place] for place in places], n, rounds, seed)
        for place, count in zip(places, hits, strict=True):
            p_values[place] = (count + 1) / (rounds + 1)
    return p_values


def _hits(pairs: Sequence[tuple[Sums, Sums]], n: int, rounds: int, seed: int) -> list[int]:
    """Return for each pair how many rounds have a difference that is not nearer to 0 than the one seen."""
    columns: dict[bytes, int] = {}
    distinct: list[Floats] = []

    def places_of(side: Sums) -> list[int]:
        places = []
        for column in side.values.T:
            content = column.tobytes()
            if content not in columns:
                columns[content] = len(distinct)
                distinct.append(column)
            places.append(columns[content])
        return places

    places = [(places_of(ours), places_of(theirs)) for ours, theirs in pairs]
    seen = [abs(ours.value - theirs.value) - SLACK * max(abs(ours.value), abs(theirs.value)) for ours, theirs in pairs]
    stacked = np.array(distinct).T  # [n, distinct]
    hits = [0] * len(pairs)
    for swaps in random_swaps(rounds, n, seed):
        sums = swaps @ stacked  # [chunk, distinct]
        for place, ((ours, theirs), (of_ours, of_theirs)) in enumerate(zip(pairs, places, strict=True)):
            moved = sums[:, of_ours] - sums[:, of_theirs]
            found = values_of(ours.total - moved, ours.form) - values_of(theirs.total + moved, ours.form)
            hits[place] += len(found) - int(np.count_nonzero(np.abs(found) < seen[place]))
    return hits


def may_be_tested(ours: Sums, theirs: Sums) -> bool:
    """Return whether two systems are of one form and the same number of items, and both values are numbers."""
    alike = (ours.form, len(ours)) == (theirs.form, len(theirs))
    return alike and math.isfinite(ours.value) and math.isfinite(theirs.value)


def random_swaps(rounds: int, n: int, seed: int) -> Iterator[Floats]:
    """Yield 0 or 1 for each round and item, in chunks `[chunk, n]` of at most `CHUNK` numbers or one round."""
    bits, words, chunk = np.random.PCG64(seed), -(-n // 64), max(1, CHUNK // n)
    for start in range(0, rounds, chunk):
        size = min(chunk, rounds - start)
        raw = np.asarray(bits.random_raw(size * words), dtype="<u8").view(np.uint8).reshape(size, 8 * words)
        yield np.unpackbits(raw, axis=1, count=n).astype(np.float64)


def over_seeds(runs: Sequence[Sums]) -> Sums:
    """Return the sums of several runs over the same examples, added over the runs.

    The value is then that of all runs' texts as one corpus. For a mean with one count per item it is the mean over
    seeds; for a perplexity it is the geometric one; for BLEU it is near it.

    Raises:
        ValueError: no run, or unlike forms or numbers of items.

    >>> over_seeds([Sums(Form("mean"), [[1, 1]]), Sums(Form("mean"), [[2, 1]])]).value
    1.5
    """
    _check_alike(runs)
    if len(runs) == 1:
        return runs[0]
    return Sums(runs[0].form, sum(run.values for run in runs))


def _check_alike(runs: Sequence[Sums]) -> None:
    if not runs:
        raise ValueError("expected at least one run, got none")
    forms: dict[Form, None] = dict.fromkeys(run.form for run in runs)
    sizes = {len(run): None for run in runs}
    if len(forms) > 1:
        raise ValueError(f"expected one form of value, got {' and '.join(map(str, forms))}")
    if len(sizes) > 1:
        raise ValueError(f"expected the same examples, got {' and '.join(map(str, sizes))} items")
