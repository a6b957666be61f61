"""The picture of README is that of the kept board."""

import pytest

import bench
from tools import pictures
from tools.svg import svg_of


def test_the_picture_shows_the_kept_board() -> None:
    pytest.importorskip("matplotlib")
    drawn = pictures.board_picture()
    assert svg_of(drawn) == (pictures.FOLDER / "board.svg").read_text(encoding="utf-8"), "make boards draws it again"
    frame = bench.load(pictures.RUNS / "mid").to_pandas()
    frame = frame[frame["task"] == "ambiguous_template"].set_index(["metric", "method"])["mean"]
    for ax, metric in zip(drawn.axes, pictures.PANELS, strict=True):
        (ours, *_), *_ = ax.containers
        assert list(ours.get_xdata()) == [frame[metric, method] for method in pictures.METHODS]
