"""leaderboards/statistics/tradeoff.py: curves on lines with known answers; nothing outside what both curves reach."""

from __future__ import annotations

import pytest

from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics.tradeoff import (
    Tradeoff,
    at_equal,
    compare,
    curve,
    curves,
    mean_difference,
    overlap,
    render,
    value_at,
)

RISING = [(float(x), 3.0 * x + 2) for x in (0, 4, 10)]
FLAT = [(2.0, 5.0), (6.0, 5.0)]


@pytest.mark.parametrize("x", [0.0, 0.5, 3.9, 4.0, 7.25, 10.0])
def test_interpolation_is_exact_on_a_line(x: float) -> None:
    assert value_at(RISING, x) == pytest.approx(3 * x + 2, abs=1e-12)


def test_each_piece_has_its_own_slope() -> None:
    bent = [(0.0, 0.0), (1.0, 10.0), (3.0, 0.0)]
    assert [value_at(bent, x) for x in (0.5, 1.0, 2.0)] == [5.0, 10.0, 5.0]


@pytest.mark.parametrize("x", [-0.01, 10.01])
def test_nothing_is_extrapolated(x: float) -> None:
    with pytest.raises(ValueError, match="within the curve"):
        value_at(RISING, x)


def test_the_mean_difference_is_the_area_between_the_lines() -> None:
    assert mean_difference(RISING, FLAT) == pytest.approx(9.0)  # 3 x - 3 over 2 to 6
    assert mean_difference(FLAT, RISING) == pytest.approx(-9.0)
    assert mean_difference([(0, 0), (1, 1), (2, 0)], [(0, 0), (2, 0)]) == pytest.approx(0.5)  # a corner of one only
    assert mean_difference([(0, 0), (2, 0)], [(0, 0), (1, 1), (2, 0)]) == pytest.approx(-0.5)


def test_curves_that_share_no_x_have_no_difference() -> None:
    left, right = [(0.0, 1.0), (1.0, 1.0)], [(1.5, 1.0), (2.0, 1.0)]
    assert overlap(left, right) is None
    assert mean_difference(left, right) is None
    found = compare({0: left}, {0: right}, at=[1.2])
    assert found == Tradeoff({}, beyond=(1.2,))
    assert render(found, "self-bleu-2", "kld", "a", "b") == ["no overlap: the two sweeps have no self-bleu-2 in common"]


def test_curves_that_meet_in_one_point_are_compared_there() -> None:
    assert mean_difference([(0, 1), (2, 5)], [(2, 1), (3, 9)]) == 4.0


def test_points_of_one_x_become_their_mean() -> None:
    assert curve([(1.0, 2.0), (0.0, 0.0), (1.0, 4.0)]) == [(0.0, 0.0), (1.0, 3.0)]


def test_seeds_are_compared_one_by_one_and_have_an_interval_from_three_on() -> None:
    ours = {seed: [(0.0, 1.0 + seed), (4.0, 1.0 + seed)] for seed in range(3)}
    theirs = {seed: [(1.0, 0.0), (9.0, 0.0)] for seed in range(4)}
    found = compare(ours, theirs, at=[2.0, 5.0])
    assert found.by_seed == {0: 1.0, 1: 2.0, 2: 3.0}
    assert found.shared == (1.0, 4.0)
    assert found.difference is not None
    assert found.difference.mean == 2.0
    assert found.difference.half == pytest.approx(2.4841, abs=1e-4)  # t(2) * 1 / sqrt(3)
    assert [(one.x, one.ours, one.theirs) for one in found.at] == [(2.0, 2.0, 0.0)]
    assert found.beyond == (5.0,)
    assert compare({0: ours[0], 1: ours[1]}, theirs).difference == compare(ours | {2: [(20.0, 0.0)]}, theirs).difference
    assert "out of reach: kept 5" in render(found, "kept", "kld", "a", "b")[-1]


def test_points_are_spread_over_what_all_seeds_reach() -> None:
    ours = {0: [(0.0, 1.0), (8.0, 1.0)], 1: [(4.0, 1.0), (9.0, 1.0)]}
    theirs = {0: [(0.0, 0.0), (8.0, 0.0)], 1: [(0.0, 0.0), (9.0, 0.0)]}
    found = compare(ours, theirs)
    assert found.shared == (4.0, 8.0)
    assert [one.x for one in found.at] == [5.0, 6.0, 7.0]


def test_a_table_says_both_values_and_their_difference() -> None:
    flat = {seed: [(80.0, 3.0), (90.0, 3.0)] for seed in (0, 1)}
    lower = {seed: [(70.0, 2.5), (88.0, 2.5)] for seed in (0, 1)}
    lines = render(compare(flat, lower, at=[84.0]), "self-bleu-2", "kld", "f2softmax", "mle")
    assert lines[0].split() == ["self-bleu-2", "kld:", "f2softmax", "mle", "difference"]
    assert lines[1].split() == ["84.00", "3.000", "2.500", "+0.500", "(n=2)"]
    assert lines[2] == "over self-bleu-2 80.00 to 88.00, which both sweeps reach: +0.500 (n=2)"


def test_a_conflict_gives_no_point() -> None:
    rows = []
    for k, conflict in ((1, False), (2, False), (3, True)):
        row = TableRow("mle", "", f"topk={k}", {})
        row.values = {"x": Value({0: float(k), 1: 1.0}, None, "s"), "y": Value({0: 2.0 * k}, None, "s", conflict)}
        rows.append(row)
    assert curves(rows, "x", "y") == {0: [(1.0, 2.0), (2.0, 4.0)]}
    assert curves(rows, "x", "z") == {}


def swept(method: str, points: dict[str, tuple[float, float]], backbone: str = "small") -> list[TableRow]:
    return [
        TableRow(method, backbone, decoding, {}, keys={f"{method} {backbone}"},
                 values={"self-bleu-2": Value({0: x}, False, "x"), "kld": Value({0: y}, False, "y")})
        for decoding, (x, y) in points.items()
    ]  # fmt: skip


def test_methods_are_compared_with_the_baseline_at_equal_diversity() -> None:
    mle = swept("mle", {"a": (80.0, 2.0), "b": (100.0, 4.0)})
    ours = swept("f2softmax", {"a": (85.0, 1.5), "b": (95.0, 2.5)})
    single = swept("face", {"a": (90.0, 1.0)})
    other = swept("trime", {"a": (80.0, 2.0), "b": (90.0, 3.0)}, "large")
    assert at_equal([*mle, *ours, *single, *other]) == [
        "at equal self-bleu-2 (85.0 to 95.0), kld of f2softmax less mle's: -1.000 (n=1)"
    ]
    assert at_equal([*ours, *single]) == []
    assert at_equal([*swept("mle", {"a": (10.0, 2.0), "b": (20.0, 4.0)}), *ours]) == []
