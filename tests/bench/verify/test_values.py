"""bench/verify/values.py: a stored value equals that of its sums in every bit, unless sums of groups were rounded."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from bench.metrics.diversity.copying import copying_scores
from bench.metrics.sums import Sums, mean
from bench.store.store import Store
from bench.verify import Values, value_from
from tests.leaderboards.handmade import scored, trained

BOARDS = Path(__file__).parents[3] / "leaderboards" / "runs"
ROWS = 4
FRACTIONS = Sums(mean(), [[0.1 * row, 1] for row in range(ROWS)])
GROUPED = FRACTIONS.together(["a", "a", "b", "b"])


def check_of(root: Path, value: float | None, sums: Sums, column: str = "bleu-1") -> Values:
    """The check of a cell with one value and its sums, over four rows."""
    cell = scored(trained(root), {column: value}, ids=list(map(str, range(ROWS))), items={"bleu-1": sums})
    check = Values()
    check.check_scores(cell, [])
    return check


@pytest.mark.parametrize("name", ["grid", "first-screen"])
def test_every_value_of_our_snapshots_is_what_its_sums_come_to(name: str) -> None:
    check = Values()
    for cell in Store(BOARDS / name).cells():
        check.check_scores(cell, [])
    assert check.differences == []
    assert check.exact > 0


def test_a_value_of_single_rows_is_compared_in_every_bit(tmp_path: Path) -> None:
    assert check_of(tmp_path / "same", FRACTIONS.value, FRACTIONS).exact == 1
    check = check_of(tmp_path / "other", math.nextafter(FRACTIONS.value, 100), FRACTIONS)
    (line,) = check.differences
    assert f"x: bleu-1: value stored {math.nextafter(FRACTIONS.value, 100)!r}, its statistics give" in line


def test_a_value_of_rounded_groups_may_differ_in_the_last_bits_only(tmp_path: Path) -> None:
    near = check_of(tmp_path / "near", math.nextafter(GROUPED.value, 100), GROUPED)
    assert (near.exact, near.rounded, near.differences) == (0, 1, [])
    assert len(check_of(tmp_path / "far", GROUPED.value * (1 + 1e-11), GROUPED).differences) == 1
    assert len(check_of(tmp_path / "none", None, GROUPED).differences) == 1
    whole = Sums(mean(), [[1, 1], [2, 2]])  # groups of whole numbers are exact
    assert len(check_of(tmp_path / "whole", math.nextafter(whole.value, 0), whole).differences) == 1


def test_sums_without_a_value_and_values_without_sums_are_named(tmp_path: Path) -> None:
    check = check_of(tmp_path, 1.0, FRACTIONS, "kld")
    assert check.exact == 0
    assert check.without == {"x": {"kld": 1}}
    (line,) = check.differences
    assert line.endswith(" · x: bleu-1: has statistics and no stored value")


def test_values_of_copying_are_those_of_the_metric_in_every_bit() -> None:
    words = "abcdefghij"
    for length in range(2, 9):
        rows = [{"id": str(row), "text": " ".join(words[row : row + length])} for row in range(3)]
        gold = {str(row): {"source": " ".join(words[: row + 3])} for row in range(3)}
        for score in copying_scores(rows, gold):
            if score.sums is not None:
                assert value_from(score.name, score.sums) == score.value


def test_sums_that_are_gone_are_a_difference_but_for_the_split_whose_sums_are_not_kept(tmp_path: Path) -> None:
    for split, differs in (("test", True), ("valid", False)):
        cell = scored(trained(tmp_path / split), {"bleu-1": FRACTIONS.value}, items={"bleu-1": FRACTIONS}, split=split)
        for path in cell.path.glob("items-*"):
            path.unlink()
        check = Values()
        check.check_scores(cell, [])
        assert bool(check.differences) == differs
        assert check.without == {"x": {"bleu-1": 1}}
