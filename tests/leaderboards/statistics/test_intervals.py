"""Intervals: tabulated quantiles, coverage where it holds and where it does not, slow re-computations, refusals."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.leaderboards.statistics.intervals import (
    Interval,
    aggregate,
    bootstrap,
    bootstrap_difference,
    bootstrap_differences,
    interquartile_mean,
    probability_of_improvement,
    seed_mean,
    standard_deviation,
    student_t,
)
from bench.leaderboards.statistics.resampling import draws, resamples
from bench.metrics.overlap.table_bleu import WEIGHTS, bleu_counts
from bench.metrics.sums import Sums, bleu, mean, perplexity, ratio
from tests.metrics.overlap.test_table_bleu import published, published_outputs

# Two-sided 95 % and 99 % points of Student's t as printed in tables.
TABULATED = {
    1: (12.706, 63.657), 2: (4.303, 9.925), 3: (3.182, 5.841), 4: (2.776, 4.604), 5: (2.571, 4.032), 6: (2.447, 3.707),
    7: (2.365, 3.499), 8: (2.306, 3.355), 9: (2.262, 3.250), 10: (2.228, 3.169), 15: (2.131, 2.947), 20: (2.086, 2.845),
    30: (2.042, 2.750), 60: (2.000, 2.660), 120: (1.980, 2.617),
}  # fmt: skip


def counted(values):
    return Sums(mean(1), np.c_[values, np.ones(len(values))])


def covered(truth, intervals):
    return np.mean([found.low <= truth <= found.high for found in intervals])


# Student t over seeds


FLOATS = st.floats(-1e150, 1e150)


@settings(max_examples=300, deadline=None)
@given(st.lists(FLOATS | st.integers(-3, 3).map(float), min_size=2, max_size=8))
def test_the_standard_deviation_is_that_of_the_library_in_every_bit(values):
    assert standard_deviation(values) == statistics.stdev(values)


def test_a_root_just_above_the_middle_of_two_floats_is_rounded_up():
    assert standard_deviation([96.6, 48.1, 44.6]) == 29.064583258667238  # 29.064583258667234 without a sticky bit


@pytest.mark.parametrize("df", TABULATED)
def test_quantiles_are_the_tabulated_ones(df):
    assert (round(student_t(df), 3), round(student_t(df, 0.99), 3)) == TABULATED[df]


@pytest.mark.parametrize("df", [1, 2, 3, 4, 5, 9, 30, 121])
def test_the_density_within_a_quantile_is_the_level(df):
    constant = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
    nodes, weights = np.polynomial.legendre.leggauss(400)
    for level in (0.5, 0.9, 0.95, 0.99):
        half = student_t(df, level) / 2
        density = constant * (1 + (half * (nodes + 1)) ** 2 / df) ** (-(df + 1) / 2)
        assert 2 * half * (weights * density).sum() == pytest.approx(level, abs=1e-11)


def test_quantiles_with_a_closed_form():
    for level in (0.5, 0.95, 0.999):
        assert student_t(1, level) == pytest.approx(math.tan(math.pi * level / 2), rel=1e-12)
        assert student_t(2, level) == pytest.approx(level * math.sqrt(2 / (1 - level**2)), rel=1e-12)
    assert student_t(10_000) == pytest.approx(statistics.NormalDist().inv_cdf(0.975), abs=3e-4)


@pytest.mark.parametrize("n", [3, 5, 10])
def test_the_interval_over_seeds_covers_what_it_says(n):
    runs = np.random.default_rng(n).normal(20, 0.7, size=(4000, n)).tolist()
    found = [seed_mean(values) for values in runs]
    assert 0.935 <= np.mean([abs(one.mean - 20) <= one.half for one in found]) <= 0.965


def test_a_bootstrap_over_three_seeds_would_not():
    found = [
        bootstrap(counted(v), rounds=200, seed=i) for i, v in enumerate(np.random.default_rng(0).normal(size=(500, 3)))
    ]
    assert covered(0, found) < 0.85


def test_seed_mean_by_hand():
    found = seed_mean([20.0, 22.0, 24.0])
    assert (found.mean, found.n) == (22, 3)
    assert found.half == pytest.approx(4.302652729749464 * 2 / math.sqrt(3), rel=1e-12)
    assert [seed_mean(values).half for values in ([1.0], [1.0, 2.0])] == [None, None]
    assert seed_mean([5.0] * 3).half == 0


@pytest.mark.parametrize("values", [[], [1.0, math.nan, 2.0], [math.inf]])
def test_a_diverged_seed_is_not_a_number(values):
    with pytest.raises(ValueError, match="one finite value or more"):
        seed_mean(values)


# Bootstrap over items


def skewed(rng, n):
    return counted(rng.exponential(size=n))


def of_ratio(rng, n):
    below = rng.integers(1, 9, n)
    return Sums(ratio(1), np.c_[rng.binomial(below, 0.3), below])


def of_perplexity(rng, n):
    count = rng.integers(20, 60, n)
    return Sums(perplexity(), np.c_[count * rng.gamma(16, 2 / 16, n), count])


def of_bleu(rng, n):
    length = rng.integers(8, 20, n)
    one = rng.binomial(length, 0.6)
    two = rng.binomial(np.maximum(one - 1, 0), 0.5)
    return Sums(bleu((0.5, 0.5)), np.c_[one, two, length, length - 1, length, rng.integers(8, 21, n)])


@pytest.mark.slow
@pytest.mark.parametrize("make", [of_ratio, of_perplexity, of_bleu])
def test_the_bootstrap_covers_what_it_says(make):
    rng = np.random.default_rng(12)
    truth = make(rng, 400_000).value
    found = [bootstrap(make(rng, 100), rounds=500, seed=i) for i in range(2000)]
    assert 0.935 <= covered(truth, found) <= 0.965


@pytest.mark.slow
def test_the_bootstrap_of_a_difference_covers_what_it_says_and_is_narrower_than_two():
    rng, found, apart = np.random.default_rng(3), [], []
    for i in range(2000):
        level = rng.normal(size=(80, 1)) * 2
        one, other = (counted((level + rng.normal(size=(80, 1)) + gap)[:, 0]) for gap in (0.5, 0))
        found.append(bootstrap_difference(one, other, rounds=500, seed=i))
        apart.append(found[-1].high - found[-1].low)
    assert 0.935 <= covered(0.5, found) <= 0.965
    assert np.mean(apart) < 0.55 * 2 * 1.96 * math.sqrt(2 * 5 / 80)


def test_the_bootstrap_is_too_narrow_for_few_items_and_for_items_in_groups():
    rng = np.random.default_rng(5)
    few = [bootstrap(skewed(rng, 8), rounds=500, seed=i) for i in range(600)]
    assert covered(1, few) < 0.93
    grouped = [np.repeat(rng.normal(size=20), 5) + 0.3 * rng.normal(size=100) for _ in range(600)]
    assert covered(0, [bootstrap(counted(v), rounds=500, seed=i) for i, v in enumerate(grouped)]) < 0.75


def test_the_correction_for_skew_helps_and_ends_are_not_symmetric():
    found = bootstrap(skewed(np.random.default_rng(8), 60), rounds=4000)
    assert found.high - found.value > 1.1 * (found.value - found.low)


@pytest.mark.parametrize("make", [of_ratio, of_perplexity, of_bleu])
def test_samples_are_those_of_rows_drawn_one_by_one(make):
    items = make(np.random.default_rng(0), 12)
    (start, counts), *more = resamples(50, 12, seed=4)
    assert (start, more, counts.shape) == (0, [], (50, 12))
    assert (counts.sum(axis=1) == 12).all()
    rows = draws((50, 12), 12, seed=4)
    for drawn, count in zip(rows, counts, strict=True):
        assert np.bincount(drawn, minlength=12).tolist() == count.tolist()
        assert Sums(items.form, items.values[drawn]).value == pytest.approx(
            Sums(items.form, np.r_[[count @ items.values]]).value, rel=1e-12
        )


def test_chunks_do_not_change_the_draws(monkeypatch):
    items = of_bleu(np.random.default_rng(0), 40)
    whole = bootstrap(items)
    monkeypatch.setattr("bench.leaderboards.statistics.resampling.CHUNK", 1000)
    assert len(list(resamples(100, 40, 0))) == 4
    assert (bootstrap(items).low, bootstrap(items).high) == pytest.approx((whole.low, whole.high), rel=1e-12)


def test_draws_are_even_and_always_the_same():
    counts = np.bincount(draws((70_000,), 7, seed=1), minlength=7)
    assert len(counts) == 7
    assert np.abs(counts - 10_000).max() < 500
    assert draws((2, 4), 100, seed=0).tolist() == [[63, 26, 4, 1], [81, 91, 60, 72]]


@pytest.mark.parametrize("held", [None, 0])
def test_many_differences_have_the_intervals_that_each_has_alone_in_every_bit(held, monkeypatch):
    rng, pairs = np.random.default_rng(12), []
    for n in (30, 64, 30, 1):
        for make in (of_ratio, of_perplexity, of_bleu):
            pairs.append((make(rng, n), make(rng, n)))
    endless = Sums(perplexity(), [[1e6, 1]] * 30)
    pairs.insert(2, (endless, of_perplexity(rng, 30)))
    alone = [bootstrap_difference(*pair, rounds=300, seed=4) for pair in pairs]
    if held is not None:
        monkeypatch.setattr("bench.leaderboards.statistics.resampling.HELD", held)
    assert bootstrap_differences(pairs, rounds=300, seed=4) == alone
    assert bootstrap_differences(pairs, rounds=300, seed=5) != alone
    assert [interval.low is None for interval in alone].count(True) == 4
    assert bootstrap_differences([]) == []


def test_too_little_gives_no_interval():
    assert bootstrap(counted([3.0])) == Interval(3, None, None)
    assert bootstrap(Sums(perplexity(), [[1e6, 1], [1, 1]])).low is None  # infinite
    assert bootstrap(counted([2.0] * 9)) == Interval(2, 2, 2)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: bootstrap_difference(counted([1, 2]), counted([1])), "the same examples and one form, got 2 rows of"),
        (lambda: bootstrap_difference(counted([1]), Sums(mean(), [[1, 1]])), "scale=1.* and 1 rows of .*scale=100"),
        (lambda: bootstrap(counted([1, 2]), level=1), "a level between 0 and 1"),
        (lambda: bootstrap(counted([1, 2]), rounds=9), "at least 100 rounds"),
        (lambda: student_t(0), "at least 1 degree of freedom"),
        (lambda: student_t(2, 95), "a level between 0 and 1"),
        (lambda: aggregate({}), "the same number of seeds for every task, got {}"),
        (lambda: aggregate({"a": []}), "the same number of seeds"),
        (lambda: aggregate({"a": [1, 2], "b": [1]}), "got {'a': 2, 'b': 1}; take those that all have"),
        (lambda: aggregate({"a": [1, 2], "b": [1, math.nan]}), "others for \\['b'\\]"),
        (lambda: interquartile_mean([]), "one finite value or more"),
        (lambda: interquartile_mean([1, math.inf]), "one finite value or more"),
        (lambda: probability_of_improvement({"a": [1]}, {"b": [1]}), "the same tasks, got \\['a'\\] and \\['b'\\]"),
        (lambda: probability_of_improvement({"a": [1]}, {"a": [math.nan]}), "others for \\['a'\\]"),
    ],
)
def test_refuses_what_gives_no_interval(call, said):
    with pytest.raises(ValueError, match=said):
        call()


# Aggregates over tasks


def test_the_interquartile_mean_leaves_a_quarter_out_on_each_side():
    assert interquartile_mean([9, 1, 5, 3]) == 4
    assert interquartile_mean([[1, 2, 3], [4, 5, 600]]) == 3.5  # int(6 / 4) = 1 on each side
    assert interquartile_mean([7]) == 7


def test_aggregate_is_a_slow_loop():
    scores = {"a": [0.1, 0.2, 0.4], "b": [0.5, 0.9, 0.6]}
    found, samples = aggregate(scores, rounds=300, seed=5), []
    for round_ in draws((300, 2, 2), 3, seed=5).tolist():
        drawn = sorted(scores[task][i] for task, places in zip(scores, round_, strict=True) for i in places)
        samples.append(statistics.fmean(drawn[1:3]))
    assert found.value == pytest.approx(interquartile_mean(list(scores.values())))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(samples, [0.025, 0.975])))
    assert aggregate({"a": [1, 2], "b": [3, 4]}) == Interval(2.5, None, None)


@pytest.mark.parametrize("n", [5, 10])
def test_the_aggregate_over_eight_tasks_covers_what_it_says(n):
    rng, level = np.random.default_rng(n), np.linspace(0, 3, 8)[:, None]
    truth = np.mean([interquartile_mean(rng.normal(size=(8, n)) + level) for _ in range(4000)])
    runs = [rng.normal(size=(8, n)) + level for _ in range(1000)]
    found = [aggregate(dict(enumerate(table)), rounds=500, seed=i) for i, table in enumerate(runs)]
    assert 0.92 <= covered(truth, found) <= 0.97


def test_the_aggregate_of_one_task_and_three_seeds_is_too_narrow():
    runs = np.random.default_rng(0).normal(size=(500, 1, 3))
    found = [aggregate({"a": one}, rounds=200, seed=i) for i, (one,) in enumerate(runs)]
    assert covered(0, found) < 0.85


def test_the_probability_of_improvement_by_hand():
    """Task a: 3 beats 1 and 2, 2 beats 1 and ties 2: 3.5 of 4; task b: 0 of 4."""
    ours, theirs = {"a": [3, 2], "b": [0, 0]}, {"b": [1, 2], "a": [1, 2]}
    assert probability_of_improvement(ours, theirs).value == pytest.approx(3.5 / 8)
    assert probability_of_improvement(ours, theirs, better="lower").value == pytest.approx(1 - 3.5 / 8)
    assert probability_of_improvement(ours, theirs).low is None
    same = probability_of_improvement({"a": [1, 1, 1]}, {"a": [1, 1, 1]})
    assert same == Interval(0.5, 0.5, 0.5)
    sure = probability_of_improvement({"a": [4, 5, 6]}, {"a": [1, 2, 3]})
    assert sure == Interval(1, 1, 1)


def test_the_probability_of_improvement_covers_what_it_says():
    rng, truth = np.random.default_rng(1), statistics.NormalDist().cdf(0.5 / math.sqrt(2))
    found = []
    for i in range(800):
        ours, theirs = (dict(enumerate(rng.normal(gap, 1, size=(6, 5)))) for gap in (0.5, 0))
        found.append(probability_of_improvement(ours, theirs, rounds=500, seed=i))
    assert 0.93 <= covered(truth, found) <= 0.98


@published
def test_published_outputs_have_an_interval_of_bleu_3():
    rows = [
        Sums(bleu(WEIGHTS[2], "tiny"), [bleu_counts(*pair) for pair in zip(*published_outputs(name), strict=True)])
        for name in ("plog_plog-bart-large", "plog_bart-large")
    ]
    alone, apart = bootstrap(rows[0]), bootstrap_difference(*rows)
    assert alone.low < 27.09 < alone.high
    assert 0.8 < alone.high - alone.low < 2.5
    assert apart.low < 0 < apart.high
    assert apart.high - apart.low < alone.high - alone.low  # the same sentences are hard for both


@pytest.mark.parametrize("size", [1e-100, 1e-110, 1e-150, 1e-160])
def test_a_spread_whose_power_is_nothing_gives_an_interval(size):
    rows = Sums(mean(), [[size * (i % 7), 1] for i in range(50)])
    found = bootstrap(rows)
    assert found.low <= found.value <= found.high
    assert found.high > 0
