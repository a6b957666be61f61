"""Quality against diversity as a drawing without scripts: points, lines, marks, front and people."""

import re

from bench.leaderboards.sections.scatter import SHAPES, Dot, front_of, marker, scatter
from bench.leaderboards.sections.tradeoff import axes_of, family_of, tradeoff_section
from tests.leaderboards import boards
from tests.leaderboards.sections.lines import lines_of

SWEPT = boards.swept()["tables"]


def test_decodings_of_a_method_make_a_line():
    markup = tradeoff_section(SWEPT)
    assert sorted(len(places) for _, places in lines_of(markup)) == [2, 3], "one decoding makes no line"
    assert len(re.findall(r"<g class='shape", markup)) == 6
    assert markup.count("people-dot") == 1
    assert "aria-label='kld (lower is better) by self-bleu-2 (lower is better): 6 points'" in markup
    assert "<title>mle topk=4: self-bleu-2 86.00, kld 1.50</title>" in markup


def test_the_front_is_what_no_other_point_beats():
    dots = [Dot(x, y, 0, 0, "") for x, y in ((1, 5), (2, 3), (3, 4), (4, 1))]
    assert [(dot.x, dot.y) for dot in front_of(dots, (False, False))] == [(1, 5), (2, 3), (4, 1)]
    assert [(dot.x, dot.y) for dot in front_of(dots, (True, True))] == [(1, 5), (3, 4), (4, 1)]
    assert "class='front'" in scatter(dots, ("x", "y"), front_of(dots, (False, False)))
    assert "class='front'" not in scatter(dots, ("x", "y"))


def test_decoders_are_told_apart_by_shape_and_objectives_by_colour():
    rows = [boards.row(method, {"self-bleu-2": boards.value(x), "kld": boards.value(y)}, id=f"{method}{decoding}",
                       cells=[method], decoding=decoding)
            for method, decoding, x, y in (("mle", "topk=3", 9, 3), ("mle", "nucleus=0.9+max_new_tokens=64", 7, 2),
                                           ("face", "topk=3", 8, 3), ("face", "nucleus=0.9", 6, 2))]  # fmt: skip
    columns = [{"name": name, "higher_is_better": False, "shown": True} for name in ("self-bleu-2", "kld")]
    markup = tradeoff_section([boards.table(rows, columns=columns)])
    drawn = re.findall(r"<g class='shape (c\d)'><title>\w+ (\w+)[^<]*</title><(\w+)", markup)
    assert drawn == [
        ("c0", "topk", "circle"),
        ("c0", "nucleus", "path"),
        ("c1", "topk", "circle"),
        ("c1", "nucleus", "path"),
    ]
    assert [family_of(name) for name in ("topk=3+max_new_tokens=64", "posterior:topk=20", "")] == [
        "topk", "posterior:topk", "its own"]  # fmt: skip


def test_every_shape_is_another_one():
    marks = [marker(shape, 0, 0) for shape in range(len(SHAPES) + 1)]
    assert len(set(marks)) == len(marks)
    assert marker(len(SHAPES) + 1, 0, 0) == marks[0]


def test_a_table_without_two_decoders_of_a_model_has_no_drawing():
    assert axes_of(boards.example()["tables"][0]) is None
    assert tradeoff_section(boards.example()["tables"]) == ""


def test_no_text_of_a_drawing_is_markup():
    bad = "".join(boards.ATTACKS)
    rows = [boards.row(bad, {"self-bleu-2": boards.value(x, text=bad), "kld": boards.value(x)}, id=str(x), label=bad,
                       cells=["a"], decoding=bad) for x in (1.0, 2.0)]  # fmt: skip
    columns = [{"name": name, "higher_is_better": False, "shown": True} for name in ("self-bleu-2", "kld")]
    markup = tradeoff_section([boards.table(rows, columns=columns, name=bad)])
    for attack in ("<script", "<img", "<iframe", "<base", "<meta", "<math", "<svg onload"):
        assert attack not in markup
