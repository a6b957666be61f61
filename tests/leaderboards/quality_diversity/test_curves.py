"""Curves: which settings are on a front, and that only what is comparable is compared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.config.decoding import parse
from bench.leaderboards.quality_diversity.curves import Axes, Model, Reached, columns_of, reached
from bench.leaderboards.quality_diversity.decoders import FAMILIES, REFERENCE, SETTINGS, asked, setting_of
from bench.leaderboards.row import Value
from tests.leaderboards.quality_diversity.worlds import model, row

AXES = Axes("sample-ppl", "self-bleu-2")


def test_every_family_has_the_same_number_of_settings_and_no_setting_stands_twice() -> None:
    assert len({len(settings) for settings in FAMILIES.values()}) == 1
    assert len(set(SETTINGS)) == len(SETTINGS)
    assert REFERENCE in SETTINGS


def test_settings_are_typed_as_they_are_stored() -> None:
    found = parse(asked(64))
    assert [setting_of(decoding.text) for decoding in found] == list(SETTINGS)
    assert {decoding.max_new_tokens for decoding in found} == {64}


def points(**places: tuple[float, float]) -> Reached:
    """What a model of one seed reaches, lower better in both."""
    return Reached({name: {0: place} for name, place in places.items()}, -1, -1)


def test_a_setting_that_another_beats_is_not_on_the_front() -> None:
    found = points(cautious=(1.0, 9.0), middle=(5.0, 5.0), worse=(6.0, 6.0), free=(9.0, 1.0))
    assert found.front == ["cautious", "middle", "free"]
    assert found.curves() == {0: [(1.0, 9.0), (5.0, 5.0), (9.0, 1.0)]}
    assert replace(found, x_sign=1, y_sign=1).front == ["cautious", "worse", "free"]


def test_a_setting_that_is_as_good_in_one_column_and_worse_in_the_other_is_beaten() -> None:
    assert points(a=(1.0, 5.0), b=(1.0, 6.0), twin=(1.0, 5.0)).front == ["a", "twin"]


def test_the_front_is_chosen_by_means_over_seeds_and_not_by_the_luck_of_one() -> None:
    lucky = {"steady": {0: (1.0, 5.0), 1: (1.0, 5.0)}, "lucky": {0: (1.0, 1.0), 1: (1.0, 11.0)}}
    found = Reached(lucky, -1, -1)
    assert found.front == ["steady"]
    assert found.curves() == {0: [(1.0, 5.0)], 1: [(1.0, 5.0)]}


def test_only_seeds_that_every_setting_has_are_reached() -> None:
    whole = model("mle")
    short = whole.rows[REFERENCE]
    short.values["sample-ppl"].by_seed.pop(1)
    assert reached(whole, AXES).seeds == [0, 2]


def test_a_conflict_and_a_column_that_is_not_there_give_no_point() -> None:
    whole = model("mle")
    whole.rows["topk=20"].values["sample-ppl"].conflict = True
    del whole.rows["topk=100"].values["self-bleu-2"]
    assert set(SETTINGS) - set(reached(whole, AXES).points) == {"topk=20", "topk=100"}
    assert reached(Model("mle", {}), AXES).points == {}


def test_a_perplexity_stands_on_an_axis_as_its_logarithm() -> None:
    found = reached(model("mle"), AXES).points[REFERENCE][0]
    assert found == pytest.approx((3 + 4 * 0.1, 60 - 40 * 0.1))


def test_columns_of_unlike_signatures_are_never_mixed() -> None:
    rows = [row("mle", "sample", {0: {"sample-ppl [tokens:a]": 1.0, "self-bleu-2": 1.0}}) for _ in range(2)]
    rows.append(row("mle", "sample", {0: {"sample-ppl [tokens:b]": 1.0, "self-bleu-2": 1.0}}))
    assert columns_of(AXES, rows) == Axes("sample-ppl [tokens:a]", "self-bleu-2")


def test_a_column_without_a_better_way_is_refused() -> None:
    found = model("mle")
    found.rows[REFERENCE].values["sample-ppl"] = Value({0: 1.0}, None, "x")
    with pytest.raises(ValueError, match="one way is better"):
        reached(found, AXES)
