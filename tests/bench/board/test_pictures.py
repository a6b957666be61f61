"""Pictures of a board: the numbers that are drawn, whose they are said to be, and the same bytes each time."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bench.board.pictures import COLOURS, Picture, draw
from bench.errors import MissingError, UsageError
from bench.leaderboards.statistics.intervals import seed_mean
from tests.leaderboards.boards import ATTACKS, board, row, table, value

SMALL, LARGE = "backbone.width=64", "backbone.width=128, trainer.lr=0.1"
SIZES = {"mle-small": 1000, "mle-large": 8000, "face-small": 1000, "face-large": 8000}
CURVES = [
    {"task": "logicnlg", "method": method, "backbone": "b", "settings": "", "seed": seed, "step": step,
     "quantity": quantity, "value": step + seed}
    for method in ("mle", "face") for quantity in ("train/loss", "validation/loss") for seed in (0, 1)
    for step in (30, 10, 20)
]  # fmt: skip


def sized(name: str, mean: float, by_seed: tuple[float, ...], settings: str) -> dict[str, Any]:
    """One row of BLEU-1 on a model of one of two sizes."""
    size = "small" if settings == SMALL else "large"
    values = {"bleu-1": value(mean, by_seed=dict(zip("012", by_seed, strict=True)))}
    return row(name, values, id=f"{name}-{size}", settings=settings)


def two_sizes() -> dict[str, Any]:
    """A board of two methods on models of two sizes."""
    return board(
        table([
            sized("mle", 2.0, (1.0, 2.0, 3.0), SMALL), sized("mle", 6.0, (6.0, 7.0, 5.0), LARGE),
            sized("face", 4.0, (3.0, 4.0, 5.5), SMALL), sized("face", 5.0, (5.0, 6.5, 4.0), LARGE),
        ])
    )  # fmt: skip


def drawn(kind: str, content: dict[str, Any], **options: Any) -> Picture:
    """Return a picture of a board that has `CURVES` and `SIZES`."""
    data = {"curves": pd.DataFrame(CURVES), "sizes": SIZES}.get(kind)
    return draw(kind, content, data, options)


def texts(picture: Picture) -> list[str]:
    """Return every text of a picture, as a reader of its SVG finds them."""
    return [node.text or "" for node in ET.fromstring(picture.svg).iter() if node.tag.endswith("text")]


def test_intervals_are_drawn_around_means_the_lowest_first() -> None:
    values = {"mle": value(30.0, half=2.0), "face": value(20.0, half=None), "emo": value(None)}
    content = board(table([row(name, {"bleu-1": each}) for name, each in values.items()]))
    picture = drawn("intervals", content)
    (ax,) = picture.figure.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["face", "mle"]
    lowest, highest = (container.lines for container in ax.containers)
    assert [lowest[0].get_xydata().tolist(), highest[0].get_xydata().tolist()] == [[[20.0, 0.0]], [[30.0, 1.0]]]
    assert highest[2][0].get_segments()[0].tolist() == [[28.0, 1.0], [32.0, 1.0]]
    assert "not comparable with published numbers: test data: sample" in texts(picture)


def test_each_decoding_of_a_model_is_a_point_and_a_line_joins_them() -> None:
    means = {"topk=3": (9.0, 1.0), "topk=20": (5.0, 2.0)}
    rows = [
        row("mle", {"bleu-1": value(x), "ppl/word": value(y)}, decoding=name, settings=name)
        for name, (x, y) in means.items()
    ]
    rows.append(row("face", {"bleu-1": value(7.0), "ppl/word": value(3.0)}, cells=["another"]))
    (ax,) = drawn("tradeoff", board(table(rows)), x="bleu-1", y="ppl/word").figure.axes
    lines = {line.get_label(): line.get_xydata().tolist() for line in ax.lines}
    assert lines["mle"] == [[5.0, 2.0], [9.0, 1.0]]
    assert lines["face"] == [[7.0, 3.0]]
    assert {"topk=3", "topk=20", "greedy"} <= lines.keys()


def test_curves_are_those_of_validation_by_step_a_line_for_each_seed() -> None:
    content = board(table([row("mle", {}), row("face", {})]))
    (ax,) = drawn("curves", content).figure.axes
    assert ax.get_ylabel() == "validation/loss"
    assert [line.get_xydata().tolist() for line in ax.lines][:2] == [
        [[10, 10], [20, 20], [30, 30]], [[10, 11], [20, 21], [30, 31]]]  # fmt: skip
    assert [line.get_color() for line in ax.lines] == [COLOURS[0], COLOURS[0], COLOURS[1], COLOURS[1]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["mle", "face"]
    assert drawn("curves", content, quantity="train/loss").figure.axes[0].get_ylabel() == "train/loss"


def test_effects_are_differences_of_the_same_seed_at_each_size() -> None:
    (ax,) = drawn("sizes", two_sizes(), metric="bleu-1").figure.axes
    ((line, _, (bars,)),) = [container.lines for container in ax.containers]
    small, large = seed_mean([2.0, 2.0, 2.5]), seed_mean([-1.0, -0.5, -1.0])
    assert line.get_ydata().tolist() == pytest.approx([small.mean, large.mean])
    assert line.get_xdata().tolist() == pytest.approx([1000, 8000], rel=0.03)
    heights = [segment[1][1] - segment[0][1] for segment in bars.get_segments()]
    assert heights == pytest.approx([2 * (small.half or 0), 2 * (large.half or 0)])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1,000", "8,000"]
    assert "higher is better" in ax.get_ylabel()


def test_an_effect_has_one_row_to_differ_from() -> None:
    content = two_sizes()
    content["tables"][0]["methods"].append(sized("mle", 3.0, (3.0, 3.0, 3.0), SMALL))
    with pytest.raises(UsageError, match="'mle' has 2 rows of one model size and decoding beside 'face', expected one"):
        drawn("sizes", content, metric="bleu-1")
    with pytest.raises(UsageError, match="no table of the board has differences to 'trime' at two model sizes"):
        drawn("sizes", two_sizes(), than="trime")


@pytest.mark.parametrize(("kind", "options"), [("intervals", {}), ("curves", {}), ("sizes", {"metric": "bleu-1"}),
                                               ("tradeoff", {"x": "bleu-1", "y": "bleu-1"})])  # fmt: skip
def test_the_same_numbers_are_the_same_bytes(kind: str, options: dict[str, str], tmp_path: Path) -> None:
    first, second = (drawn(kind, two_sizes(), **options) for _ in range(2))
    path = first.save(tmp_path / "picture.svg")
    assert path.read_text() == second.svg == first._repr_svg_()
    assert "<dc:date>" not in second.svg


def test_no_text_is_markup_or_mathematics() -> None:
    names = [*ATTACKS, "$x^$", "a\x1b[31mb"]
    rows = [row(name, {"bleu-1": value(1.0), "bleu-2": value(2.0)}, label=name, settings=name) for name in names]
    content = board(table(rows, title="$\\frac$ <script>", watermark="<img>"))
    for kind, options in (("intervals", {}), ("tradeoff", {"x": "bleu-1", "y": "bleu-2"})):
        svg = drawn(kind, content, **options).svg
        assert "<script" not in svg
        assert "\x1b" not in svg
        assert any("$x^$" in text for text in texts(drawn(kind, content, **options)))


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("tradeof", {}, "no plot 'tradeof'; did you mean 'tradeoff'"),
        ("tradeoff", {}, "should name two metrics"),
        ("tradeoff", {"x": "bleu-2", "y": "blue-1"}, "no values of 'blue-1'; did you mean 'bleu-1'"),
        ("tradeoff", {"x": "bleu-1", "y": "bleu-2"}, "no table of the board has values of both 'bleu-1' and 'bleu-2'"),
        ("curves", {"metric": "bleu-1"}, "the plot 'curves' has no option 'metric'; there are: quantity"),
        ("intervals", {"metric": "blue-1"}, "no values of 'blue-1'; did you mean 'bleu-1'"),
        ("curves", {"quantity": "train/los"}, "no curve 'train/los'; did you mean 'train/loss'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(kind: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        drawn(kind, two_sizes(), **options)


def test_without_matplotlib_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingError, match=r"pictures need matplotlib, .*; pip install 'objective-bench\[pictures\]'"):
        drawn("intervals", two_sizes())
