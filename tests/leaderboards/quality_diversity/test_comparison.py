"""Comparison: on made-up models with known answers, what decoders have of a gain, and which front is ahead."""

from __future__ import annotations

import pytest

from bench.leaderboards.quality_diversity.comparison import (
    CLAIMED,
    COMPARED,
    contrast,
    front_difference,
    gains_of,
    pair_of,
    share_of,
)
from bench.leaderboards.quality_diversity.curves import Axes, Model
from bench.leaderboards.quality_diversity.decoders import FAMILIES, REFERENCE, SETTINGS
from bench.leaderboards.statistics.share import EXPLAINED
from tests.leaderboards.quality_diversity.worlds import SEEDS, model, row

MLE = model("mle")


@pytest.mark.parametrize("axes", CLAIMED)
def test_an_objective_that_is_maximum_likelihood_at_another_temperature_has_share_1(axes: Axes) -> None:
    pair = pair_of(model("hotter", freer=0.3), MLE, axes)
    share = share_of(gains_of(pair), axes)
    assert share.share is not None
    assert share.share.value == pytest.approx(1.0, abs=1e-9)
    assert share.share.low == pytest.approx(1.0, abs=1e-6)
    assert share.verdict == "explained"
    assert {name: part.value for name, part in share.families.items()} == pytest.approx(dict.fromkeys(FAMILIES, 1.0))


@pytest.mark.parametrize("axes", COMPARED)
def test_its_front_is_neither_ahead_nor_behind(axes: Axes) -> None:
    found = front_difference(pair_of(model("hotter", freer=0.3), MLE, axes), axes)
    assert found.tradeoff.difference is not None
    assert found.tradeoff.difference.mean == pytest.approx(0.0, abs=1e-9)


def test_what_seeds_differ_by_is_open() -> None:
    pair = pair_of(model("lucky", freer=0.3, luck=300.0), MLE, CLAIMED[0])
    assert front_difference(pair, CLAIMED[0]).verdict == "open"
    assert share_of(gains_of(pair), CLAIMED[0]).verdict == "open"


@pytest.mark.parametrize("axes", CLAIMED)
def test_an_objective_outside_the_front_has_a_share_below_three_quarters(axes: Axes) -> None:
    share = share_of(gains_of(pair_of(model("better", freer=0.3, fewer=12), MLE, axes)), axes)
    of_decoders = {"self-bleu-2": 12.0, "seq-rep-4": 6.0}[axes.column]
    assert share.share is not None
    assert share.share.value == pytest.approx(of_decoders / (of_decoders + 12), rel=1e-9)
    assert share.share.high is not None
    assert share.share.high < EXPLAINED
    assert share.verdict == "training adds"


def test_its_front_is_ahead_by_what_it_repeats_less_and_the_other_way_round_behind() -> None:
    better = model("better", freer=0.3, fewer=12)
    for axes, difference in zip(COMPARED, (-12.0, -12.0, -12.0), strict=True):
        found = front_difference(pair_of(better, MLE, axes), axes)
        assert found.verdict == "ahead", axes
        if axes.at == "sample-ppl":
            assert found.tradeoff.difference is not None
            assert found.tradeoff.difference.mean == pytest.approx(difference, rel=1e-9)
        assert front_difference(pair_of(MLE, better, axes), axes).verdict == "behind", axes


def test_an_objective_on_a_bent_front_of_its_baseline_has_a_share_above_1() -> None:
    """The front's straight lines lie above a curve that is steeper where texts are freer."""
    ours, theirs = model("hotter", freer=0.2), model("mle")
    for each in (ours, theirs):
        for one in each.rows.values():
            value = one.values["self-bleu-2"]
            value.by_seed = {seed: 60 - ((60 - bleu) / 40) ** 2 * 40 for seed, bleu in value.by_seed.items()}
    share = share_of(gains_of(pair_of(ours, theirs, CLAIMED[0])), CLAIMED[0])
    assert share.share is not None
    assert share.share.value == pytest.approx(1.5, abs=0.05)


def test_an_objective_that_gains_nothing_has_no_share() -> None:
    share = share_of(gains_of(pair_of(model("worse", fewer=-5), MLE, CLAIMED[0])), CLAIMED[0])
    assert (share.verdict, share.share, share.families) == ("no gain", None, {})


def test_quality_that_the_decoders_do_not_reach_is_not_comparable() -> None:
    pair = pair_of(model("cautious", freer=-0.3), MLE, CLAIMED[0])
    share = share_of(gains_of(pair), CLAIMED[0])
    assert share.verdict == "not comparable"
    assert "does not reach" in share.gains.why


def test_quality_that_is_worse_than_all_of_the_front_gives_a_bound_and_no_word_for_training() -> None:
    pair = pair_of(model("far", freer=2.0), MLE, CLAIMED[0])
    share = share_of(gains_of(pair), CLAIMED[0])
    assert share.gains.at_least
    assert share.share is not None
    assert share.share.value == pytest.approx(32 / 80, abs=0.02)  # from the freest setting of maximum likelihood
    assert share.verdict == "not comparable"
    assert front_difference(pair, CLAIMED[0]).verdict == "not comparable"


def test_an_objective_that_a_decoder_beats_in_quality_and_diversity_is_explained() -> None:
    settings = ("topk=3", "sample")
    pair = pair_of(model("worse", freer=1.0, fewer=-12, settings=settings), model("mle", settings=settings), CLAIMED[0])
    share = share_of(gains_of(pair), CLAIMED[0])
    assert share.gains.at_least
    assert share.share is not None
    assert share.share.value > 1
    assert share.verdict == "explained"


def test_fronts_that_overlap_in_some_seeds_only_are_not_comparable() -> None:
    ours, theirs = (Model(name, {}) for name in ("ours", "theirs"))
    near = {"sample-ppl": 10.0, "self-bleu-2": 60.0}
    far = {"sample-ppl": 90.0, "self-bleu-2": 10.0}
    ours = Model("ours", {REFERENCE: row("ours", REFERENCE, {0: near, 1: near, 2: far})})
    theirs = Model("theirs", {REFERENCE: row("theirs", REFERENCE, dict.fromkeys(SEEDS, near))})
    found = front_difference(pair_of(ours, theirs, CLAIMED[0]), CLAIMED[0])
    assert set(found.tradeoff.by_seed) == {0, 1}
    assert found.verdict == "not comparable"


def test_both_have_the_same_settings_and_a_family_that_is_not_whole_is_not_shown_alone() -> None:
    without = tuple(setting for setting in SETTINGS if setting != "min_p=0.1")
    pair = pair_of(model("hotter", freer=0.3, settings=without), MLE, CLAIMED[0])
    assert set(pair.ours.points) == set(pair.theirs.points) == set(without)
    assert "min_p" not in gains_of(pair).families
    assert "eta" in gains_of(pair).families


def test_without_the_reference_setting_it_says_so() -> None:
    without = tuple(setting for setting in SETTINGS if setting != REFERENCE)
    found = gains_of(pair_of(model("hotter", settings=without), MLE, CLAIMED[0]))
    assert found.objective == {}
    assert found.why == "no seed of both has topk=3"


def test_one_seed_has_a_gain_and_no_verdict_on_its_share() -> None:
    pair = pair_of(model("hotter", freer=0.3), MLE, CLAIMED[0])
    alone = type(pair)(pair.ours.at_seeds([0]), pair.theirs.at_seeds([0]))
    found = gains_of(alone)
    assert contrast(found) is None
    assert share_of(found, CLAIMED[0]).verdict == "open"
    assert front_difference(alone, CLAIMED[0]).verdict == "open"
