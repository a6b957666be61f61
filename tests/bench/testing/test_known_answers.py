"""Known answers: accuracy of a verifier on claims that people have judged, and one that guesses is found."""

import json

import pytest

from bench.metrics import METRICS
from bench.metrics.score import Score
from bench.tasks.files.known_answers import Known
from bench.testing.known_answers import Checked, judged, spread
from bench.testing.metric_contract import CHECKS


def claims(n):
    return [Known(str(i), f"claim {i} is {'true' if i % 2 == 0 else 'false'}", {"source": "x"}, i % 2 == 0)
            for i in range(n)]  # fmt: skip


@pytest.fixture
def verifier(monkeypatch):
    """A verifier that holds for true what a rule says, over 400 claims."""

    def use(rule, *, up=True, value=True):
        def scores(rows, gold):
            assert {row["id"] for row in rows} == set(gold)
            held = 100 * sum(map(rule, (row["text"] for row in rows))) / len(rows)
            reason = "" if value else "|not applicable: needs owner/x: bench doctor"
            held = held if up else 100 - held
            return [
                Score("count", 1.0, "count", None, len(rows), "count"),
                Score("share", held if value else None, "percent", up, len(rows), "share|version:1" + reason),
            ]

        monkeypatch.setattr(type(METRICS["tapas"]), "load", lambda self: scores)
        monkeypatch.setattr("bench.testing.known_answers.ANSWERS", {"tables": lambda data_dir: claims(400)})
        monkeypatch.setattr("bench.testing.metric_contract.CHECKS", (CHECKS[0], CHECKS[-1]))

    return use


def of_tapas(bench):
    """The check of the answers, as the command prints it."""
    ended = bench("check", "tapas", "--json")
    ((_, answers),) = [report["checks"] for report in json.loads(ended.out)]
    return ended.code, answers["state"], answers["detail"]


def test_a_verifier_that_is_right(bench, verifier):
    verifier(lambda text: "true" in text)
    assert of_tapas(bench) == (0, "passed", (
        "share: accuracy 100.0 % of 400 claims; balanced 100.0 +- 0.0; holds 100.0 % of 200 "
        "true and 0.0 % of 200 false ones for true; better than guessing; share|version:1"
    ))  # fmt: skip


@pytest.mark.parametrize("rule", [lambda text: True, lambda text: "false" in text, lambda text: "3" in text])
def test_a_verifier_that_guesses_ends_with_1(bench, verifier, rule):
    verifier(rule)
    code, state, detail = of_tapas(bench)
    assert (code, state) == (1, "failed")
    assert "expected better than guessing; got share: accuracy" in detail
    assert "is this the right checkpoint" in detail


def test_a_share_of_false_ones_counts_the_other_way(verifier):
    verifier(lambda text: "true" in text, up=False)
    result = judged("tapas", METRICS["tapas"], None)
    assert (result.true_held, result.false_held, result.accuracy) == (100, 0, 100)


def test_a_model_that_is_missing_is_no_number(bench, verifier):
    verifier(lambda text: True, value=False)
    assert of_tapas(bench) == (0, "not applicable", "tapas: needs owner/x: bench doctor")


def test_accuracy_weighs_both_kinds():
    found = Checked("x", "x", n_true=300, n_false=100, true_held=90.0, false_held=60.0)
    assert found.accuracy == pytest.approx((270 + 40) / 4)
    mean, half = found.balanced
    assert mean == 65.0
    assert half == pytest.approx(1.959964 * (90 * 10 / 300 + 60 * 40 / 100) ** 0.5 / 2)


def test_some_claims_are_spread_over_all_in_pairs():
    found = [int(claim.id) for claim in spread(claims(100), 6)]
    assert found == [0, 1, 32, 33, 66, 67]
    assert len(spread(claims(10), None)) == len(spread(claims(10), 50)) == 10
