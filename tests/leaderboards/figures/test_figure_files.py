"""Figure files: what they hold agrees with the tables of the same paper, and a wrong name is refused with its place."""

from __future__ import annotations

from importlib import resources

import pytest

from bench.errors import DataError, UsageError
from bench.leaderboards.figures.figure_files import chosen_figures, figures, read_figure
from bench.leaderboards.published.papers import paper_table

FIGURE3 = resources.files("bench.leaderboards").joinpath("figures/f2softmax-figure3.toml").read_text(encoding="utf-8")


def printed_cells(address: str, part: str, row: str) -> dict[str, str]:
    """The printed numbers of a row of a table, by column."""
    for cells in paper_table(address).rows:
        if cells[0].part == part and cells[0].row == row:
            return {cell.column: cell.printed for cell in cells}
    raise AssertionError(f"no row '{row}' in {address}")


def series(address: str, label: str):
    (found,) = [series for series in figures()[address].series if series.label == label]
    return found


@pytest.mark.parametrize(("label", "row"), [("MLE", "MLE"), ("MefMax's choice", "F²-Softmax")])
def test_the_references_of_figure_3_are_those_of_table_1(label: str, row: str) -> None:
    printed = printed_cells("f2softmax/table1", "(b) Melo-Lyrics", row)
    found = series("f2softmax/figure3", label).printed
    assert found == {name: printed[name] for name in ("PPL", "MS-Jaccard n=2", "Self-BLEU n=2")}


@pytest.mark.parametrize(
    ("label", "row"), [("From scratch", "From scratch"), ("Transferred from plain", "Transferred")]
)
def test_the_stand_in_has_the_numbers_of_table_8(label: str, row: str) -> None:
    assert series("f2softmax/table8-stand-in", label).printed == printed_cells("f2softmax/table8", "", row)


def test_a_sweep_is_a_cell_for_each_place_and_way_to_cut() -> None:
    points = [point for point in figures()["f2softmax/figure3"].points if point.at is not None]
    assert len(points) == 2 * 5
    assert {point.method for point in points} == {"f2softmax.fixed_eq_freq", "f2softmax.fixed_eq_token"}
    assert all(point.sets == (f"method.number={point.at}",) for point in points)


def test_figures_are_chosen_by_address() -> None:
    assert [figure.title for figure in chosen_figures(["F2Softmax/Figure3"])] == [
        "How many frequency classes, and cut how"
    ]
    with pytest.raises(UsageError, match="no figure 'f2softmax/figure4'; did you mean 'f2softmax/figure"):
        chosen_figures(["f2softmax/figure4"])


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ('"ppl/token"', '"ppl/tokens"', "is no column of our metrics"),
        ('method = "mle"', 'method = "mlee"', "series 'MLE': unknown method 'mlee'; did you mean 'mle'"),
        ('kind = "rises to"', 'kind = "rises"', "unknown kind 'rises'"),
        ('than = "equal tokens"', 'than = "others"', "unknown series 'others'"),
        ('kind = "lower"', 'kind = "lower"\nprinted = 1.0', "a number is printed for ratio and near"),
        ('task = "lyrics"', "", "missing 'task'"),
    ],
)
def test_a_wrong_name_is_refused(right: str, wrong: str, says: str) -> None:
    assert right in FIGURE3
    with pytest.raises(DataError, match=says):
        read_figure(FIGURE3.replace(right, wrong, 1), "figures/x.toml")
