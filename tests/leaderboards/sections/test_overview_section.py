"""The overview as markup: blank is not zero, what cannot rank has no colour, and nothing stored is markup."""

import pytest

from bench.leaderboards.render.board import board
from bench.leaderboards.sections.markup import anchor, link
from bench.leaderboards.sections.overview import overview_section
from bench.leaderboards.sections.table_index import index_section
from bench.leaderboards.sections.whisker import whisker
from bench.store.store import Store
from tests.leaderboards import boards
from tests.leaderboards.handmade import leaderboards_of, scored, trained
from tests.leaderboards.render.test_board import fits


@pytest.fixture
def made(tmp_path):
    """Three methods on two tasks; `face` was run on one, where the column cannot rank."""
    for task, column, values in (
        ("logicnlg", "bleu-3", {"mle": [5.0, 10.0, 15.0], "trime": [6.0, 11.0, 16.0], "face": [7.0, 7.0]}),
        ("text", "kld", {"mle": [4.0, 4.1, 3.9], "trime": [2.0, 2.1, 1.9]}),
    ):
        for method, by_seed in values.items():
            for seed, value in enumerate(by_seed):
                scored(trained(tmp_path, method, seed, task=task), {column: value})
    return board(leaderboards_of(Store(tmp_path)))


def line_of(markup, method):
    """The cells of a method's line."""
    (line,) = [line for line in markup.split("<tr>") if line.startswith(f"<th scope=row>{method}")]
    return line.split("<td")[1:]


def test_it_is_what_the_schema_says(made):
    assert fits(made) == []
    made["overview"]["tasks"][0]["rows"] = "many"
    assert len(fits(made)) == 1


def test_a_cell_has_its_difference_and_its_mean(made):
    first, second, *_ = line_of(overview_section(made["overview"]), "trime")
    assert first == " class='num open'>+1.00<span class=sub>11.00</span>"
    assert second == " class='num better3'>+2.00<span class=sub>2.00</span>"


def test_blank_is_not_zero_and_few_seeds_are_said(made):
    first, second, *rest = line_of(overview_section(made["overview"]), "face")
    assert first == " class='num open'>−3.00<span class=sub>7.00, n=2</span>"
    assert [cell.partition("</table>")[0] for cell in (second, *rest[:2])] == [" class='num blank'>"] * 3


def test_heads_name_the_task_the_metric_and_what_cannot_rank(made):
    head = overview_section(made["overview"]).split("<tbody>")[0]
    logicnlg, text = head.split("<th scope=col")[2:4]
    assert '<a href="#table-logicnlg.test.small.3">LogicNLG</a><span class=sub>bleu-3 ↑</span>' in logicnlg
    assert "cannot rank here" in logicnlg
    assert "kld ↓" in text
    assert "cannot rank" not in text


def test_of_one_seed_a_head_says_that_and_not_that_seeds_do_not_tell_rows_apart(tmp_path):
    for method, value in (("mle", 5.0), ("trime", 9.0)):
        scored(trained(tmp_path, method), {"bleu-3": value})
    head = overview_section(board(leaderboards_of(Store(tmp_path)))["overview"]).split("<tbody>")[0]
    assert "<span class='sub warn'>one seed</span>" in head
    assert "cannot rank" not in head


def test_a_head_says_what_keeps_its_numbers_from_being_comparable(made):
    made["overview"]["tasks"][1]["watermark"] = "test data: sample"
    head = overview_section(made["overview"]).split("<tbody>")[0]
    assert head.split("<th scope=col")[3].endswith("<span class='sub warn'>test data: sample</span>")


def test_aggregates_say_their_interval_and_their_tasks(made):
    improves, relative, rank = line_of(overview_section(made["overview"]), "trime")[2:]
    assert "0.83<svg class=whisker" in improves
    assert "<span title='LogicNLG, Your text'>2 tasks</span>" in improves
    assert rank.startswith(" class=num>")
    assert "blank" in relative, "mle is too near 0 on one task of two"


def test_without_an_overview_there_is_no_section():
    assert overview_section(None) == ""
    assert index_section(boards.example()["tables"][:1], {}) == ""


def test_no_text_of_an_overview_is_markup():
    bad = "".join(boards.ATTACKS)
    cell = {"mean": None, "n": 0, "difference": None, "size": None, "differs": False, "why": bad}
    task = {"task": bad, "table": bad, "column": bad, "higher_is_better": True, "backbone": bad, "decoding": bad,
            "can_rank": False, "why_unranked": bad, "rows": 1, "seeds": 3, "watermark": bad}  # fmt: skip
    over = {"value": 0.5, "low": 0.1, "high": 0.9, "tasks": [bad]}
    method = {"method": bad, "marks": [bad], "trained": True, "n_tasks": 1, "improves": over, "relative": over,
              "mean_rank": 1.0, "cells": {bad: cell}}  # fmt: skip
    made = overview_section({"baseline": bad, "tasks": [task], "methods": [method], "notes": [bad]})
    for attack in ("<script", "<img", "<iframe", "<base", "<meta", "<math"):
        assert attack not in made


def test_the_index_links_every_table_by_its_name(made):
    markup = index_section(made["tables"], {"claims": "Claims"})
    assert '<a href="#table-logicnlg.test.small.3">LogicNLG</a> <span class=soft>3 methods, 2 to 3 seeds' in markup
    assert '<a href="#claims">Claims</a>' in markup
    assert "<details class=opens open><summary>Index: 2 tables</summary>" in markup
    assert "<details class=opens><summary>" in index_section(made["tables"], {}, is_open=False)


def test_anchors_and_links_fit_each_other():
    name = anchor("a b<c>\"'%")
    assert name == "ab&lt;c&gt;&quot;&#x27;%"
    assert link(name, "x") == '<a href="#ab%3Cc%3E%22%27%25">x</a>'


def test_a_whisker_stays_within_its_box():
    drawn = whisker(0.5, 0.0, 1.0, (0.0, 1.0), 0.5)
    assert "M3 4H57" in drawn
    assert "cx=30" in drawn
    assert "span" not in whisker(1.0, None, None, (1.0, 1.0), 1.0)
