"""Charts of the page: which tables have one, where its points are, and what it says."""

import re

import pytest

from bench.leaderboards.render.charts import charts
from bench.leaderboards.render.html import page
from tests.leaderboards import boards

COLUMNS = [
    {"name": "kld", "higher_is_better": False, "shown": True},
    {"name": "self-bleu-2", "higher_is_better": None, "shown": True},
]


def row(method, kld, diversity, size, difference=None):
    """A row with an interval of ±0.5 around its mean, and of ±0.25 around its difference."""
    ends = {} if difference is None else {"low": difference - 0.25, "high": difference + 0.25}
    quality = boards.value(kld, half=0.5, difference=difference, **ends)
    return boards.row(method, {"kld": quality, "self-bleu-2": boards.value(diversity)}, parameters=size)


@pytest.fixture
def table():
    """Two methods at two sizes, one of which adds parameters to each model, and a trivial control."""
    rows = [
        row("mle", 5.0, 98.0, 1_000_000),
        row("trime", 3.0, 80.0, 1_000_000, -2.0),
        row("f2softmax", 2.0, 85.0, 1_100_000, -3.0),
        row("bigram", 1.0, 60.0, None),
        row("mle", 4.0, 97.0, 10_000_000),
        row("trime", 3.5, 82.0, 10_000_000, -0.5),
    ]
    return boards.table(rows, columns=COLUMNS)


def points_of(chart):
    return {point["text"]: point for line in chart["lines"] for point in line["points"]}


def test_an_effect_is_drawn_by_size_with_its_interval(table):
    (chart,) = charts([], [table])[0]["charts"]
    assert chart["names"] == ("parameters", "kld ↓: difference from mle")
    assert [text for _, text in chart["across"]] == ["1M", "10M"]
    (line,) = chart["lines"]  # f2softmax has one size
    small, large = line["points"]
    assert small["text"] == "trime, 1M: −2.00 (−2.25 to −1.75)"
    assert large["text"] == "trime, 10M: −0.50 (−0.75 to −0.25)"
    assert (small["x"], large["x"]) == tuple(x for x, _ in chart["across"])
    assert small["y"] > large["y"]  # upwards is less in the units of an SVG
    bars = re.findall(r"M(\d+) (\d+)V(\d+)", line["path"])
    assert [int(x) for x, _, _ in bars] == [small["x"], large["x"]]
    for (_, low, high), point in zip(bars, line["points"], strict=True):
        assert int(low) > point["y"] > int(high)


def test_quality_is_drawn_by_diversity_without_trivial_controls(table):
    (kind,) = [kind for kind in charts([table], []) if kind["id"] == "diversity"]
    points = points_of(kind["charts"][0])
    assert sorted(points) == [
        "f2softmax: 85.00, 2.00", "mle: 97.00, 4.00", "mle: 98.00, 5.00", "trime: 80.00, 3.00", "trime: 82.00, 3.50",
    ]  # fmt: skip
    assert points["trime: 80.00, 3.00"]["x"] < points["mle: 98.00, 5.00"]["x"]
    assert points["mle: 98.00, 5.00"]["y"] < points["f2softmax: 85.00, 2.00"]["y"]


def test_a_table_without_the_numbers_has_no_chart(table):
    table["methods"] = table["methods"][:2]  # one size, and two points
    assert charts([table], [table]) == []
    table["columns"] = []
    assert charts([table], [table]) == []


def test_the_page_draws_them_and_names_them_in_its_index(table):
    written = page(boards.board(table))
    assert '<a href="#sizes">Effect against size</a>' in written
    assert '<a href="#diversity">Quality against diversity</a>' in written
    assert "<title>trime, 1M: −2.00 (−2.25 to −1.75)</title>" in written
    assert written.count("<svg") == 2
    assert "<svg" not in page(boards.example())
