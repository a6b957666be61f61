"""Analysis: intervals, daggers and ties come from stored items, are corrected, and refuse what cannot be tested."""

import csv
import io
import json

import numpy as np
import pytest

from bench.leaderboards.leaderboards import with_statistics
from bench.leaderboards.render.formats import render
from bench.leaderboards.statistics import significance_cache
from bench.leaderboards.statistics.analysis import table_statistics
from bench.leaderboards.statistics.baseline import baseline_of
from bench.leaderboards.statistics.intervals import bootstrap_difference
from bench.leaderboards.statistics.significance import holm, over_seeds
from bench.leaderboards.statistics.significance_cache import KeptNumbers, SignificanceCache
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
    found = table_statistics(table, SignificanceCache(999)).values
    return table, dict(zip([row.method for row in table.rows], found, strict=True))


def test_a_large_difference_is_significant_and_a_small_one_is_not(tmp_path):
    stored(tmp_path, "mle", [0.5, 0.5, 0.5])
    stored(tmp_path, "trime", [0.51, 0.5, 0.49])
    stored(tmp_path, "histalign", [0.8, 0.8, 0.8])
    table, found = one(tmp_path)
    assert found["histalign"]["bleu-1"].differs
    assert found["histalign"]["bleu-1"].difference > 20
    assert not found["trime"]["bleu-1"].differs
    assert found["trime"]["bleu-1"].p > 0.05
    assert found["mle"]["bleu-1"].p is None
    assert table.rows[found["trime"]["bleu-1"].against].method == "mle"
    assert [found[name]["bleu-1"].group for name in ("histalign", "mle", "trime")] == [0, 1, 1]


def test_p_is_corrected_for_all_rows_and_columns_of_the_table(tmp_path):
    for method, shares in (("mle", [0.5]), ("trime", [0.8]), ("histalign", [0.8]), ("face", [0.5])):
        stored(tmp_path, method, shares)
    table, found = one(tmp_path)
    cache, rows = SignificanceCache(999), {row.method: row for row in table.rows}
    raw = {name: cache.test(rows[name].values["bleu-1"], rows["mle"].values["bleu-1"])[0]
           for name in ("trime", "histalign", "face")}  # fmt: skip
    assert raw["trime"] == raw["histalign"] == 1 / 1000
    assert {name: found[name]["bleu-1"].p for name in raw} == pytest.approx(
        dict(zip(raw, holm(list(raw.values())), strict=True))
    )
    assert found["trime"]["bleu-1"].p == pytest.approx(3 / 1000)


def test_intervals_need_three_seeds(tmp_path):
    stored(tmp_path, "mle", [0.5, 0.5, 0.5])
    stored(tmp_path, "trime", [0.5, 0.5])
    _, found = one(tmp_path)
    assert found["mle"]["bleu-3"].half == pytest.approx(4.302653 * 0.25 / 3**0.5, rel=1e-6)
    assert found["trime"]["bleu-3"].half is None


def test_what_is_no_sum_over_rows_is_not_tested(tmp_path):
    stored(tmp_path, "mle", [0.5])
    stored(tmp_path, "trime", [0.9])
    _, found = one(tmp_path)
    assert (found["trime"]["bleu-3"].p, found["trime"]["bleu-3"].group) == (None, None)


def test_a_seed_without_items_or_unlike_numbers_of_items_are_not_tested(tmp_path):
    stored(tmp_path, "mle", [0.5, 0.5])
    stored(tmp_path, "trime", [0.9])
    scored(trained(tmp_path, "trime", 1), {"bleu-1": 90.0})
    short = Sums(mean(), [[1, 1]] * 7)
    scored(trained(tmp_path, "histalign"), {"bleu-1": 100.0}, items={"bleu-1": short})
    _, found = one(tmp_path)
    assert found["trime"]["bleu-1"].p is None
    assert found["histalign"]["bleu-1"].p is None


def test_the_baseline_has_the_same_backbone_and_decoding(tmp_path):
    stored(tmp_path, "mle", [0.5])
    stored(tmp_path, "trime", [0.9], backbone="bart-base")
    table, found = one(tmp_path)
    assert found["trime"]["bleu-1"].p is None
    assert [baseline_of(table, row) for row in table.rows] == [None, None]


def test_of_several_baselines_the_one_that_was_trained_alike_counts(tmp_path):
    for lr in (0.001, 0.01):
        stored(tmp_path, "mle", [0.5], trainer__lr=lr)
        stored(tmp_path, "trime", [0.8], trainer__lr=lr)
    stored(tmp_path, "histalign", [0.8], trainer__lr=0.1)
    (table,), _ = tables(Store(tmp_path))
    lr_of = {i: row.config["trainer"]["lr"] for i, row in enumerate(table.rows)}
    found = {(row.method, lr_of[i]): baseline_of(table, row) for i, row in enumerate(table.rows)}
    assert {table.rows[found["trime", lr]].method for lr in (0.001, 0.01)} == {"mle"}
    assert {lr: lr_of[found["trime", lr]] for lr in (0.001, 0.01)} == {0.001: 0.001, 0.01: 0.01}
    assert found["histalign", 0.1] is None  # two to choose from, neither trained alike
    assert (found["mle", 0.001], found["mle", 0.01]) == (None, None)


def test_the_only_baseline_counts_even_where_it_was_trained_otherwise(tmp_path):
    stored(tmp_path, "mle", [0.5])
    stored(tmp_path, "trime", [0.8], trainer__lr=0.01)
    (table,), _ = tables(Store(tmp_path))
    assert {row.method: baseline_of(table, row) is not None for row in table.rows} == {"mle": False, "trime": True}


def test_a_conflict_is_not_tested(tmp_path):
    stored(tmp_path, "mle", [0.5])
    stored(tmp_path, "trime", [0.9])
    stored(tmp_path, "trime", [0.8], extra="another run of the same")
    table, found = one(tmp_path)
    assert next(row for row in table.rows if row.method == "trime").values["bleu-1"].conflict
    assert "bleu-1" not in found["trime"] or found["trime"]["bleu-1"].p is None


def test_p_values_are_kept_by_what_decides_them(tmp_path, monkeypatch):
    stored(tmp_path, "mle", [0.5])
    stored(tmp_path, "trime", [0.9])
    (table,), _ = tables(Store(tmp_path))
    asked = []
    compare_all = significance_cache.compare_all

    def counted(pairs, rounds, swapped):
        asked.extend(pairs)
        return compare_all(pairs, rounds, swapped=swapped)

    monkeypatch.setattr(significance_cache, "compare_all", counted)
    first = table_statistics(table, SignificanceCache(199, KeptNumbers(tmp_path / "kept")))
    n = len(asked)
    assert n > 0
    assert table_statistics(table, SignificanceCache(199, KeptNumbers(tmp_path / "kept"))) == first
    assert len(asked) == n
    table_statistics(table, SignificanceCache(299, KeptNumbers(tmp_path / "kept")))
    assert len(asked) == 2 * n


def test_marks_stand_in_every_form(tmp_path):
    stored(tmp_path, "mle", [0.5, 0.5, 0.5])
    stored(tmp_path, "histalign", [0.8, 0.8, 0.8])
    leaderboards = with_statistics(tables(Store(tmp_path))[0], rounds=999, cached=False)
    text = render(leaderboards, "markdown")
    assert "†" in text
    assert "±" in text
    assert "paired randomisation" in text
    assert r"$^\dagger$" in render(leaderboards, "latex")
    assert "†" in render(leaderboards, "terminal")
    board = json.loads(render(leaderboards, "json"))["tables"][0]
    best = next(row for row in board["methods"] if row["method"] == "histalign")["values"]["bleu-1"]
    assert best["p"] <= 0.05
    assert best["half"] > 0
    assert best["tied"] == "a"
    assert best["against"].startswith("mle-")


def test_wins_count_columns_that_seeds_tell_apart_and_ties_count_as_ties(tmp_path):
    stored(tmp_path, "mle", [0.5, 0.5, 0.5])
    stored(tmp_path, "trime", [0.5, 0.5, 0.5])
    stored(tmp_path, "histalign", [0.9, 0.9, 0.9])
    (table,), _ = tables(Store(tmp_path))
    wins = table_statistics(table, SignificanceCache(999)).wins
    assert wins.columns == ["bleu-1"], "bleu-3 is the same for all"
    by_method = {name.partition("-")[0]: {other.partition("-")[0]: counts for other, counts in row.items()}
                 for name, row in wins.matrix.items()}  # fmt: skip
    assert by_method["histalign"]["mle"] == [1, 0, 0]
    assert by_method["mle"]["histalign"] == [0, 0, 1]
    assert by_method["mle"]["trime"] == [0, 1, 0]


def test_tie_groups_are_within_one_backbone(tmp_path):
    for backbone in ("small-encdec", "bart-large"):
        for method, share in (("mle", 0.5), ("trime", 0.5), ("histalign", 0.9)):
            stored(tmp_path, method, [share] * 3, backbone=backbone)
    (table,), _ = tables(Store(tmp_path))
    found = table_statistics(table, SignificanceCache(999))
    groups = {}
    for row, of_row in zip(table.rows, found.values, strict=True):
        groups.setdefault(row.backbone, {})[row.method] = of_row["bleu-1"].group
    assert list(groups.values()) == [{"histalign": 0, "mle": 1, "trime": 1}, {"histalign": 2, "mle": 3, "trime": 3}]


def test_the_difference_has_its_bootstrap_interval_over_items_in_every_form_that_holds_it(tmp_path):
    stored(tmp_path, "mle", [0.5, 0.5, 0.5])
    stored(tmp_path, "trime", [0.8, 0.8, 0.8])
    table, found = one(tmp_path)
    trime = found["trime"]["bleu-1"]
    cache, values = SignificanceCache(999), {row.method: row.values["bleu-1"] for row in table.rows}
    sides = [over_seeds(list(cache.reader.sums(values[name]).values())) for name in ("trime", "mle")]
    interval = bootstrap_difference(*sides)
    assert (trime.low, trime.high) == (interval.low, interval.high)
    assert trime.low < trime.difference < trime.high
    assert trime.difference == pytest.approx(values["trime"].mean - values["mle"].mean)
    known = with_statistics([table], rounds=999, cached=False)
    shown = list(csv.DictReader(io.StringIO(render(known, "csv"))))
    (line,) = [line for line in shown if line["method"] == "trime" and line["column"] == "bleu-1"]
    assert [float(line[name]) for name in ("difference", "low", "high")] == [trime.difference, trime.low, trime.high]
    (rows,) = json.loads(render(known, "json"))["tables"]
    told = {row["method"]: row["values"]["bleu-1"] for row in rows["methods"]}
    assert [told["trime"][name] for name in ("difference", "low", "high")] == [trime.difference, trime.low, trime.high]
    assert [told["mle"][name] for name in ("difference", "low", "high")] == [None] * 3
