"""Significance: enumeration of all swaps, Type-I error, many pairs at once, refusals, published outputs."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest

from bench.leaderboards.statistics.significance import may_be_tested, over_seeds, p_values_of
from bench.metrics.overlap.table_bleu import WEIGHTS, bleu_counts
from bench.metrics.sums import Sums, bleu, mean, perplexity, ratio, values_of
from tests.metrics.overlap.test_table_bleu import published, published_outputs


def systems(kind, n, rng, gap=0.0):
    """Two systems with the same distribution but for a gap: items vary, and both vary about them."""
    level = rng.normal(size=n)
    if kind == "mean":
        form, sides = mean(1), [np.c_[level + rng.normal(size=n) + g, np.ones(n)] for g in (gap, 0)]
    elif kind == "ratio":
        form, sides = ratio(), [np.c_[(b := rng.integers(1, 9, n)) * rng.random(n), b] for _ in "ab"]
    elif kind == "perplexity":
        count = rng.integers(5, 60, n)
        form, sides = perplexity(), [np.c_[count * np.exp(1 + level / 4 + rng.normal(size=n) / 4), count] for _ in "ab"]
    else:
        form, sides = bleu((0.5, 0.5), "exp"), [bleu_rows(level, rng) for _ in "ab"]
    return [Sums(form, side) for side in sides]


def bleu_rows(level, rng):
    length = rng.integers(6, 20, len(level))
    one = rng.binomial(length, 1 / (1 + np.exp(-level / 2)))
    two = rng.binomial(np.maximum(one - 1, 0), 0.5)
    return np.c_[one, two, length, length - 1, length, rng.integers(6, 20, len(level))]


def p_of(ours, theirs, rounds=10_000, seed=0):
    (p,) = p_values_of([(ours, theirs)], rounds, seed)
    return p


# The test itself


def difference_after(swaps, ours, theirs):
    """The difference of two systems after the statistics of some items have changed sides."""
    a = [y if s else x for s, x, y in zip(swaps, ours.values, theirs.values, strict=False)]
    b = [x if s else y for s, x, y in zip(swaps, ours.values, theirs.values, strict=False)]
    first, second = values_of([np.sum(a, axis=0), np.sum(b, axis=0)], ours.form)
    return first - second


@pytest.mark.parametrize("kind", ["mean", "ratio", "perplexity", "bleu"])
@pytest.mark.parametrize("n", [3, 8])
def test_p_is_the_share_of_all_swaps(kind, n):
    ours, theirs = systems(kind, n, np.random.default_rng(n))
    swaps = np.array(list(itertools.product([0.0, 1.0], repeat=n)))
    every = np.array([difference_after(some, ours, theirs) for some in swaps])
    rounds = 40_000
    share = np.mean(np.abs(every) >= abs(every[0]) - 1e-9)
    assert abs(p_of(ours, theirs, rounds) - share) <= 4.5 * math.sqrt(share * (1 - share) / rounds) + 1 / rounds


@pytest.mark.parametrize(
    "kind",
    ["mean", "ratio", pytest.param("perplexity", marks=pytest.mark.slow), pytest.param("bleu", marks=pytest.mark.slow)],
)
def test_type_one_error_is_what_it_says(kind):
    rng = np.random.default_rng(2026)
    found = [p_of(*systems(kind, 60, rng), rounds=399, seed=run) for run in range(2000)]
    assert 0.035 <= np.mean([p <= 0.05 for p in found]) <= 0.065


def test_identical_systems_do_not_differ_and_a_strong_difference_is_seen():
    for kind in ("mean", "ratio", "perplexity", "bleu"):
        ours, _ = systems(kind, 30, np.random.default_rng(1))
        assert p_of(ours, ours, rounds=500) == 1
    ours, theirs = systems("mean", 80, np.random.default_rng(1), gap=3.0)
    assert p_of(ours, theirs, 1999) == p_of(theirs, ours, 1999) == 1 / 2000


def test_the_order_of_items_hardly_matters_and_the_same_call_gives_the_same_p():
    ours, theirs = systems("bleu", 200, np.random.default_rng(5))
    order = np.random.default_rng(6).permutation(200)
    shuffled = [Sums(side.form, side.values[order]) for side in (ours, theirs)]
    first = p_of(ours, theirs, 9999)
    assert p_of(ours, theirs, 9999) == first != p_of(ours, theirs, 9999, seed=1)
    assert abs(p_of(*shuffled, 9999) - first) < 5 * math.sqrt(2 * first * (1 - first) / 9999)


def test_the_stream_of_swaps_is_always_the_same():
    """Raw numbers of a bit generator: a page is the same on every machine and with every numpy."""
    assert round(1000 * p_of(Sums(mean(1), [[i, 1] for i in range(9)]), Sums(mean(1), [[4.5, 1]] * 9), 999)) == 621


def test_statistics_of_seeds_are_summed_where_they_are_alike():
    first, second = systems("bleu", 40, np.random.default_rng(3))
    np.testing.assert_array_equal(over_seeds([first, second]).values, first.values + second.values)
    assert over_seeds([first, ONE]) is over_seeds([]) is None


def test_rounds_in_which_nothing_is_counted_are_hits():
    ours, theirs = Sums(ratio(), [[1, 1], [0, 0]]), Sums(ratio(), [[0, 0], [1, 2]])
    assert p_of(ours, theirs, 999) > 0.95  # half of the swaps leave one side without a denominator


# Many pairs at once


def many_pairs():
    """Pairs of every form and of several numbers of items, in an order that mixes them; some share a side."""
    rng, pairs = np.random.default_rng(11), []
    for n in (40, 7, 129):
        for kind in ("mean", "bleu", "perplexity", "ratio"):
            ours, theirs = systems(kind, n, rng)
            third, _ = systems(kind, n, rng)
            pairs += [(ours, theirs), (third, theirs), (theirs, ours), (ours, ours)]
    return pairs[::2] + pairs[1::2]


@pytest.mark.parametrize("chunk", [None, 1000])
def test_many_pairs_have_the_p_values_that_each_has_alone(chunk, monkeypatch):
    pairs = many_pairs()
    alone = [p_of(*pair, rounds=700, seed=3) for pair in pairs]
    if chunk is not None:
        monkeypatch.setattr("bench.leaderboards.statistics.significance.CHUNK", chunk)
    together = p_values_of(pairs, rounds=700, seed=3)
    assert together == alone
    assert len(set(together)) > 15
    assert p_values_of([], rounds=700) == []


def test_p_values_of_many_pairs_are_those_of_the_swaps_of_the_seed():
    """Drawn here from the raw stream, a word of 64 items at a time, and counted pair by pair: other draws, other p."""
    rounds = 40
    pairs = many_pairs()
    found = p_values_of(pairs, rounds, seed=5)
    assert found == [slow_p_value(*sides, rounds, seed=5) for sides in pairs]
    assert found != [slow_p_value(*sides, rounds, seed=6) for sides in pairs]


def slow_p_value(ours, theirs, rounds, seed):
    """Count hits one difference after another."""
    words, bits = -(-len(ours) // 64), np.random.PCG64(seed)
    slack, hits = 1e-11 * max(abs(ours.value), abs(theirs.value)), 0
    for _ in range(rounds):
        raw = b"".join(int(bits.random_raw()).to_bytes(8, "little") for _ in range(words))
        difference = difference_after(np.unpackbits(np.frombuffer(raw, np.uint8)), ours, theirs)
        hits += math.isnan(difference) or abs(difference) >= abs(ours.value - theirs.value) - slack
    return (hits + 1) / (rounds + 1)


# Refusals


ONE = Sums(mean(), [[1, 1], [0, 1]])


def test_only_values_of_one_form_on_as_many_items_may_be_tested():
    nothing = Sums(mean(), [[0, 0], [0, 0]])
    assert may_be_tested(ONE, ONE)
    for other in (Sums(mean(1), ONE.values), Sums(mean(), [[1, 1]]), nothing):
        assert not may_be_tested(ONE, other)
        with pytest.raises(ValueError, match="expected two finite values of one form over the same items, got"):
            p_of(ONE, other)


# Size and real outputs


def test_ten_thousand_rounds_of_a_whole_test_set_are_small():
    """All at once would take 350 MB."""
    sides = systems("bleu", 4305, np.random.default_rng(0))
    tracemalloc.start()
    p_of(*sides)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6


@pytest.mark.slow  # three whole test sets
@published
def test_published_systems_differ_in_bleu_3_or_do_not():
    """Corpus BLEU-3: 27.09 beside 26.89 is noise between two fine-tunings, 26.89 beside 19.49 is not."""
    rows = {}
    for name in ("plog_plog-bart-large", "plog_bart-large", "GPT_gpt2_12.65"):
        rows[name] = Sums(bleu(WEIGHTS[2], "tiny"), [bleu_counts(*p) for p in zip(*published_outputs(name))])  # noqa: B905
    plog, bart, gpt = rows.values()
    assert plog.value - bart.value == pytest.approx(0.20, abs=0.0101)
    assert len(plog) == 4305
    assert p_of(plog, bart) > 0.05
    assert p_of(bart, gpt) == 1 / 10_001
