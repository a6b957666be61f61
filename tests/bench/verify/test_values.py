"""Values: a stored value equals that of its sufficient statistics."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.metrics.sums import Sums, mean
from bench.store.store import Store
from bench.verify import Verification
from tests.leaderboards.handmade import scored, trained

BOARDS = Path(__file__).parents[3] / "leaderboards" / "runs"
ROWS = 4
FRACTIONS = Sums(mean(), [[0.1 * row, 1] for row in range(ROWS)])


def check_of(root: Path, value: float | None, column: str = "bleu-1") -> Verification:
    """The check of a run with one value and the statistics of BLEU-1, over four rows."""
    cell = scored(trained(root), {column: value}, ids=list(map(str, range(ROWS))), items={"bleu-1": FRACTIONS})
    check = Verification()
    check.check_scores(cell, [])
    return check


@pytest.mark.parametrize("name", ["grid", "first-screen"])
def test_every_value_of_our_snapshots_is_what_its_sums_come_to(name: str) -> None:
    check = Verification()
    for cell in Store(BOARDS / name).cells():
        check.check_scores(cell, [])
    assert check.differences == []
    assert check.equal > 0


@pytest.mark.parametrize(("change", "differs"), [(1, False), (1 + 1e-14, False), (1 + 1e-11, True), (None, True)])
def test_a_value_differs_by_more_than_rounding(tmp_path: Path, change: float | None, differs: bool) -> None:
    check = check_of(tmp_path, None if change is None else FRACTIONS.value * change)
    assert (check.equal, len(check.differences)) == (1 - differs, differs)
    assert all("x: bleu-1: value stored" in line for line in check.differences)


def test_sums_without_a_value_and_values_without_sums_are_named(tmp_path: Path) -> None:
    check = check_of(tmp_path, 1.0, "kld")
    assert (check.equal, check.without) == (0, {"x": {"kld": 1}})
    (line,) = check.differences
    assert line.endswith(" · x: bleu-1: has statistics and no stored value")


def test_sums_that_are_gone_are_a_difference_but_for_the_split_whose_sums_are_not_kept(tmp_path: Path) -> None:
    for split, differs in (("test", True), ("valid", False)):
        cell = scored(trained(tmp_path / split), {"bleu-1": FRACTIONS.value}, items={"bleu-1": FRACTIONS}, split=split)
        for path in cell.path.glob("items-*"):
            path.unlink()
        check = Verification()
        check.check_scores(cell, [])
        assert bool(check.differences) == differs
        assert check.without == {"x": {"bleu-1": 1}}
