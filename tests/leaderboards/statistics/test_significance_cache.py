"""Significance cache: many pairs at once are what each is alone; what is kept keeps its name and numbers."""

import json

import pytest

from bench.base.keys import key_of
from bench.leaderboards.statistics import significance_cache, sums_reader
from bench.leaderboards.statistics.intervals import bootstrap_difference
from bench.leaderboards.statistics.significance import compare
from bench.leaderboards.statistics.significance_cache import KeptNumbers, SignificanceCache
from bench.leaderboards.table import tables
from bench.store.store import Store
from tests.leaderboards.statistics.test_analysis import stored

ROUNDS = 199


@pytest.fixture
def values(tmp_path):
    """Values of four rows, by method."""
    for number, method in enumerate(("mle", "trime", "histalign", "face")):
        stored(tmp_path / "store", method, [0.5 + number / 50] * 3)
    (table,), _ = tables(Store(tmp_path / "store"))
    return {row.method: row.values["bleu-1"] for row in table.rows}


def every_pair(values):
    pairs = []
    for ours in values.values():
        for theirs in values.values():
            if ours is not theirs:
                pairs.append((ours, theirs))
    return pairs


def loaded(value):
    return {seed: items.load() for seed, items in value.sums.items()}


@pytest.mark.parametrize("limit", [None, 0])
def test_many_pairs_are_what_each_is_alone(values, limit, monkeypatch):
    """Also where nothing of what was read can be held."""
    if limit is not None:
        monkeypatch.setattr(sums_reader, "FILES_HELD", limit)
        monkeypatch.setattr(sums_reader, "SUMS_HELD", limit)
    pairs = every_pair(values)
    cache = SignificanceCache(ROUNDS)
    expected = [compare(loaded(ours), loaded(theirs), ROUNDS) for ours, theirs in pairs]
    assert cache.tests(pairs) == [(found.p, found.difference) for found in expected]
    assert [cache.test(*pair) for pair in pairs] == cache.tests(pairs)
    for pair, ends in zip(pairs, cache.intervals(pairs), strict=True):
        sides = cache.reader.sides(*pair)
        interval = bootstrap_difference(sides.ours, sides.theirs)
        assert ends == (interval.low, interval.high) == cache.interval(*pair)


def test_what_cannot_be_tested_is_none_among_what_can(values):
    ours, theirs = values["mle"], values["trime"]
    lost = {seed: items for seed, items in values["face"].sums.items() if seed != 0}
    partial = sums_reader.Value(values["face"].by_seed, True, "x", sums=lost)
    found = SignificanceCache(ROUNDS).tests([(partial, ours), (ours, theirs), (theirs, partial)])
    assert found == [None, SignificanceCache(ROUNDS).test(ours, theirs), None]


def test_p_and_difference_are_kept_in_one_file_by_what_decides_them(values, tmp_path):
    ours, theirs = values["trime"], values["mle"]
    path = tmp_path / "cache" / "tests.jsonl"
    cache = SignificanceCache(ROUNDS, KeptNumbers(path))
    cache.tests([(ours, theirs)])
    cache.intervals([(ours, theirs)])
    sides = []
    for value in (ours, theirs):
        sides.append({str(seed): [items.digest, items.name] for seed, items in value.sums.items()})
    expected = compare(loaded(ours), loaded(theirs), ROUNDS)
    test, interval = (json.loads(line) for line in path.read_text().splitlines())
    assert test == [key_of([3, "test", ROUNDS, sides]), expected.p, expected.difference]
    assert interval == [key_of([3, "interval", ROUNDS, sides]), *SignificanceCache(ROUNDS).interval(ours, theirs)]


def test_a_cut_line_costs_its_own_numbers_and_a_file_that_is_full_begins_anew(tmp_path, monkeypatch):
    path = tmp_path / "tests.jsonl"
    KeptNumbers(path).add({"a": (0.1, None), "b": (5e-324, -2.0)})
    KeptNumbers(path).add({"c": (0.3, 4.0)})
    path.write_bytes(b"null\n\xff\n" + path.read_bytes()[:-4])
    assert KeptNumbers(path).numbers == {"a": [0.1, None], "b": [5e-324, -2.0]}
    monkeypatch.setattr(significance_cache, "LARGEST", 10)
    KeptNumbers(path).add({"d": (1.0, 2.0)})
    assert KeptNumbers(path).numbers == {"d": [1.0, 2.0]}
    nowhere = KeptNumbers(path / "below a file")
    nowhere.add({"e": (1.0, 2.0)})
    assert nowhere.numbers == {"e": [1.0, 2.0]}


def test_equal_pairs_are_asked_once_and_kept_ones_not_again(values, tmp_path, monkeypatch):
    asked = []
    compare_all = significance_cache.compare_all

    def counted(pairs, rounds, swapped):
        asked.append(len(pairs))
        return compare_all(pairs, rounds, swapped=swapped)

    monkeypatch.setattr(significance_cache, "compare_all", counted)
    ours, theirs, third = values["trime"], values["mle"], values["face"]
    cache = SignificanceCache(ROUNDS, KeptNumbers(tmp_path / "kept"))
    first, same = cache.tests([(ours, theirs), (ours, theirs)])
    assert first == same
    assert asked == [1]
    again, other = SignificanceCache(ROUNDS, KeptNumbers(tmp_path / "kept")).tests([(ours, theirs), (ours, third)])
    assert again == first
    assert other != first
    assert asked == [1, 1]
