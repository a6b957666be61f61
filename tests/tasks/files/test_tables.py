"""Reading tables, ranks and sums, linearisation and its rule for leaving things out."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.errors import DataError, UsageError
from bench.tasks.files.tables import Table, column_facts, linearise, read_table

CITIES = Table(
    ("city", "area", "founded"), (("osterby (north)", "12.5", "may 3 , 1890"), ("new vale", "30", "june 1871"))
)


def words(text):
    return len(text.split())


# Reading


@pytest.mark.parametrize(
    "text", ["\ufeffcity#area\nosterby#12\n", "city#area\r\nosterby#12\r\n", "City # Area\nOSTERBY# 12 \n\n\r\n"]
)
def test_reads_small_differences_alike(text):
    assert read_table(text, "t") == Table(("city", "area"), (("osterby", "12"),))


def test_keeps_empty_cells_empty_names_quotes_and_equal_names():
    table = read_table('#a#a\n"x##3\n', "t")
    assert table == Table(("", "a", "a"), (('"x', "", "3"),))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1"),
        ("##\n1#2#3\n", "line 1"),
        ("a#b\n", "no rows"),
        ("a#b\n1#2\n3\n", "line 3: expected 2 cells"),
        ("a#b\n\n1#2\n", "line 2"),
        ("a#b\n1#\x002\n", "x00"),
    ],
)
def test_names_table_line_and_reason(text, said):
    with pytest.raises(DataError, match=r"table 'rivers\.csv'.*" + re.escape(said)):
        read_table(text, "rivers.csv")


@given(st.text())
def test_any_text_is_a_table_or_a_data_error(text):
    try:
        table = read_table(text, "t")
    except DataError:
        return
    assert table.rows
    assert all(len(row) == len(table.header) for row in table.rows)


# Ranks, sums and averages


@pytest.mark.parametrize(
    ("cells", "max_ranks"),
    [
        (["10", "1.12", "1,000,000"], (2, 3, 1)),
        (["10:00", "9:59", "10:01"], (2, 3, 1)),
        (["1st", "3rd", "2nd", "11th"], (4, 2, 3, 1)),
        (["70 + 66 = 136", "80 + 50 = 130"], (1, 2)),
        (["- 10", "+ 4", "0"], (3, 1, 2)),
        (["w 21 - 20", "l 16 - 7"], (1, 2)),
        (["1.000.000", "500.000"], (1, 2)),
        (["5", "5", "7", "1"], (3, 3, 1, 4)),
        (["may 6 , 1988", "december 2 , 1987", "january 1988"], (1, 3, 2)),
        (["june 3", "june 12", "may 30"], (2, 1, 3)),
        (["sept 3 , 1990", "august 1990"], (1, 2)),
        (["february 31 , 2000", "march 3 , 2000"], (1, 2)),
    ],
    ids=["plain", "times", "ordinals", "after =", "signs", "first number", "dots", "ties", "dates", "no year",
         "abbreviated", "no such day: numbers"],
)  # fmt: skip
def test_ranks_from_the_top(cells, max_ranks):
    assert column_facts(cells).max_ranks == max_ranks


@pytest.mark.parametrize(
    "cells", [["3", "-"], ["maya", "june lund"], ["may 3", "unknown"], ["70 + 66 = 136", "140"], ["15km", "2393063a"]]
)
def test_a_column_with_a_cell_without_number_has_no_ranks(cells):
    assert column_facts(cells)[:2] == (None, None)


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=30))
def test_ranks_agree_with_counting(values):
    facts = column_facts([f"- {-v}" if v < 0 else str(v) for v in values])
    smaller = [sum(other < v for other in values) for v in values]
    assert facts.max_ranks == tuple(len(values) - below for below in smaller)
    assert facts.min_ranks == tuple(-below - 1 for below in smaller)
    assert facts.total == sum(values)


# Writing


def test_plog_style_word_for_word():
    text, dropped = linearise(CITIES, "cities of ors", [0, 1])
    assert dropped == 0
    assert text == (
        "<table> <caption> cities of ors </caption>"
        " <sum_cell> 42.5 <col_header> area </col_header> </sum_cell>"
        " <avg_cell> 21.25 <col_header> area </col_header> </avg_cell>"
        " <cell> Osterby (north) <col_header> city </col_header> <row_idx> 0 </row_idx> </cell>"
        " <cell> 12.5 <col_header> area </col_header> <row_idx> 0 </row_idx>"
        " <max_rank> 2 </max_rank> <min_rank> -1 </min_rank> </cell>"
        " <cell> New Vale <col_header> city </col_header> <row_idx> 1 </row_idx> </cell>"
        " <cell> 30 <col_header> area </col_header> <row_idx> 1 </row_idx>"
        " <max_rank> 1 </max_rank> <min_rank> -2 </min_rank> </cell>"
        " </table>"
    )


def test_compact_style_word_for_word():
    plain = linearise(CITIES, "cities", [1, 0], style="compact").text
    assert plain == "cities : area is 12.5 ; city is osterby (north) | area is 30 ; city is new vale"


def test_a_column_without_name_is_called_by_its_place():
    assert "column 2 is 3" in linearise(Table(("a", ""), (("1", "3"),)), "t", style="compact").text


def test_no_cell_passes_for_a_marker():
    table = Table(("a <cell>",), (("x </cell> <max_rank> 1 <</cell>>",), ("<25",)))
    text = linearise(table, "</table>").text
    assert text.count("<cell>") == text.count("</cell>") == 2
    assert text.count("</table>") == 1
    assert text.count("<max_rank>") == 2
    assert "<cell> <25 <col" in text


# Leaving out


TALL = Table(("name", "n"), tuple((f"row {i}", str(i)) for i in range(40)))


@pytest.mark.parametrize("style", ["plog", "compact"])
@pytest.mark.parametrize("budget", [9, 25, 40, 77, 150, 10_000])
def test_keeps_to_the_budget_and_counts_what_is_missing(style, budget):
    text, dropped = linearise(TALL, "forty rows", style=style, cost=words, budget=budget)
    shown = text.count("<cell>") if style == "plog" else text.count(" is ")
    assert words(text) <= budget
    assert shown + dropped == 80
    assert (dropped == 0) == (budget == 10_000)
    assert text.startswith("<table> <caption> forty rows </caption>" if style == "plog" else "forty rows : ")


def test_aggregates_come_first_but_take_no_more_than_half():
    wide = Table(tuple(f"c{i}" for i in range(30)), tuple(tuple(str(i + j) for i in range(30)) for j in range(5)))
    text = linearise(wide, "wide", cost=words, budget=200).text
    assert 0 < text.count("<sum_cell>") < 30
    assert text.index("<sum_cell>") < text.index("<cell>")
    assert text.rindex("<avg_cell>") < text.index("<cell>")
    assert text.count("<cell>") > 3


def test_a_title_that_does_not_fit_loses_words_from_its_end():
    text, dropped = linearise(CITIES, "one two three four five six", style="compact", cost=words, budget=4)
    assert (text, dropped) == ("one two three : ", 7)


def test_a_budget_below_the_empty_table_is_refused():
    with pytest.raises(UsageError, match="3 tokens cannot hold even an empty table, which takes 4"):
        linearise(CITIES, "c", cost=words, budget=3)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_table_fits_any_budget(data):
    width = data.draw(st.integers(1, 4))
    cell = st.text(st.characters(exclude_characters="#\n", exclude_categories=["Cs"]), max_size=12)
    rows = data.draw(st.lists(st.tuples(*[cell] * width), min_size=1, max_size=6))
    table = Table(tuple(f"c{i}" for i in range(width)), tuple(rows))
    budget = data.draw(st.integers(10, 80))
    style = data.draw(st.sampled_from(["plog", "compact"]))
    text, dropped = linearise(table, data.draw(cell), style=style, cost=words, budget=budget)
    assert words(text) <= budget
    assert 0 <= dropped <= width * len(rows) + 1
