"""Crossovers: a question has the word of every metric's card, whichever way round the card is asked."""

import pytest

from bench.leaderboards.ladder import crossovers
from bench.leaderboards.ladder.crossovers import CROSSOVERS, Crossover, crossover_lines
from bench.leaderboards.ladder.pairs import pair_effects
from bench.leaderboards.ladder.transfer import Question, method_questions, transfer_cards
from bench.models import METHODS
from tests.leaderboards.ladder.ladders import ladder_of

TRUE = {
    "bleu": [[0, 10, 80, 100], [0, 50, 50, 0], [0, 90, 20, -100]],
    "ppl": [[50, 50, 50, 50], [50, 50, 50, 50], [50, 50, 50, 50]],
}


def lines_of(monkeypatch, *asked):
    ladder = ladder_of(TRUE, noise=0.5)
    cards = transfer_cards(ladder, pair_effects(ladder), method_questions(ladder))
    monkeypatch.setattr(crossovers, "CROSSOVERS", asked)
    return list(crossover_lines(cards))


@pytest.mark.parametrize(("better", "than", "side"), [("emo", "mle", "ahead"), ("mle", "emo", "behind")])
def test_a_question_has_the_words_of_its_cards_and_who_is_ahead(monkeypatch, better, than, side):
    asked = Crossover(better, than, "Is it so?", "asked by nobody")
    (line,) = [line for line in lines_of(monkeypatch, asked) if line.startswith("- ")]
    words = f"growing: bleu; not within these sizes: 1 metrics; {side} on every rung: bleu."
    assert line == f"- **Is it so?** asked by nobody. {better} against {than}: {words}"


def test_where_an_order_turns_the_rungs_are_named(monkeypatch):
    (line,) = [line for line in lines_of(monkeypatch, Crossover("simctg", "mle", "?", "-")) if line.startswith("- ")]
    assert "crossing, 0.1M to 10M: bleu" in line
    assert "every rung" not in line


def test_a_question_without_its_methods_is_left_out(monkeypatch):
    assert lines_of(monkeypatch, Crossover("histalign", "mle", "?", "-")) == []


def test_the_questions_are_of_methods_that_cards_compare():
    for asked in CROSSOVERS:
        assert {asked.better.partition(".")[0], asked.than.partition(".")[0]} <= set(METHODS)
    pairs = {frozenset((asked.better, asked.than)) for asked in CROSSOVERS}
    names = ("mle", "mle.decoupled", "mle.continued", "tailr.power", "trime", "histalign", "f2softmax")
    ladder = ladder_of({"bleu": [[0.0] * 7]}, names=names)
    assert pairs <= {frozenset((one.better, one.than)) for one in method_questions(ladder)}


def test_questions_are_those_of_a_metric_and_not_of_claims(monkeypatch):
    ladder = ladder_of(TRUE, noise=0.5)
    cards = transfer_cards(ladder, pair_effects(ladder), [Question("bleu", "emo", "mle", claim="paper/1")])
    monkeypatch.setattr(crossovers, "CROSSOVERS", (Crossover("emo", "mle", "?", "-"),))
    assert list(crossover_lines(cards)) == []
