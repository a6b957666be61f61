"""Transfer cards: each word where it is true, its line by hand, and claims as questions."""

import numpy as np
import pytest

from bench.leaderboards.claim.claim_files import Claim
from bench.leaderboards.claim.sides import Side
from bench.leaderboards.ladder import claims
from bench.leaderboards.ladder.pairs import pair_effects
from bench.leaderboards.ladder.scores import Ladder, Rung
from bench.leaderboards.ladder.transfer import Question, method_questions, transfer_cards, weights
from tests.leaderboards.ladder.ladders import ladder_of

STRONG = [
    [0, 10, 80, 100, 40, -90, 40, 200],
    [0, 50, 50, 0, 40, 0, 40, 200],
    [0, 90, 20, -100, 40, -10, 40, 200],
]
WORDS = {
    "emo": "growing",
    "gem": "shrinking",
    "simctg": "crossing",
    "tailr": "not within these sizes",
    "trime": "shrinking",
    "power": "not within these sizes",
}


def cards_of(ladder, questions=None):
    cards = transfer_cards(ladder, pair_effects(ladder), questions or method_questions(ladder))
    return {card.question.better: card for card in cards}


@pytest.mark.parametrize("lower", [(), ("bleu",)])
def test_each_word_where_it_is_true_whichever_direction_is_better(lower):
    true = STRONG
    if lower:
        true = (-np.array(STRONG)).tolist()
    cards = cards_of(ladder_of({"bleu": true}, noise=0.5, lower=lower))
    assert {method: cards[method].word for method in WORDS} == WORDS
    assert cards["simctg"].crossing == ("0.1M", "10M")
    assert [found.direction for found in cards["emo"].rungs.values()] == [1, 1, 1]


def test_the_other_way_round_a_card_has_the_same_word():
    ladder = ladder_of({"bleu": STRONG}, noise=0.5)
    turned = cards_of(ladder, [Question("bleu", "mle", method) for method in WORDS][:1])
    assert turned["mle"].word == "growing"
    assert turned["mle"].trend.slope.mean == -cards_of(ladder)["emo"].trend.slope.mean


def test_the_line_is_that_of_least_squares_and_its_seeds_are_paired():
    sizes = [100_000, 400_000, 20_000_000]
    slope, middle = weights(sizes)
    x, y = np.log10(sizes), np.array([3.0, -1.0, 2.5])
    fitted = np.polyfit(x, y, 1)
    assert np.dot(slope, y) == pytest.approx(fitted[0])
    assert np.dot(middle, y) == pytest.approx(np.polyval(fitted, (x[0] + x[-1]) / 2))
    rng = np.random.default_rng(0)
    ladder = ladder_of({"bleu": STRONG}, noise=0.5)
    for rung in ladder.rungs:  # what a seed does to all methods alike is no noise of a difference
        for seed, shift in enumerate(rng.normal(size=3).tolist()):
            for by_seed in rung.values["bleu"].values():
                by_seed[seed] += 1000 * shift
    assert {method: cards_of(ladder)[method].word for method in WORDS} == WORDS


def test_one_rung_and_one_seed_give_no_trend():
    for ladder in (ladder_of({"bleu": STRONG[:1]}, noise=1.0), ladder_of({"bleu": STRONG}, noise=1.0, seeds=1)):
        card = cards_of(ladder)["emo"]
        assert (card.trend, card.p, card.word) == (None, 1.0, "not within these sizes")


def test_cards_pay_for_each_other():
    ladder = ladder_of({"bleu": STRONG}, noise=0.5)
    alone = cards_of(ladder, [Question("bleu", "tailr", "mle")])["tailr"]
    assert cards_of(ladder)["tailr"].p > alone.p


def test_a_method_is_compared_with_its_own_controls_too():
    names = ("mle", "mle.decoupled", "trime", "histalign", "histalign.released", "f2softmax", "own")
    rung = Rung("1M", 1_000_000, 1.0, {"bleu": {name: {0: 1.0} for name in names}})
    ladder = Ladder("text", "mle", (rung,), {"bleu": True})
    asked = [(question.better, question.than) for question in method_questions(ladder)]
    assert asked == [
        ("f2softmax", "mle"), ("f2softmax", "mle.decoupled"), ("histalign", "mle"), ("histalign", "trime"),
        ("histalign.released", "mle"), ("histalign.released", "trime"), ("mle.decoupled", "mle"), ("own", "mle"),
        ("trime", "mle"),
    ]  # fmt: skip


def claim(column, relation, better, than, **more):
    return Claim("section 4", f"{better} and {than}", column, relation, Side(better), Side(than), quote="so it is",
                 estimand="sign", **more)  # fmt: skip


def test_claims_are_asked_where_methods_and_metric_are_there():
    class File:
        short = "paper"
        claims = (
            claim("bleu", "higher", "emo", "mle"),
            claim("ppl", "lower", "emo", "mle"),
            claim("ppl", "higher", "emo", "mle"),
            claim("bleu", "higher", "absent", "mle"),
            claim("rouge-1", "higher", "emo", "mle"),
            Claim("t", "s", "bleu", "higher", Side("emo", "topk=3"), Side("mle", "greedy"), quote="q", estimand="sign"),
            Claim("t", "s", "bleu", "above", Side("emo"), bound=1.0, quote="q", published=1.0),
        )

    ladder = ladder_of({"bleu": [[1, 2]], "ppl": [[1, 2]]}, lower=["ppl"])
    found = claims.claim_questions([File], ladder)
    assert [(question.claim, question.better, question.than) for question in found] == [
        ("paper/1", "emo", "mle"),
        ("paper/2", "emo", "mle"),
        ("paper/3", "mle", "emo"),  # the worse value is claimed for emo
    ]
    assert (found[0].quote, found[0].where, found[0].says) == ("so it is", "section 4", "emo and mle")


@pytest.mark.parametrize(("of_mle", "asked"), [("topk=3+max_new_tokens=64", 1), ("topk=20", 0), (None, 1)])
def test_a_claim_on_another_decoding_than_the_ladders_is_not_asked(of_mle, asked):
    sides = Side("emo", "topk=3"), Side("mle", "topk=3")

    class File:
        short = "paper"
        claims = (Claim("t", "s", "bleu", "higher", *sides, quote="q", estimand="sign"),)

    decodings = {"emo": "topk=3+max_new_tokens=64"}
    if of_mle:
        decodings["mle"] = of_mle
    ladder = ladder_of({"bleu": [[1, 2]]})
    assert len(claims.claim_questions([File], ladder, decodings)) == asked
