"""The simulation of ladders, small: nothing is claimed without true differences, strong ones are all found."""

import numpy as np
import pytest

from bench.leaderboards.ladder.pairs import pair_effects
from bench.leaderboards.ladder.scores import Ladder, Rung
from bench.leaderboards.ladder.transfer import method_questions, transfer_cards
from bench.leaderboards.statistics import significance
from tests.benchmarks import ladder_errors as simulation

NAMES = ("mle", "n1", "n2", "n3", "n4", "n5", "n6")  # so that pairs in the order of names have the baseline first


@pytest.mark.parametrize(
    "world", [simulation.World(6, log_sd=0.5, metrics=3), simulation.World(4, log_sd=1.0, heavy=True)], ids=str
)
def test_a_ladder_keeps_its_bounds_and_finds_what_is_strong(world):
    rates = simulation.measure(world, 200, seed=1)
    assert simulation.missed(world, rates) == []
    assert rates["nothing", "wrong"].mean() <= 0.05
    for kind in ("mixed", "stable", "crossed", "grown"):
        assert rates[kind, "orders found"].mean() > 0.99
    for kind in ("crossed", "grown"):
        assert rates[kind, "words found"].mean() > 0.99


def test_a_rule_that_takes_a_normal_quantile_is_seen_to_miss():
    def normal(variances, degrees):
        return variances, np.full(variances.shape, 1e6)

    world = simulation.World(4, metrics=2)
    lines = simulation.missed(world, simulation.measure(world, 100, 0, normal))
    for kind in ("nothing", "mixed", "stable"):
        assert any(f", {kind}:" in line for line in lines), kind


def test_without_holm_a_ladder_is_seen_to_miss(monkeypatch):
    monkeypatch.setattr(simulation, "holm", lambda p: p)
    world = simulation.World(6, metrics=2)
    assert any(", nothing:" in line for line in simulation.missed(world, simulation.measure(world, 100, 0)))


def test_its_arrays_are_the_functions_of_the_package():
    rng, world = np.random.default_rng(3), simulation.World(7, log_sd=0.5, metrics=2)
    effects = 8.0 * simulation.effects_of("crossed", 7) / simulation.STRONG
    values = simulation.draw(world, 3, rng) + effects[:, :, None]
    said = simulation.said_of(values)
    seen = set()
    for place, of_ladder in enumerate(values):
        ladder = ladder_of(of_ladder)
        found = pair_effects(ladder)
        cards = transfer_cards(ladder, found, method_questions(ladder))
        for m, metric in enumerate(("a", "b")):
            for r, rung in enumerate(ladder.rungs):
                column = found.by_column[metric, rung.name]
                assert [effect.direction for effect in column.values()] == said.orders[place, m, r].tolist()
            for k, card in enumerate(card for card in cards if card.question.metric == metric):
                words = [word for word in simulation.WORDS if said.words[word][place, m, k]]
                assert (words or ["not within these sizes"]) == [card.word]
                seen.add(card.word)
    assert len(seen) > 1
    p = rng.random((3, 2, 4))
    for given, adjusted in zip(p, simulation.holm(p), strict=True):
        assert adjusted.ravel() == pytest.approx(significance.holm(given.ravel().tolist()))


def ladder_of(values):
    """A ladder of values `[metrics, rungs, methods, seeds]`."""
    rungs = []
    for place, size in enumerate(simulation.SIZES):
        by_metric = {}
        for metric, found in zip(("a", "b"), values[:, place].tolist(), strict=True):
            by_metric[metric] = {name: dict(enumerate(row)) for name, row in zip(NAMES, found, strict=True)}
        rungs.append(Rung(str(size), size, 1.0, by_metric))
    return Ladder("text", "mle", tuple(rungs), {"a": True, "b": True})


def test_the_program_prints_a_table_and_fails_where_a_bound_is_missed(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["ladder_errors.py", "--draws", "5"])
    monkeypatch.setattr(simulation, "WORLDS", (simulation.World(3, metrics=1),))
    assert simulation.main() == 0
    assert "words found" in capsys.readouterr().out
    monkeypatch.setattr(simulation, "missed", lambda *_: ["too often"])
    assert simulation.main() == 1
    assert "MISSED: too often" in capsys.readouterr().out
