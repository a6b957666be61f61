"""Aligned tables: whole at every width of a terminal, with every digit."""

from __future__ import annotations

import pytest

from bench.leaderboards.render.text_table import aligned
from bench.leaderboards.samples import Sample, shown

HEADINGS = ("method", "steps", "tokens/parameter", "hours", "tokens")
ROWS = [["mle.continued", "1,250", "0.0587", "12.31", "1,234,567"], ["tailr.power", "7", "1.5", "0.02", "5"]]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_parts_have_every_number_once_and_the_first_column_each(width: int) -> None:
    rows = [[*row, *row[1:], *row[1:]] for row in ROWS]
    headings = [*HEADINGS, *(f"{name} again" for name in HEADINGS[1:]), *(f"{name} last" for name in HEADINGS[1:])]
    lines = aligned(headings, rows, width=width)
    assert max(map(len, lines)) <= width
    parts = [line for line in lines if line.startswith("part ")]
    assert len(parts) >= 2
    of_mle = [line.split()[1:] for line in lines if line.startswith("mle.continued")]
    assert len(of_mle) == len(parts)
    assert [cell for cells in of_mle for cell in cells] == rows[0][1:]


def test_what_fits_is_one_part_without_a_title() -> None:
    assert aligned(("a", "n"), [["x", "1"], ["yy", "100"]]) == ["a     n", "x     1", "yy  100"]


def test_a_long_text_goes_on_below_itself() -> None:
    lines = aligned(("task", "from", "n"), [["text", "a folder with a very long name " * 3, "12"]], texts=2, width=60)
    assert max(map(len, lines)) <= 60
    assert " ".join(" ".join(lines[1:]).split()).count("folder with") == 3


def test_a_number_wider_than_the_line_is_whole() -> None:
    assert any("9" * 90 in line for line in aligned(("a", "n"), [["x", "9" * 90]], width=60))


@pytest.mark.parametrize(("width", "side_by_side"), [(60, 2), (80, 2), (120, 4)])
def test_samples_stand_side_by_side_where_there_is_room(
    monkeypatch: pytest.MonkeyPatch, width: int, side_by_side: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for methods in (2, 3, 4, 5):
        names = [f"method_{number}.released" for number in range(methods)]
        texts = dict.fromkeys(names, "word and " * 30)
        lines = shown(["a board"], [Sample("row 1", "a prompt", "", texts)], []).splitlines()
        assert max(map(len, lines)) <= width
        heads = [line for line in lines if all(name in line for name in names)]
        assert bool(heads) == (methods <= side_by_side)
        assert all(any(name in line for line in lines) for name in names)
