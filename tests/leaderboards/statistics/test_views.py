"""Views: duels, records and ranks by hand, ties, missing values, what is refused."""

import itertools
import math
import random

import pytest

from bench.leaderboards.statistics.views import Duel, closest_to_human, merit, pairwise, records

# Greedy decoding on lyrics, as F2-Softmax's table 2 prints it (n = 2), and its own pairs of table 9a.
GOALS = {"ppl": "lower", "kld": "lower", "ms": "higher", "self-bleu": 76.6, "distinct": 77.5, "rep": 2.1, "uniq": 27.9}
LYRICS = {
    "mle": dict(zip(GOALS, (13.1, 0.46, 44.2, 71.8, 26.7, 67.7, 20.4), strict=True)),
    "face": dict(zip(GOALS, (13.9, 0.51, 39.6, 72.5, 32.0, 39.1, 21.7), strict=True)),
    "ul": dict(zip(GOALS, (13.8, 0.51, 42.7, 73.0, 26.4, 66.6, 20.0), strict=True)),
    "f2": dict(zip(GOALS, (13.2, 0.38, 45.1, 66.6, 26.0, 66.9, 21.3), strict=True)),
}


def test_duels_of_a_published_table():
    found = {(duel.first, duel.second): duel for duel in pairwise(LYRICS, GOALS)}
    f2 = found["mle", "f2"]  # mle: ppl, self-bleu, distinct; f2: kld, ms, rep, uniq
    assert (f2.wins, f2.losses, f2.ties, f2.winner, f2.left_out) == (3, 4, 0, "f2", ())
    face = found["face", "ul"]  # face: distinct, rep, uniq; ul: ppl, ms, self-bleu; kld alike
    assert (face.wins, face.losses, face.ties, face.winner) == (3, 3, 1, None)
    assert len(found) == 6


def test_a_tie_is_within_the_tolerance_or_what_a_test_says():
    values = {"a": {"x": 1.0, "y": 1.0}, "b": {"x": 1.1, "y": 3.0}}
    goals = {"x": "higher", "y": "higher"}
    assert [(d.wins, d.losses, d.ties) for d in pairwise(values, goals)] == [(0, 2, 0)]
    assert [(d.wins, d.losses, d.ties) for d in pairwise(values, goals, tolerance=0.2)] == [(0, 1, 1)]
    asked = []

    def tied(*names):
        asked.append(names)
        return names[2] == "y"

    assert [(d.wins, d.losses, d.ties, d.winner) for d in pairwise(values, goals, tied=tied)] == [(0, 1, 1, "b")]
    assert asked == [("a", "b", "x"), ("a", "b", "y")]


def test_a_missing_value_is_no_vote_and_is_named():
    values = {"a": {"x": 1.0, "y": None}, "b": {"x": 2.0, "y": 1.0}, "c": {"y": 1.0}}
    duels = pairwise(values, {"x": "higher", "y": "lower"})
    assert [(d.wins, d.losses, d.ties, d.left_out) for d in duels] == [
        (0, 1, 0, ("y",)),
        (0, 0, 0, ("x", "y")),
        (0, 0, 1, ("x",)),
    ]
    assert [d.winner for d in duels] == ["b", None, None]


def test_duels_are_the_same_seen_from_the_other_side():
    rng = random.Random(0)
    values = {m: {c: rng.choice([1.0, 2.0, 3.0, None]) for c in "vwxyz"} for m in "abcd"}
    goals = dict(zip("vwxyz", ("higher", "lower", 2.0, "higher", 1.0), strict=True))
    forward = {frozenset((d.first, d.second)): d for d in pairwise(values, goals)}
    for d in pairwise(dict(reversed(values.items())), dict(reversed(goals.items()))):
        other = forward[frozenset((d.first, d.second))]
        assert (d.first, d.second, d.wins, d.losses) == (other.second, other.first, other.losses, other.wins)
        assert (d.ties, d.winner, set(d.left_out)) == (other.ties, other.winner, set(other.left_out))
        assert d.wins + d.losses + d.ties + len(d.left_out) == len(goals)


def test_records_add_up_settings_and_share_ranks():
    one = [Duel("a", "b", 4, 3, 0), Duel("a", "c", 3, 3, 1), Duel("b", "c", 5, 2, 0)]
    two = [Duel("a", "b", 4, 3, 0), Duel("a", "c", 0, 7, 0), Duel("b", "c", 5, 2, 0)]
    found = [(r.rank, r.method, r.wins, r.losses, r.draws) for r in records([*one, *two])]
    assert found == [(1, "a", 2, 1, 1), (1, "b", 2, 2, 0), (3, "c", 1, 2, 1)]
    assert records([]) == []


def test_closest_to_human_by_hand():
    """Distances of self-bleu: mle 4.8, face 4.1, ul 3.6, f2 10; of rep 65.6, 37, 64.5, 64.8."""
    found = closest_to_human(LYRICS, {"self-bleu": 76.6, "rep": 2.1})
    assert [(row.method, dict(row.ranks), row.mean) for row in found] == [
        ("face", {"self-bleu": 2, "rep": 1}, 1.5),
        ("ul", {"self-bleu": 1, "rep": 2}, 1.5),
        ("mle", {"self-bleu": 3, "rep": 4}, 3.5),
        ("f2", {"self-bleu": 4, "rep": 3}, 3.5),
    ]
    assert found[0].gaps == pytest.approx({"self-bleu": 100 * 4.1 / 76.6, "rep": 100 * 37 / 2.1})


def test_above_and_below_people_are_equally_far():
    found = closest_to_human({"a": {"x": 9.0}, "b": {"x": 11.0}, "c": {"x": 10.0}}, {"x": 10.0})
    assert [(row.method, row.mean) for row in found] == [("c", 1), ("a", 2.5), ("b", 2.5)]
    assert closest_to_human({"a": {"x": 1.0}}, {"x": 0.0})[0].gaps == {}  # no share of nothing


def test_a_column_that_somebody_lacks_is_left_out_for_all():
    values = {"a": {"x": 1.0, "y": 1.0}, "b": {"x": 2.0, "y": None}, "c": {"x": 2.0, "y": 9.0}}
    found = {row.method: row for row in closest_to_human(values, {"x": 9.0, "y": 9.0})}
    assert {name: (dict(row.ranks), row.mean) for name, row in found.items()} == {
        "a": ({"x": 3}, 3),
        "b": ({"x": 1.5}, 1.5),
        "c": ({"x": 1.5}, 1.5),
    }
    none = closest_to_human({"a": {"x": None}, "b": {"x": 1.0}}, {"x": 9.0})
    assert [(row.ranks, row.mean) for row in none] == [({}, None), ({}, None)]


def test_ranks_sum_to_the_same_whatever_the_ties_and_the_order():
    rng = random.Random(1)
    for _ in range(30):
        values = {m: {"x": float(rng.randrange(4))} for m in "abcdef"}
        found = {row.method: row.mean for row in closest_to_human(values, {"x": 0.0})}
        assert sum(found.values()) == 21
        shuffled = dict(rng.sample(list(values.items()), 6))
        assert {row.method: row.mean for row in closest_to_human(shuffled, {"x": 0.0})} == found
        for one, other in itertools.combinations("abcdef", 2):
            assert (found[one] < found[other]) == (values[one]["x"] < values[other]["x"])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: pairwise({"a": {"x": 1.0}}, {"x": "higher"}), "at least 2 methods and one column, got \\['a'\\]"),
        (lambda: pairwise(LYRICS, {}), "one column, got .* and \\[\\]"),
        (lambda: closest_to_human({}, {"x": 1.0}), "at least 1 methods"),
        (
            lambda: pairwise(LYRICS, {"ppl": "best"}),
            "goal 'best' is unknown; there are: higher, lower, or a number",
        ),
        (lambda: closest_to_human(LYRICS, {"rep": math.nan}), "rep: expected a finite number to be near to, got nan"),
        (lambda: pairwise({"a": {"x": 1.0}, "b": {"x": math.inf}}, {"x": "lower"}), "b, x: expected a finite value"),
    ],
)
def test_refuses_what_cannot_be_ranked(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_merit_is_higher_for_the_better():
    assert merit(2.0, "higher") > merit(1.0, "higher")
    assert merit(1.0, "lower") > merit(2.0, "lower")
    assert merit(4.0, 5.0) == merit(6.0, 5.0) > merit(7.0, 5.0)


@pytest.mark.parametrize("tolerance", [0.0, 1e-9, 0.3])
def test_ranks_are_those_of_counting_one_by_one(tolerance):
    draw = random.Random(1)
    for _ in range(60):
        values = {str(i): {"x": round(draw.uniform(0, 3), draw.choice([0, 1, 9]))} for i in range(draw.randint(2, 12))}
        distances = [abs(row["x"] - 1.5) for row in values.values()]
        for rank in closest_to_human(values, {"x": 1.5}, tolerance):
            own = abs(values[rank.method]["x"] - 1.5)
            nearer = sum(distance < own - tolerance for distance in distances)
            level = sum(abs(distance - own) <= tolerance for distance in distances)
            assert rank.mean == nearer + (level + 1) / 2
