"""Pictures of a board: the numbers that are drawn, whose they are said to be, and the same bytes each time."""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bench.board.pictures import COLOURS, Picture, draw
from bench.errors import MissingError, UsageError
from tests.leaderboards.boards import ATTACKS, board, row, table, value

CURVES = [
    {"task": "logicnlg", "method": method, "backbone": "b", "settings": "", "seed": seed, "step": step,
     "quantity": quantity, "value": step + seed}
    for method in ("mle", "face") for quantity in ("train/loss", "validation/loss") for seed in (0, 1)
    for step in (30, 10, 20)
]  # fmt: skip


def two_methods() -> dict[str, Any]:
    """A board of two methods with values of BLEU-1."""
    return board(table([row(name, {"bleu-1": value(mean)}) for name, mean in (("mle", 2.0), ("face", 4.0))]))


def drawn(kind: str, content: dict[str, Any], **options: Any) -> Picture:
    """Return a picture of a board whose curves are `CURVES`."""
    return draw(kind, content, pd.DataFrame(CURVES) if kind == "curves" else None, options)


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


@pytest.mark.parametrize(
    ("kind", "options"), [("intervals", {}), ("curves", {}), ("tradeoff", {"x": "bleu-1", "y": "bleu-1"})]
)
def test_the_same_numbers_are_the_same_bytes(kind: str, options: dict[str, str], tmp_path: Path) -> None:
    first, second = (drawn(kind, two_methods(), **options) for _ in range(2))
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
        ("tradeoff", {"x": "bleu-2", "y": "blue-1"}, "no values of 'blue-1'; did you mean 'bleu-1'"),
        ("tradeoff", {"x": "bleu-1", "y": "bleu-2"}, "no table of the board has values of both 'bleu-1' and 'bleu-2'"),
        ("intervals", {"metric": "blue-1"}, "no values of 'blue-1'; did you mean 'bleu-1'"),
        ("curves", {"quantity": "train/los"}, "no curve 'train/los'; did you mean 'train/loss'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(kind: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        drawn(kind, two_methods(), **options)


def test_without_matplotlib_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingError, match=r"pictures need matplotlib, .*; pip install 'objective-bench\[pictures\]'"):
        drawn("intervals", two_methods())
