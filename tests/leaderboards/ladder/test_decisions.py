"""Decisions between rungs: worked by hand, and against slow recomputation."""

import math
from itertools import combinations

import numpy as np
import pytest

from bench.leaderboards.ladder.ceiling import reseeding_ceiling, stepped_up
from bench.leaderboards.ladder.decisions import decide_between, decisions_of, rung_pairs, signal_to_noise
from bench.leaderboards.ladder.pairs import ORDERS, pair_effects
from bench.leaderboards.ladder.predictors import predictors_of
from bench.leaderboards.ladder.scores import Ladder, Rung
from bench.leaderboards.statistics.moderated import contrast_of, moderate
from bench.leaderboards.statistics.significance import holm
from tests.leaderboards.ladder.ladders import NAMES, ladder_of

FAR = {"bleu": [[1.0, 2.0, 3.0, 4.0], [10.0, 30.0, 20.0, 40.0]]}


def between(ladder, metric="bleu", target="bleu"):
    return decide_between(ladder, pair_effects(ladder), ladder.rungs, metric, target)


def test_accuracy_tau_and_regret_by_hand():
    found = between(ladder_of(FAR))
    assert (found.pairs, found.accuracy) == (6, 5 / 6)  # the second and the third have changed places
    assert found.tau == pytest.approx((5 - 1) / 6)
    assert (found.regret.chosen, found.regret.value, found.regret.in_seeds) == (("simctg",), 0.0, None)
    assert found.established == 0  # without noise nothing is known of seeds
    assert found.ceiling == 1.0


def test_where_lower_is_better_the_order_is_the_same_and_the_best_is_the_lowest():
    found = between(ladder_of({"ppl": [[3.0, 1.0, 2.0], [20.0, 30.0, 25.0]]}, lower=["ppl"]), "ppl", "ppl")
    assert (found.accuracy, found.tau) == (0.0, -1.0)
    assert (found.regret.chosen, found.regret.value) == (("emo",), 10.0)


def test_a_tie_below_counts_half_and_a_tie_above_is_no_pair():
    found = between(ladder_of({"bleu": [[1.0, 1.0, 2.0], [1.0, 2.0, 2.0]]}))
    assert (found.pairs, found.accuracy) == (2, 0.75)
    assert found.tau == pytest.approx(1 / math.sqrt(2 * 2))
    best = between(ladder_of({"bleu": [[2.0, 2.0, 1.0], [1.0, 4.0, 2.0]]}))
    assert (best.regret.chosen, best.regret.value) == (("emo", "mle"), 1.5)


def test_another_metric_may_predict_better_and_its_direction_counts():
    ladder = ladder_of({"bleu": [[1, 2, 3], [3, 2, 1]], "ppl": [[10, 20, 30], [30, 20, 10]]}, lower=["ppl"])
    assert between(ladder).accuracy == 0.0
    assert between(ladder, "ppl", "bleu").accuracy == 1.0
    by_target = {found.target: found for found in predictors_of(ladder)}
    assert (by_target["bleu"].best, by_target["bleu"].own, by_target["bleu"].accuracy["ppl"]) == ("ppl", 0.0, 1.0)
    same = predictors_of(ladder_of({"a": [[1, 2], [1, 2]], "b": [[1, 2], [1, 2]]}))
    assert [found.best for found in same] == ["a", "b"]  # of equals, itself


def test_regret_is_counted_in_the_pooled_sd_of_a_seed():
    rungs = (
        Rung("0.1M", 100, 1.0, {"bleu": {"mle": {0: 5.0}, "emo": {0: 4.0}}}),
        Rung("1M", 1000, 1.0, {"bleu": {"mle": {0: 1.0, 1: 3.0}, "emo": {0: 8.0, 1: 12.0}}}),
    )
    regret = between(Ladder("text", "mle", rungs, {"bleu": True})).regret
    assert regret.value == 8.0
    assert regret.in_seeds == pytest.approx(8 / math.sqrt((2 + 8) / 2))


def test_methods_that_a_rung_lacks_are_no_pairs():
    rungs = (
        Rung("0.1M", 100, 1.0, {"bleu": {"mle": {0: 1.0}, "emo": {0: 2.0}, "gem": {0: 3.0}}}),
        Rung("1M", 1000, 1.0, {"bleu": {"mle": {0: 1.0}, "emo": {0: 2.0}}, "kld": {"mle": {0: 1.0}}}),
    )
    ladder = Ladder("text", "mle", rungs, {"bleu": True, "kld": False})
    assert between(ladder).pairs == 1
    missing = between(ladder, "kld", "kld")
    assert (missing.pairs, missing.accuracy, missing.tau, missing.regret, missing.share) == (0, None, None, None, None)
    assert [found.target for found in predictors_of(ladder)] == ["bleu"]


def test_orders_are_established_by_moderated_t_and_holm_over_the_ladder():
    true = {"bleu": [[0, 0, 0, 0], [0, 40, 80, 120]], "kld": [[0, 1, 2, 3], [0, 100, 200, 300]]}
    ladder = ladder_of(true, noise=1.0, lower=["kld"])
    effects = pair_effects(ladder)
    slow, places = [], []
    for metric, sign in (("bleu", 1), ("kld", -1)):
        for rung in ladder.rungs:
            values = rung.values[metric]
            pairs = list(combinations(sorted(values), 2))
            by_pair = [[sign * (values[a][seed] - values[b][seed]) for seed in range(3)] for a, b in pairs]
            slow += [effect.p for effect in moderate([contrast_of(differences) for differences in by_pair])]
            places += [(metric, rung.name, *pair) for pair in pairs]
    for place, p in zip(places, holm(slow), strict=True):
        found = effects.get(*place)
        assert found.p == pytest.approx(p)
        other = effects.get(*place[:2], place[3], place[2])
        assert (other.effect.mean, other.p) == (-found.effect.mean, found.p)
        assert found.direction == -other.direction == (p <= ORDERS) * np.sign(found.effect.mean)
    assert len(effects.established("kld", "1M")) == 6
    assert ("mle", "emo") in effects.established("kld", "1M")
    assert effects.established("bleu", "0.1M") == []
    assert effects.get("bleu", "1M", "mle", "nothing") is None
    found = decide_between(ladder, effects, ladder.rungs, "bleu", "kld")
    assert found.established == 6


def test_neighbouring_rungs_come_first():
    ladder = ladder_of({"bleu": [[1, 2], [1, 2], [2, 1]]})
    names = [(lower.name, upper.name) for lower, upper in rung_pairs(ladder)]
    assert names == [("0.1M", "1M"), ("1M", "10M"), ("0.1M", "10M")]
    assert [found.accuracy for found in decisions_of(ladder, pair_effects(ladder))] == [1.0, 0.0, 0.0]


def test_signal_to_noise_is_that_of_the_house():
    rung = Rung("1M", 1000, 1.0, {"bleu": {"mle": {0: 1.0, 1: 3.0}, "emo": {0: 2.0, 1: 4.0}, "gem": {0: 7.0}}})
    assert signal_to_noise(rung, "bleu") == pytest.approx(0.5)
    assert signal_to_noise(rung, "kld") is None


@pytest.mark.parametrize("spread", [0.3, 1.0, 4.0])
def test_the_ceiling_is_what_a_second_draw_of_seeds_gives(spread):
    rng, estimated, seen = np.random.default_rng(1), [], []
    for _ in range(60):
        true = spread * rng.standard_normal(8)
        first, second = (true[:, None] + rng.standard_normal((8, 3)) for _ in range(2))
        values = {"bleu": {name: dict(enumerate(row)) for name, row in zip(NAMES, first.tolist(), strict=True)}}
        estimated.append(reseeding_ceiling(Rung("1M", 1000, 1.0, values), "bleu"))
        means = first.mean(1), second.mean(1)
        alike = [(means[0][a] - means[0][b]) * (means[1][a] - means[1][b]) > 0 for a, b in combinations(range(8), 2)]
        seen.append(np.mean(alike))
    assert np.mean(estimated) == pytest.approx(np.mean(seen), abs=0.04)


def test_without_true_differences_the_ceiling_is_near_chance_and_needs_two_seeds():
    ladder = ladder_of({"bleu": [[0.0] * 8]}, noise=1.0, seeds=5)
    assert reseeding_ceiling(ladder.rungs[0], "bleu") < 0.7
    assert reseeding_ceiling(ladder_of({"bleu": [[1.0, 2.0]]}, seeds=1).rungs[0], "bleu") is None
    assert stepped_up(1.0, 3) == 1.0


def test_there_is_no_share_of_a_ceiling_that_is_a_coins():
    """Two seeds order the methods of the upper rung in opposite ways."""
    rungs = (
        Rung("0.1M", 100, 1.0, {"bleu": {"mle": {0: 1.0, 1: 1.0}, "emo": {0: 2.0, 1: 2.0}, "gem": {0: 3.0, 1: 3.0}}}),
        Rung("1M", 1000, 1.0, {"bleu": {"mle": {0: 1.0, 1: 4.0}, "emo": {0: 2.0, 1: 2.5}, "gem": {0: 3.0, 1: 0.5}}}),
    )
    found = between(Ladder("text", "mle", rungs, {"bleu": True}))
    assert (found.pairs, found.ceiling, found.share) == (3, 0.5, None)
    assert found.accuracy is not None


def test_methods_that_share_one_model_do_not_lower_the_ceiling():
    """Accuracy leaves out a pair that is equal above, so the ceiling does."""
    found = between(ladder_of({"bleu": [[1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 2.0, 3.0]]}))
    assert (found.pairs, found.accuracy, found.ceiling, found.share) == (5, 1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("rungs", "expected"),
    [
        ([Rung("1M", 10, 1.0, {}), Rung("0.1M", 5, 1.0, {})], "rungs of growing size"),
        ([Rung("1M", 10, 1.0, {}), Rung("1M", 20, 1.0, {})], "names of their own"),
    ],
)
def test_rungs_grow_and_have_names(rungs, expected):
    with pytest.raises(ValueError, match=expected):
        Ladder("text", "mle", tuple(rungs), {})


def test_values_are_finite_and_sizes_are_above_0():
    with pytest.raises(ValueError, match="leave a diverged seed out"):
        Rung("1M", 10, 1.0, {"bleu": {"mle": {0: math.nan}}})
    with pytest.raises(ValueError, match="size above 0"):
        Rung("1M", 0, 1.0, {})
    with pytest.raises(KeyError, match="no rung '2M'; there are 0.1M, 1M"):
        ladder_of(FAR).rung("2M")
