"""Significance: whether two systems differ on the same test items.

Paired approximate randomisation (Noreen 1989; Riezler and Maxwell 2005) and not a paired bootstrap, whose usual p-value
rejects true null hypotheses of BLEU more than twice as often as it says. It is a test of these trained models on other
items. Whether another seed would differ is tested by `intervals.paired_difference`.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bench.leaderboards.statistics.constants import ROUNDS, SLACK
from bench.metrics.sums import Sums, values_of

CHUNK = 2**20
"""Swaps held at a time: 8 MiB as float64."""
Floats = NDArray[np.float64]


def p_values_of(pairs: Sequence[tuple[Sums, Sums]], rounds: int = ROUNDS, seed: int = 0) -> list[float]:
    """Return the two-sided p-value of each pair of systems, by paired approximate randomisation over items.

    Under the null hypothesis it does not matter which system an output is of: each round swaps the two systems'
    statistics of each item with probability 1/2 and takes the difference again. `p = (hits + 1) / (rounds + 1)`, where
    a hit is a difference at least as large as the one seen (a value that is no number counts as one).

    Swaps depend on seed, rounds and number of items alone. So they are drawn once for all pairs of as many items, and
    applied in one matrix product to the columns of statistics that differ; systems share many of these, such as the
    number of words of the references. `scipy.stats.permutation_test` would draw and recompute for each pair.

    Args:
        pairs: sufficient statistics of ours and theirs, summed over seeds; row i is the same example in both.
        rounds: random swaps; no p is below 1 / (rounds + 1).
        seed: of the swaps. A bit generator's raw stream is used, so that p is the same on every machine.

    Raises:
        ValueError: unlike forms or numbers of items, or a value that is no number.

    >>> from bench.metrics.sums import mean
    >>> better, worse = Sums(mean(), [[1, 1]] * 20), Sums(mean(), [[0, 1]] * 20)
    >>> p_values_of([(better, worse), (better, better)], rounds=999)
    [0.001, 1.0]
    """
    for ours, theirs in pairs:
        if not may_be_tested(ours, theirs):
            sides = " and ".join(f"{side.value} of {len(side)} items, {side.form}" for side in (ours, theirs))
            raise ValueError(f"expected two finite values of one form over the same items, got {sides}")
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
    for swaps in _random_swaps(rounds, n, seed):
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


def _random_swaps(rounds: int, n: int, seed: int) -> Iterator[Floats]:
    """Yield 0 or 1 for each round and item, in chunks `[chunk, n]` of at most `CHUNK` numbers or one round."""
    bits, words, chunk = np.random.PCG64(seed), -(-n // 64), max(1, CHUNK // n)
    for start in range(0, rounds, chunk):
        size = min(chunk, rounds - start)
        raw = np.asarray(bits.random_raw(size * words), dtype="<u8").view(np.uint8).reshape(size, 8 * words)
        yield np.unpackbits(raw, axis=1, count=n).astype(np.float64)


def over_seeds(runs: Sequence[Sums]) -> Sums | None:
    """Return the sums of several runs over the same examples, added over the runs; None where they are not alike.

    The value is then that of all runs' texts as one corpus. For a mean with one count per item it is the mean over
    seeds; for a perplexity it is the geometric one; for BLEU it is near it.

    >>> from bench.metrics.sums import mean
    >>> over_seeds([Sums(mean(1), [[1, 1]]), Sums(mean(1), [[2, 1]])]).value
    1.5
    """
    if len({(run.form, len(run)) for run in runs}) != 1:
        return None
    return runs[0] if len(runs) == 1 else Sums(runs[0].form, sum(run.values for run in runs))
