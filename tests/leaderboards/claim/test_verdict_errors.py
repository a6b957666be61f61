"""The simulation behind verdicts, small: the rule keeps its bounds, and rules known to be wrong miss them."""

import numpy as np
import pytest

from bench.leaderboards.statistics import significance
from bench.leaderboards.statistics.moderated import Effect, prior_of
from tools.benchmarks import verdict_errors as simulation

NS = (2, 3, 5, 8, 12, 20)


@pytest.mark.parametrize("world", [simulation.World(0.0), simulation.World(1.0, heavy=True)], ids=str)
def test_the_rule_keeps_its_bounds(world):
    rates = simulation.measure(world, 150, seed=1, every=NS)
    assert simulation.missed(world, rates, NS) == []
    assert simulation.mean_and_error(rates.power["n=5", "established 1 x 4"])[0] > 0.85


def test_a_rule_that_takes_a_normal_quantile_is_seen_to_miss():
    def normal(variances, degrees):
        return variances, np.full(variances.shape, 1e6)

    world = simulation.World(0.0)
    lines = simulation.missed(world, simulation.measure(world, 100, 0, NS, normal), NS)
    for statement in ("established 0 x", "reversed 0 x", "smaller 1 x", "larger 1 x", "equivalent 0.5 x", "paper-"):
        assert any(statement in line for line in lines), statement


def test_the_published_prior_without_caution_is_seen_to_miss_over_a_paper():
    def smyth(variances, degrees):
        d0, variance = prior_of(variances, degrees, cautious=False)
        share = np.where(np.isfinite(d0), d0 / (np.where(np.isfinite(d0), d0, 1.0) + degrees), 1.0)[:, None]
        after = share * variance[:, None] + (1 - share) * variances
        return after, np.broadcast_to(np.minimum(d0 + degrees, 1e6)[:, None], variances.shape)

    world = simulation.World(1.0)
    lines = simulation.missed(world, simulation.measure(world, 300, 0, NS, smyth), NS)
    assert any("paper-direction" in line for line in lines)


def test_power_that_falls_is_seen():
    rates = simulation.measure(simulation.World(0.0), 20, 0, NS)
    label = "established 1 x 4"
    rates.power["n=5", label], rates.power["n=3", label] = [np.zeros(20) + 0.1], [np.linspace(0.8, 1.0, 20)]
    assert any("power falls" in line for line in simulation.missed(simulation.World(0.0), rates, NS))


def test_its_arrays_are_the_functions_of_the_package():
    rng = np.random.default_rng(0)
    p = rng.random((5, 6))
    for given, adjusted in zip(p, simulation.holm(p), strict=True):
        assert adjusted == pytest.approx(significance.holm(given.tolist()))
    look = simulation.Look(3, rng.normal(size=(4, 2)), np.full((4, 2), 0.4), np.full((4, 2), 2.7))
    for place in np.ndindex(4, 2):
        effect = Effect(float(look.mean[place]) + 0.2, 0.4, 2.7, 1.0, 3)
        interval = effect.interval()
        assert look.half(0.95)[place] == pytest.approx(interval.high - effect.mean)
        assert look.p(0.2)[place] == pytest.approx(effect.p)
        assert look.p_equivalent(0.2, 1.0)[place] == pytest.approx(effect.p_equivalent(1.0))


def test_the_program_prints_a_table_and_fails_where_a_bound_is_missed(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["verdict_errors.py", "--quick", "--draws", "10"])
    monkeypatch.setattr(simulation, "WORLDS", (simulation.World(0.5, items=0.5),))
    assert simulation.main() in (0, 1)
    assert "decided by looks after Holm" in capsys.readouterr().out
    monkeypatch.setattr(simulation, "missed", lambda *_: ["too often"])
    assert simulation.main() == 1
    assert "MISSED: too often" in capsys.readouterr().out
