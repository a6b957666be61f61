"""The overview as markup: blank is not zero, only what is significant has a colour, and nothing stored is markup."""

import pytest

from bench.leaderboards.render.board import board
from bench.leaderboards.sections import anchor, index_section, link, overview_section
from bench.store.store import Store
from tests.leaderboards import boards
from tests.leaderboards.handmade import leaderboards_of, scored, trained
from tests.leaderboards.render.test_board import fits


@pytest.fixture
def made(tmp_path):
    """Three methods on two tasks; `face` was run on one, with two seeds."""
    for task, column, values in (
        ("logicnlg", "bleu-3", {"mle": [5.0, 10.0, 15.0], "trime": [9.0, 11.0, 13.0], "face": [7.0, 7.0]}),
        ("text", "kld", {"mle": [4.0, 4.1, 3.9], "trime": [2.0, 2.1, 1.9], "bigram": [3.0]}),
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
    first, second = line_of(overview_section(made["overview"]), "trime")
    assert first == " class=num>+1.00<span class=sub>11.00</span>"
    assert second.partition("<tr")[0] == " class='num better'>+2.00†<span class=sub>2.00</span>"


def test_blank_is_not_zero_and_few_seeds_are_said(made):
    first, second = line_of(overview_section(made["overview"]), "face")
    assert first == " class=num>−0.50<span class=sub>7.00, n=2</span>"
    assert second.partition("<")[0] == " class='num blank'>"


def test_heads_name_the_task_the_metric_and_what_is_not_aggregated(made):
    markup = overview_section(made["overview"])
    logicnlg, text = markup.split("<tbody>")[0].split("<th scope=col")[2:4]
    assert '<a href="#table-logicnlg.test.small.3">LogicNLG</a><span class=sub>bleu-3 ↑</span>' in logicnlg
    assert "kld ↓" in text
    assert "not aggregated" in logicnlg
    assert "not aggregated" in text
    assert "mle is not better than the trivial control bigram (kld 4.00 against 3.00)" in markup
    assert "<p class=soft>Nothing is aggregated over tasks: 0 of 2" in markup
    assert "Over tasks" not in markup


def test_what_is_aggregated_says_over_how_many_tasks():
    overview = boards.around()["overview"]
    markup = overview_section(overview)
    assert "<th scope=col class=num>Over tasks" in markup
    (cell,) = line_of(markup, "method_<wbr>1")[2:]
    assert cell.startswith(" class=num>2, 1<span class=sub title='LogicNLG, ")
    assert "of 3 tasks" in cell
    assert "not aggregated" not in markup.split("<th scope=col")[2]


def test_a_head_says_what_keeps_its_numbers_from_being_comparable(made):
    made["overview"]["tasks"][1]["watermark"] = "test data: sample"
    head = overview_section(made["overview"]).split("<tbody>")[0]
    assert head.split("<th scope=col")[3].endswith(
        "<span class='sub warn'>test data: sample</span><span class='sub warn'>not aggregated</span>"
    )


def test_without_an_overview_there_is_no_section():
    assert overview_section(None) == ""
    assert index_section(boards.example()["tables"][:1], {}) == ""


def test_no_text_of_an_overview_is_markup():
    bad = "".join(boards.ATTACKS)
    cell = {"mean": None, "n": 0, "difference": None, "differs": None, "why": bad}
    task = {"task": bad, "title": bad, "table": bad, "column": bad, "higher_is_better": True,
            "backbone": bad, "decoding": bad, "aggregated": False, "rows": 1, "seeds": 3, "watermark": bad}  # fmt: skip
    over = {"better": 1, "worse": 0, "tasks": [bad]}
    method = {"method": bad, "marks": [bad], "trained": True, "n_tasks": 1, "over_tasks": over, "cells": {bad: cell}}
    made = overview_section({"baseline": bad, "sentences": [bad], "tasks": [task], "methods": [method], "notes": [bad]})
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
