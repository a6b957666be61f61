"""Forecasts: how probabilities are made, files that are written once, and scores by hand."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from bench.errors import DataError, UsageError
from bench.leaderboards.ladder.forecast import forecast
from bench.leaderboards.ladder.forecast_files import forecast_to, read_forecast, write_forecast
from bench.leaderboards.ladder.forecast_scores import scores_of, without_one
from bench.leaderboards.ladder.prediction import COVERED, USUAL, WEIGHT, ColumnPredictions, predict
from bench.leaderboards.ladder.scores import Ladder
from bench.leaderboards.ladder.transfer import Question
from bench.leaderboards.statistics.moderated import Effect
from tests.leaderboards.ladder.ladders import SIZES, below, ladder_of

NEXT = ("10M", SIZES["10M"])
TRUE = {"bleu": [[0, 1, 2, 3, 4, 5, 6, 7]] * 3, "ppl": [[9, 8, 7, 6, 5, 4, 3, 2]] * 3}


def full(noise=0.2):
    return ladder_of(TRUE, noise=noise, lower=["ppl"])


def test_a_prediction_by_hand():
    effect = Effect(mean=2.0, error=1.0, degrees=math.inf, variance=3.0, seeds=3)
    probability, expected, low, high = predict(effect, 3.0, 0.25)
    error = math.sqrt(0.75 * 1.0 + 0.25)
    assert expected == 1.5
    assert probability == pytest.approx(0.5 + 0.5 * math.erf(1.5 / error / math.sqrt(2)))
    assert (high - expected, expected - low) == pytest.approx((1.2815516 * error, 1.2815516 * error))
    grown = predict(effect, 3.0, 0.25, math.log(4))
    assert grown[:2] == pytest.approx((probability, 3.0))  # a spread of 4 times: twice as far, as likely
    assert grown[3] - 3.0 == pytest.approx(2 * 1.2815516 * math.hypot(error, 1.5 * math.log(4) / 2))
    assert predict(effect, 0.0, 0.25)[:2] == (0.5, 0.0)
    assert predict(replace(effect, mean=-2.0), 3.0, 0.25)[0] == pytest.approx(1 - probability)


def test_seeds_without_noise_are_not_trusted():
    effect = Effect(mean=2.0, error=0.0, degrees=2.0, variance=0.0, seeds=3)
    assert predict(effect, 3.0, 0.0) == (0.5, 0.0, 0.0, 0.0)
    probability, expected, low, high = predict(effect, 3.0, 0.25)
    assert (probability, expected) == (0.5, 0.0)
    assert -low == high > 0
    still = ladder_of({"bleu": [[0, 9, 18, 27]], "kld": [[0, 1, 2, 3]]}, noise=0.1)
    for by_seed in still.rungs[0].values["bleu"].values():
        by_seed.update(dict.fromkeys(by_seed, round(by_seed[0])))
    made = forecast(still, NEXT, 3)
    assert made.metric == "kld"
    assert {prediction.probability for prediction in made.predictions if prediction.metric == "bleu"} == {0.5}


def test_steps_that_were_seen_replace_the_usual_one():
    one = ColumnPredictions(below(full(0.01), 1), "bleu", 1.0, 3)
    two = ColumnPredictions(below(full(0.01)), "bleu", 1.0, 3)
    assert one.between == USUAL
    assert two.between == pytest.approx(USUAL * WEIGHT / (WEIGHT + 7), abs=0.01)  # nothing moved for 8 methods
    moved = ladder_of({"bleu": [[0, 1, 2, 3, 4, 5, 6, 7], [3, 6, 0, 5, 7, 1, 4, 2]]}, noise=0.01)
    assert ColumnPredictions(moved, "bleu", 1.0, 3).between > 4 * two.between
    assert two.of(("trime", "emo")).probability > one.of(("trime", "emo")).probability > 0.5


def test_a_spread_goes_on_halfway_and_not_without_end():
    def growth(*rungs):
        return ColumnPredictions(ladder_of({"bleu": rungs}, noise=1e-6), "bleu", 1.0, 3).growth

    usual = np.arange(8.0)
    assert growth(usual, 2 * usual) == pytest.approx(math.log(2), abs=1e-4)
    assert growth(usual, usual / 1000) == -math.log(4)
    assert growth(usual) == 0.0


def test_intervals_hold_four_fifths_of_what_the_model_draws():
    rng, covered, brier, naive = np.random.default_rng(0), [], [], []
    for _ in range(12):
        start = rng.standard_normal(8)
        steps = [0.5 * rng.standard_normal(8) for _ in range(2)]
        means = [start, start + steps[0], start + steps[0] + steps[1]]
        ladder = ladder_of({"bleu": means}, noise=0.4)
        score = scores_of(forecast(below(ladder), NEXT, 3), ladder)[-1]
        covered.append(score.coverage)
        brier.append(score.brier)
        naive.append(score.naive)
    assert np.mean(covered) == pytest.approx(COVERED, abs=0.12)
    assert np.mean(brier) < 0.9 * np.mean(naive)


def test_a_forecast_names_pairs_metric_and_claims():
    asked = [Question("bleu", "emo", "trime", claim="paper/1"), Question("absent", "emo", "mle", claim="paper/2")]
    made = forecast(below(full()), NEXT, 3, claims=asked)
    pairs = [prediction for prediction in made.predictions if not prediction.claim]
    assert len(pairs) == 2 * 28
    (claim,) = (prediction for prediction in made.predictions if prediction.claim)
    (pair,) = (found for found in pairs if found.metric == "bleu" and {found.better, found.than} == {"emo", "trime"})
    assert claim.probability == pytest.approx(pair.probability)
    assert (claim.claim, claim.better) == ("paper/1", "emo")
    assert (made.below, made.rung, made.seeds) == (("0.1M", "1M"), "10M", 3)
    few = forecast(below(full()), NEXT, 3, methods=["mle", "emo", "gem"], claims=asked, metric="ppl")
    assert (few.metric, len(few.predictions)) == ("ppl", 2 * 3)


def test_the_metric_is_the_one_that_has_decided_best():
    true = {"bleu": [[0, 1, 2, 3], [3, 2, 1, 0]], "kld": [[0, 1, 2, 3], [0, 1, 3, 2]]}
    assert forecast(ladder_of(true, noise=0.01), NEXT, 3).metric == "kld"
    signal = {"bleu": [[0, 1, 2, 3]], "kld": [[0, 9, 18, 27]]}
    assert forecast(ladder_of(signal, noise=0.1), NEXT, 3).metric == "kld"


@pytest.mark.parametrize(
    ("rung", "seeds", "more", "expected"),
    [
        (("1M", SIZES["1M"]), 3, {}, "a forecast is made before its rung"),
        (NEXT, 0, {}, "1 seed or more"),
        (NEXT, 3, {"metric": "rouge"}, "there are bleu, ppl"),
        (NEXT, 3, {"methods": ["mle"]}, "two methods with 2 seeds"),
    ],
)
def test_what_cannot_be_forecast(rung, seeds, more, expected):
    with pytest.raises(UsageError, match=expected):
        forecast(below(full()), rung, seeds, **more)


def test_nothing_is_forecast_from_nothing():
    with pytest.raises(UsageError, match="run the smallest rung first"):
        forecast(Ladder("text", "mle", (), {}), NEXT, 3)


def test_a_file_is_written_once(tmp_path):
    path = tmp_path / "forecast.json"
    made = forecast(below(full()), NEXT, 3)
    assert write_forecast(path, made) == made.sha256
    content, there = path.read_bytes(), read_forecast(path)
    assert (there, there.sha256) == (made, made.sha256)
    assert forecast_to(path, below(full()), NEXT, seeds=3) == made.sha256  # the same again
    with pytest.raises(UsageError, match="a forecast is never written over"):
        forecast_to(path, below(full()), NEXT, seeds=4)
    assert path.read_bytes() == content


def test_another_number_has_another_name():
    made = forecast(below(full()), NEXT, 3)
    first, *rest = made.predictions
    nudged = replace(first, probability=first.probability + 1e-12)
    assert replace(made, predictions=(nudged, *rest)).sha256 != made.sha256


@pytest.mark.parametrize("text", ["no json", "[]", '{"schema": 0}', '{"schema": 1, "below": [], "predictions": []}'])
def test_a_file_that_is_no_forecast(tmp_path, text):
    path = tmp_path / "forecast.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"forecast\.json"):
        read_forecast(path)
    with pytest.raises(DataError, match="cannot be read"):
        read_forecast(tmp_path / "absent.json")


def test_scores_by_hand():
    true = {"bleu": [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0], [0.0, 2.0, 1.0]]}
    ladder = ladder_of(true, noise=1e-6)
    made = forecast(below(ladder), NEXT, 3, claims=[Question("bleu", "gem", "emo", claim="paper/1")])
    certain = []
    for prediction in made.predictions:
        sure = replace(prediction, probability=0.75, low=prediction.difference - 0.5, high=prediction.difference + 0.5)
        certain.append(sure)
    scores = {score.of: score for score in scores_of(replace(made, predictions=tuple(certain)), ladder)}
    # emo - gem came out better, emo - mle and gem - mle as before; pairs are in the order of names: emo, gem, mle
    assert scores["bleu"].brier == pytest.approx(0.0625)
    assert scores["bleu"].naive == pytest.approx(1 / 3)
    assert scores["bleu"].gain == pytest.approx(1 - 0.0625 * 3)
    assert scores["bleu"].cautious == pytest.approx((0.8**2 + 2 * 0.2**2) / 3)  # one order changed
    assert (scores["bleu"].chosen, scores["bleu"].predictions, scores["bleu"].missing) == (True, 3, 0)
    assert scores["claims"].brier == pytest.approx(0.5625)
    assert scores["claims"].coverage == 0.0
    assert scores["all pairs"].brier == scores["bleu"].brier


def test_what_rests_on_one_method_is_seen_without_it():
    true = {"bleu": [[0.0, 1.0, 2.0, 9.0], [0.0, 1.0, 2.0, 9.0], [0.0, 1.0, 2.0, -9.0]]}  # the last one turns round
    ladder = ladder_of(true, noise=1e-6)
    made = forecast(below(ladder), NEXT, 3)
    scores = without_one(made, ladder)
    last = ladder.methods[-1]
    assert set(scores) == set(ladder.methods)
    assert {method: score.naive for method, score in scores.items()} == {
        method: 0.0 if method == last else pytest.approx(2 / 3) for method in ladder.methods
    }
    assert {score.predictions for score in scores.values()} == {3}
    assert scores[last].gain is None  # the naive forecast has all of them right


def test_a_method_that_was_not_run_is_missing():
    ladder = full()
    made = forecast(below(ladder), NEXT, 3)
    for metric in ("bleu", "ppl"):
        del ladder.rungs[2].values[metric]["mle"]
    score = scores_of(made, ladder)[-1]
    assert (score.predictions, score.missing) == (2 * 21, 2 * 7)
    for rung in ladder.rungs[:2]:  # a method that diverged may be left out of every rung
        for metric in ("bleu", "ppl"):
            del rung.values[metric]["mle"]
    assert scores_of(made, ladder)[-1] == score
    ladder.rungs[2].values["bleu"].clear()
    assert scores_of(made, ladder)[0].brier is None


def test_a_forecast_is_scored_with_the_values_it_was_made_from():
    ladder = full()
    made = forecast(below(ladder), NEXT, 3)
    with pytest.raises(UsageError, match="when its rung has been run"):
        scores_of(made, below(ladder))
    with pytest.raises(UsageError, match="expected a ladder of task 'other'"):
        scores_of(replace(made, task="other"), ladder)
    ladder.rungs[0].values["rouge"] = {"mle": {0: 1.0}}  # what was not forecast may come later
    assert scores_of(made, ladder)[-1].predictions == 56
    without = replace(ladder, higher_is_better={"ppl": False})  # a metric that later has no direction
    assert (scores_of(made, without)[-1].predictions, scores_of(made, without)[-1].missing) == (28, 28)
    ladder.rungs[0].values["bleu"]["mle"][0] += 1e-9
    with pytest.raises(UsageError, match="got others of mle"):
        scores_of(made, ladder)


def test_the_file_is_plain_json(tmp_path):
    forecast_to(tmp_path / "f.json", below(full()), NEXT, seeds=3)
    content = json.loads((tmp_path / "f.json").read_text())
    assert (content["schema"], content["rung"], content["task"]) == (1, "10M", "text")
    assert set(content["predictions"][0]) == {
        "metric", "better", "than", "claim", "probability", "difference", "low", "high",
    }  # fmt: skip
