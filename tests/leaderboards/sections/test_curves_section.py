"""Small curves of the page: means over seeds, validation where there is some, and not more than fit."""

from bench.leaderboards.sections.curves import POINTS, TABLES, curves_section
from tests.leaderboards import boards
from tests.leaderboards.sections.lines import lines_of


def test_a_line_is_the_mean_of_the_seeds_of_a_row():
    curves = [{"id": "mle-0abc12", "seed": seed, "points": [[0, 4.0 + seed], [100, 2.0 + seed]]} for seed in (0, 2)]
    made = curves_section([boards.table([boards.row("mle", {})], curves=curves)])
    ((style, ((x0, y0), (x1, y1))),) = lines_of(made)
    assert style == "c0"
    assert (x0, x1) == (34, 312), "from no step to the last one"
    assert y0 < y1, "a loss of 5 stands above one of 3"
    assert "100 steps" in made
    assert "LogicNLG</a>, training loss" in made


def test_validation_is_drawn_where_it_was_measured():
    table = boards.example()["tables"][0]
    made = curves_section([table])
    assert ", validation loss" in made
    assert len(lines_of(made)) == 1, "only one row was validated"
    del table["curves"][0]["validation"]
    assert len(lines_of(curves_section([table]))) == 3


def test_rows_without_validation_and_tables_beyond_the_last_drawing_are_named():
    table = boards.example()["tables"][0]
    made = curves_section([table])
    assert "LogicNLG: without a line, since no validation loss at two steps was stored: " in made
    labels = {row["id"]: row["label"] for row in table["methods"]}
    drawn = table["curves"][0]["id"]
    for name in {curve["id"] for curve in table["curves"]} - {drawn}:
        assert labels[name] in made
    assert "Drawn are" not in made
    tables = [{**table, "id": f"t{place}", "name": f"Table {place}"} for place in range(TABLES + 2)]
    made = curves_section(tables)
    assert f"Drawn are the first {TABLES} tables with curves; not drawn: " in made
    for place in (TABLES, TABLES + 1):
        assert f'<a href="#table-t{place}">Table {place}</a>' in made
    assert "Table 7: without a line" not in made, "it has no drawing"
    for curve in table["curves"]:
        curve["validation"] = curve["points"]
    assert "without a line" not in curves_section([table])


def test_what_is_said_of_rows_is_no_markup():
    table = boards.example()["tables"][0]
    table["name"] = "<script>"
    for row in table["methods"]:
        row["label"] = "<img>"
    made = curves_section([table])
    assert "<script>" not in made
    assert "<img>" not in made


def test_methods_keep_their_colour_and_long_curves_are_thinned():
    points = [[step, 9.0 - step / 100] for step in range(100)]
    tables = []
    for place in range(TABLES + 2):
        ids = ("mle-0abc12", "face-0abc12") if place % 2 else ("face-0abc12", "mle-0abc12")
        curves = [{"id": name, "seed": 0, "points": points} for name in ids]
        rows = [boards.row("mle", {}), boards.row("face", {})]
        tables.append(boards.table(rows, f"t{place}", curves=curves))
    made = curves_section(tables)
    assert made.count("<figure") == TABLES
    assert {len(points) for _, points in lines_of(made)} == {POINTS}
    assert [style for style, _ in lines_of(made)][:4] == ["c0", "c1", "c1", "c0"]
    assert len(made) < 700 * TABLES + 900


def test_without_curves_there_is_no_section():
    assert curves_section([boards.table([boards.row("mle", {})])]) == ""
