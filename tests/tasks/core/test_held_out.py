"""Held out: equal texts go together, rows stay where they are, no split is empty."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import DataError
from bench.tasks.core.held_out import RANGES, held_out, place

BOTH = ("valid", "test")


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=40))
def test_every_split_has_a_row_and_rows_of_one_place_go_together(places: list[float | None]) -> None:
    known = set(places) - {None}
    if len(known) < 3:
        with pytest.raises(DataError, match=f"^x: expected at least 3 different rows, .*; found {len(known)}; do y$"):
            held_out(places, BOTH, "x", "; do y")
        return
    found = held_out(places, BOTH)
    assert set(found.values()) == set(BOTH)
    assert not [number for number in found if places[number] is None]
    split_of = {at: {found.get(n, "train") for n, other in enumerate(places) if other == at} for at in known}
    assert all(len(splits) == 1 for splits in split_of.values())
    assert {"train"} in split_of.values()


def test_rows_stay_where_they_are_when_others_come_or_a_split_has_a_file() -> None:
    places = [place(f"row {number}") for number in range(2000)]
    both, test = held_out(places, BOTH), held_out(places, ["test"])
    assert test == {number: split for number, split in both.items() if split == "test"}
    again = held_out([0.5, *places], BOTH)
    assert again == {number + 1: split for number, split in both.items()}
    shares = [list(both.values()).count(split) / 2000 for split in BOTH]
    assert all(0.03 < share < 0.07 for share in shares), shares


def test_places_are_spread_and_known() -> None:
    places = sorted(place(f"row {number}") for number in range(1000))
    assert all(abs(at - number / 1000) < 0.06 for number, at in enumerate(places))
    assert round(place("to be or not to be"), 6) == 0.83548
    assert set(RANGES) == set(BOTH)
