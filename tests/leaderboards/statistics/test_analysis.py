"""Analysis: intervals, differences and daggers are over seeds, tests over items are apart, and both refuse."""

import numpy as np
import pandas as pd
import pytest

from bench.leaderboards.row import Value
from bench.leaderboards.statistics.analysis import add_statistics, adjusted, corrected_differences
from bench.leaderboards.statistics.intervals import holm, paired_difference, seed_mean
from bench.leaderboards.statistics.significance import p_values_of
from bench.leaderboards.table import tables
from bench.metrics.sums import Sums, mean
from bench.store.store import Store
from tests.leaderboards.handmade import scored, trained

N = 400


def verdicts(share, seed=0):
    """Right or wrong on N examples."""
    draw = np.random.default_rng(seed)
    return Sums(mean(), np.stack([draw.random(N) < share, np.ones(N)], axis=1))


def stored(root, method, shares, column="bleu-1", **changes):
    """A method with a value and its items for each seed."""
    for seed, share in enumerate(shares):
        items = verdicts(share, seed + 10 * len(method))
        cell = trained(root, method, seed, **changes)
        scored(cell, {column: items.value, "bleu-3": 9.0 + seed / 4}, items={column: items})


def one(root):
    (table,), _ = tables(Store(root))
    add_statistics(table, 999)
    return table, {row.method: row.values for row in table.rows}


def test_a_difference_over_seeds_has_its_interval_and_p_and_a_small_one_is_not_significant(tmp_path):
    stored(tmp_path, "mle", [0.5, 0.5, 0.5])
    stored(tmp_path, "trime", [0.51, 0.5, 0.49])
    stored(tmp_path, "histalign", [0.8, 0.8, 0.8])
    table, found = one(tmp_path)
    values = {row.method: row.values["bleu-1"].by_seed for row in table.rows}
    effects = {name: paired_difference(values[name], values["mle"]) for name in ("histalign", "trime")}
    corrected = holm([effect.p for effect in effects.values()])
    for (name, effect), p in zip(effects.items(), corrected, strict=True):
        known = found[name]["bleu-1"]
        assert (known.difference, known.low, known.high) == (effect.mean, effect.low, effect.high)
        assert known.p == p
        assert known.against == next(row.id for row in table.rows if row.method == "mle")
    assert found["histalign"]["bleu-1"].differs
    assert not found["trime"]["bleu-1"].differs
    assert found["mle"]["bleu-1"].difference is None


def test_the_test_over_items_stands_beside_it_and_makes_no_dagger(tmp_path):
    for method, shares in (("mle", [0.5]), ("trime", [0.8]), ("histalign", [0.8]), ("face", [0.5])):
        stored(tmp_path, method, shares)
    table, found = one(tmp_path)
    items = {row.method: row.values["bleu-1"].sums[0].read() for row in table.rows}
    names = ("trime", "histalign", "face")
    raw = p_values_of([(items[name], items["mle"]) for name in names], 999)
    assert raw[:2] == [1 / 1000] * 2
    assert [found[name]["bleu-1"].p_items for name in names] == pytest.approx(holm(raw))
    assert found["trime"]["bleu-1"].p is None
    assert not found["trime"]["bleu-1"].differs
    assert found["trime"]["bleu-1"].low is None


def test_p_is_corrected_among_those_there_are():
    corrected = adjusted(pd.Series([0.01, None, 0.03]))
    assert corrected.dropna().to_dict() == {0: 0.02, 2: 0.03}
    base, ours, other = (Value({0: 1.0, 1: 2.0, 2: last}, True, "s") for last in (3.0, 4.0, 5.0))
    found = corrected_differences([(ours, base), (Value(ours.by_seed, True, ""), base), (other, base)], ["a"] * 3)
    assert found.p.tolist() == [min(1.0, 2 * seed_mean([0.0, 0.0, 1.0]).p)] * 3


def test_intervals_need_three_seeds(tmp_path):
    stored(tmp_path, "mle", [0.5, 0.5, 0.5])
    stored(tmp_path, "trime", [0.5, 0.5])
    _, found = one(tmp_path)
    assert found["mle"]["bleu-3"].half == pytest.approx(4.302653 * 0.25 / 3**0.5, rel=1e-6)
    assert found["trime"]["bleu-3"].half is None


def test_what_is_no_sum_over_items_has_its_difference_over_seeds_alone(tmp_path):
    stored(tmp_path, "mle", [0.5] * 3)
    stored(tmp_path, "trime", [0.9] * 3)
    _, found = one(tmp_path)
    known = found["trime"]["bleu-3"]
    assert (known.difference, known.p, known.p_items) == (0, 1, None)


def test_a_seed_without_items_or_unlike_numbers_of_items_are_not_tested_over_items(tmp_path):
    stored(tmp_path, "mle", [0.5, 0.5])
    stored(tmp_path, "trime", [0.9])
    scored(trained(tmp_path, "trime", 1), {"bleu-1": 90.0})
    short = Sums(mean(), [[1, 1]] * 7)
    scored(trained(tmp_path, "histalign"), {"bleu-1": 100.0}, items={"bleu-1": short})
    _, found = one(tmp_path)
    assert found["trime"]["bleu-1"].p_items is None
    assert found["histalign"]["bleu-1"].p_items is None
    assert found["histalign"]["bleu-1"].difference > 0


def test_a_conflict_is_not_tested(tmp_path):
    stored(tmp_path, "mle", [0.5])
    stored(tmp_path, "trime", [0.9])
    stored(tmp_path, "trime", [0.8], extra="another run of the same")
    table, found = one(tmp_path)
    assert next(row for row in table.rows if row.method == "trime").values["bleu-1"].conflict
    assert (found["trime"]["bleu-1"].half, found["trime"]["bleu-1"].difference) == (None, None)
