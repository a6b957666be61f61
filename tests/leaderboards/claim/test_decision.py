"""The rule: two facts of a claim and what refutes it; Holm over a paper."""

import numpy as np
import pytest

from bench.leaderboards.claim.decision import Decision, MeasuredClaim, decide, decide_paper, marks
from bench.leaderboards.statistics.intervals import Interval
from bench.leaderboards.statistics.moderated import Effect


def interval(low, high):
    return Interval((low + high) / 2, low, high)


@pytest.mark.parametrize(
    ("low", "high", "direction", "size"),
    [
        (0.5, 1.5, "established", "compatible"),
        (0.1, 0.9, "established", "smaller"),
        (1.1, 2.0, "established", "larger"),
        (-0.5, 1.5, "open", "compatible"),
        (-0.5, 0.9, "open", "smaller"),
        (-0.9, -0.1, "reversed", "smaller"),
    ],
)
def test_direction_and_size_are_two_facts(low, high, direction, size):
    decision = decide(interval(low, high), claimed=1.0)
    assert decision == Decision(direction, size, False)
    assert decision.refuted == (direction == "reversed")
    assert decide(interval(low, high)) == Decision(direction, "open", False)


def test_a_size_that_is_excluded_refutes_nothing_while_the_direction_is_open():
    decision = decide(interval(-0.1, 0.9), claimed=1.0, smallest=0.5)
    assert (decision.size, decision.direction) == ("smaller", "open")
    assert not decision.refuted
    assert not decision.decided


def test_an_effect_too_small_to_be_of_interest_refutes_even_where_its_direction_is_established():
    for low, high in ((-0.2, 0.3), (0.1, 0.4), (-0.4, -0.1)):
        decision = decide(interval(low, high), smallest=0.5)
        assert decision.equivalent
        assert decision.refuted
        assert decision.decided
    for low, high in ((-0.6, 0.3), (0.1, 0.6), (-0.5, 0.2)):
        assert not decide(interval(low, high), smallest=0.5).equivalent


def test_an_interval_without_ends_leaves_everything_open():
    assert decide(Interval(3.0, None, None), 1.0, 0.5) == Decision("open", "open", False)


def test_an_end_at_0_or_at_the_claim_decides_nothing():
    assert decide(interval(0.0, 1.0), claimed=1.0) == Decision("open", "compatible", False)


@pytest.mark.parametrize("sizes", [{"claimed": 0.0}, {"claimed": -1.0}, {"smallest": 0.0}, {"smallest": float("nan")}])
def test_sizes_are_above_0(sizes):
    with pytest.raises(ValueError, match="above 0 in the claimed direction"):
        decide(interval(0.0, 1.0), **sizes)


def test_marks_of_arrays_are_the_decisions_of_each():
    rng = np.random.default_rng(0)
    low = rng.normal(0, 1, 200)
    high = low + rng.exponential(1, 200)
    said = marks(low, high, 1.0, 0.7)
    for place in range(200):
        decision = decide(interval(low[place], high[place]), 1.0, 0.7)
        assert (decision.direction == "established") == said.established[place]
        assert (decision.direction == "reversed") == said.reversed[place]
        assert (decision.size == "smaller") == said.smaller[place]
        assert (decision.size == "larger") == said.larger[place]
        assert decision.equivalent == said.equivalent[place]


def effect(mean, error=0.1, degrees=30.0):
    return Effect(mean, error, degrees, error**2 * 5, 5)


def test_a_direction_counts_only_after_looks_and_holm():
    """t = 3.2 on 30 degrees has p = 0.0032: 6 looks leave it 0.0195, three such claims 0.058."""
    weak = MeasuredClaim(effect(0.32))
    assert [decision.direction for decision in decide_paper([weak])] == ["established"]
    assert [decision.direction for decision in decide_paper([weak] * 3)] == ["open"] * 3
    strong = MeasuredClaim(effect(2.0))
    after = [decision.direction for decision in decide_paper([strong, weak, strong])]
    assert after == ["established"] * 3


def test_reversed_and_equivalent_count_only_after_holm_too():
    against, nothing = MeasuredClaim(effect(-0.32)), MeasuredClaim(effect(0.0), smallest=0.32)
    assert [decision.refuted for decision in decide_paper([against, nothing])] == [True, True]
    crowd = [against, nothing] * 3
    assert not any(decision.refuted for decision in decide_paper(crowd))


def test_sizes_are_those_of_the_interval_of_a_look():
    claim = MeasuredClaim(effect(0.32), claimed=0.65)
    (decision,) = decide_paper([claim])
    assert decision.size == "smaller"
    assert [one.size for one in decide_paper([claim] * 9)] == ["smaller"] * 9


def test_no_claims_have_no_decisions():
    assert decide_paper([]) == []
