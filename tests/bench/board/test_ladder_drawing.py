"""The drawing of a ladder: a panel for each metric, a line for each method, and texts that stay texts."""

import xml.etree.ElementTree as ET

import pytest

from bench.board import ladder_drawing
from bench.errors import UsageError
from bench.leaderboards.ladder.findings import Findings
from bench.leaderboards.ladder.scores import Ladder, Rung
from tests.leaderboards.ladder.ladders import ladder_of

TRUE = {"bleu": [[1, 2, 3], [2, 3, 4], [3, 4, 5]], "ppl": [[9, 8, 7], [6, 5, 4], [3, 2, 1]]}


def draw_ladder(ladder, metrics=()):
    return ladder_drawing.draw_ladder(Findings(ladder), metrics)


def parts(drawing, name):
    return [part for part in ET.fromstring(str(drawing)).iter() if part.tag.endswith(name)]


def dots_of(drawing):
    """The dots of values; a name of the legend has one, too."""
    return [dot for dot in parts(drawing, "circle") if " at " in dot[0].text]


def intervals_of(drawing):
    """The uprights of intervals; those of ceilings are grey."""
    return [part.get("d") for part in parts(drawing, "path") if part.get("stroke") != "#555"]


def test_every_mean_is_a_dot_and_every_method_a_line():
    drawing = draw_ladder(ladder_of(TRUE, noise=0.1, lower=["ppl"]))
    assert len(dots_of(drawing)) == 2 * 3 * 3
    through_rungs = [part for part in parts(drawing, "polyline") if len(part.get("points").split()) == 3]
    assert len(through_rungs) == 2 * 3
    assert len(parts(drawing, "circle")) == 2 * 3 * 3 + 3 + 2 * 3  # names, and decisions between pairs of rungs
    said = [part.text for part in parts(drawing, "text")]
    assert "bleu (higher is better)" in said
    assert "ppl (lower is better)" in said
    assert {"0.1M", "1M", "10M", "mle", "emo", "gem"} <= set(said)


def test_places_are_those_of_the_values():
    dots = dots_of(draw_ladder(ladder_of(TRUE), ["bleu"]))  # by method, then by rung
    heights, places = ([float(dot.get(name)) for dot in dots] for name in ("cy", "cx"))
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2], abs=0.2)
    assert heights[0] - heights[1] == pytest.approx(heights[0] - heights[3], abs=0.2)  # a rung, a method: 1 each
    assert heights[0] > heights[1]
    assert places[1] - places[0] == pytest.approx(places[2] - places[1], abs=0.2)  # sizes are ten times as large


def test_values_far_apart_have_a_logarithmic_axis():
    drawing = draw_ladder(ladder_of({"ppl": [[400.0], [100.0], [25.0]]}), ["ppl"])
    heights = [float(dot.get("cy")) for dot in dots_of(drawing)]
    assert heights[1] - heights[0] == pytest.approx(heights[2] - heights[1], abs=0.2)
    assert {"50", "100", "200"} <= {part.text for part in parts(drawing, "text")}
    alike = ladder_of({"kld": [[1.0, 9.0], [1.0, 9.0]]})  # methods are far apart, rungs are not
    assert "6" in {part.text for part in parts(draw_ladder(alike), "text")}
    far = ladder_of({"ppl": [[1.0, 12.0], [1.0, 12.0]]})  # ten times as large and more
    assert {"2", "5", "10"} <= {part.text for part in parts(draw_ladder(far), "text")}
    assert "100" not in {part.text for part in parts(draw_ladder(ladder_of({"kld": [[-1.0], [9.0]]})), "text")}


def test_panels_stand_beside_each_other_and_no_two_methods_look_alike():
    methods = {metric: [[float(place) for place in range(8)]] for metric in ("a", "b", "c", "d")}
    drawing = draw_ladder(ladder_of(methods))
    panels = {}
    for dot in dots_of(drawing):
        panels.setdefault(int(float(dot.get("cx")) // 320), set()).add(int((float(dot.get("cy")) - 90) // 270))
    assert panels == {0: {0, 1}, 1: {0}, 2: {0}}
    twelve = Rung("r", 10, 1.0, {"a": {f"m{place}": {0: float(place)} for place in range(12)} | {"mle": {0: 1.0}}})
    drawn = dots_of(draw_ladder(Ladder("text", "mle", (twelve,), {"a": True})))
    assert len({(dot.get("fill"), dot.get("stroke")) for dot in drawn}) == 13


def test_intervals_need_three_seeds_and_a_metric_can_be_asked_for():
    two = draw_ladder(ladder_of(TRUE, noise=0.1, seeds=2), ["ppl"])
    three = draw_ladder(ladder_of(TRUE, noise=0.1), ["ppl"])
    assert intervals_of(two) == []
    drawn = intervals_of(three)
    assert [intervals.count("M") for intervals in drawn] == [3, 3, 3]  # by method, one on each rung
    x, below, above = map(float, drawn[0].removeprefix("M").replace("V", " ").split("M")[0].split())
    dot = dots_of(three)[0]
    assert x == float(dot.get("cx"))
    assert above < float(dot.get("cy")) < below
    assert len(dots_of(two)) == 9


def test_one_rung_and_a_missing_method_can_be_drawn():
    rung = Rung("<b>", 10, 1.0, {"bleu": {"mle": {0: 1.0}}, "ppl": {"emo": {0: 1.0}}})
    drawing = draw_ladder(Ladder("<i>", "mle", (rung,), {"bleu": True, "ppl": False}))
    assert len(dots_of(drawing)) == 2
    assert "<b>" not in str(drawing)


@pytest.mark.parametrize(("metrics", "expected"), [(["bleo"], "did you mean 'bleu'"), ([], "nothing|got none")])
def test_what_cannot_be_drawn(metrics, expected):
    ladder = ladder_of(TRUE)
    if not metrics:
        ladder = Ladder("text", "mle", (), {})
    with pytest.raises(UsageError, match=expected):
        draw_ladder(ladder, metrics)


def test_whether_a_lower_rung_decides_as_an_upper_one_is_drawn_for_each_pair_of_rungs():
    turned = {"bleu": [[1, 2, 3], [3, 2, 1], [3, 2, 1]]}
    drawing = draw_ladder(ladder_of(turned))
    said = [part.text for part in parts(drawing, "text")]
    assert [text for text in said if " decides as " in text] == [
        "0.1M decides as 1M", "1M decides as 10M", "0.1M decides as 10M"]  # fmt: skip
    titles = [dot[0].text for dot in parts(drawing, "circle")]
    assert [title for title in titles if "pairs" in title] == [
        "bleu: 0% of 3 pairs", "bleu: 100% of 3 pairs", "bleu: 0% of 3 pairs"]  # fmt: skip
    places = [float(part.get("y")) for part in parts(drawing, "text")]
    assert max(places) < float(ET.fromstring(str(drawing)).get("height"))
    assert not any(" decides as " in part.text for part in parts(draw_ladder(ladder_of({"bleu": [[1, 2]]})), "text"))
