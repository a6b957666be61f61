"""tests/drawn.py: every pair is there, and every value comes every day."""

import pytest

from tests.drawn import in_turn


def pairs_of(first: list[str], second: list[int]) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    """All pairs, and those that are not slow."""
    found = in_turn(first, second)
    return [tuple(pair.values) for pair in found], [tuple(pair.values) for pair in found if not pair.marks]


def test_the_lists_are_taken_in_turn() -> None:
    every, daily = pairs_of(["a", "b"], [1, 2, 3])
    assert every == [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2), ("b", 3)]
    assert daily == [("a", 1), ("a", 3), ("b", 2)]


@pytest.mark.parametrize(("some", "others"), [(1, 4), (2, 4), (3, 3), (4, 3), (5, 2)])
def test_every_value_comes_every_day(some: int, others: int) -> None:
    first, second = [str(number) for number in range(some)], list(range(others))
    every, daily = pairs_of(first, second)
    assert len(set(every)) == len(every) == some * others
    assert {pair[0] for pair in daily} == set(first)
    assert {pair[1] for pair in daily} == set(second)
    assert len(daily) == max(some, others)
