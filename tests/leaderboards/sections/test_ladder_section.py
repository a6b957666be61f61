"""Ladders and decoding against training on the page, and that neither is there without its kept file."""

import json
import re
from dataclasses import replace

import pytest

from bench.leaderboards.ladder import page_content as content
from bench.leaderboards.ladder.findings import Findings
from bench.leaderboards.ladder.forecast import forecast
from bench.leaderboards.ladder.page_content import claim_words
from bench.leaderboards.ladder.transfer import Question
from bench.leaderboards.sections.decoding import decoding_section
from bench.leaderboards.sections.ladder import ladder_section
from tests.leaderboards import boards
from tests.leaderboards.ladder.ladders import SIZES, below, ladder_of

TRUE = {"bleu": [[0, 30, 20], [5, 30, 60], [10, 30, 90]], "kld": [[90, 90, 90], [50, 50, 50], [20, 20, 20]]}
CLAIM = Question("bleu", "emo", "gem", "paper/1", "EMO beats GEM", "section 4", "EMO is the best")


def page_content(ladder, claims=(), forecasts=()):
    return content.page_content(Findings(ladder, claims), forecasts)


@pytest.fixture(scope="module")
def ladder():
    return ladder_of(TRUE, noise=0.1, lower=["kld"])


def test_the_primary_metric_is_shown_and_others_are_folded(ladder):
    made = page_content(ladder, [CLAIM])
    assert json.dumps(made)
    assert (made["primary"], [rung["name"] for rung in made["rungs"]]) == ("kld", ["0.1M", "1M", "10M"])
    markup = ladder_section([made])
    shown = markup.split("<details")[0]
    assert "<p><b>kld ↓</b></p>" in shown
    assert "Other metrics: 2 of 2 differences change with size in a known way</summary>" in markup
    others = markup.split("Other metrics: ")[1].split("</table>")[0]
    assert "<th scope=col>Method<th scope=col>bleu ↑<tbody>" in others
    assert others.count("<td>") == 2
    assert "kld" not in others
    assert "EMO beats GEM (section 4; bleu)" in markup
    assert "10M: 10,000,000" in shown


def test_effects_words_and_bold_are_those_of_the_cards(ladder):
    markup = ladder_section([page_content(ladder_of({"bleu": TRUE["bleu"]}, noise=0.1))])
    (line,) = [line for line in markup.split("<tr>") if line.startswith("<th scope=row>gem") and "<b>" in line]
    assert line.count("<b>+") == 3
    assert "<td>growing" in line
    others = ladder_section([page_content(ladder)]).split("Other metrics: ")[1]
    assert "<tr><th scope=row>gem<td>growing" in others
    assert claim_words(Findings(ladder, [CLAIM])) == {"paper/1": "crossing, 0.1M to 1M"}


def test_it_says_how_well_lower_rungs_decide_and_forecast(ladder):
    forecasts = [forecast(below(ladder, count), (name, SIZES[name]), 3) for count, name in ((1, "1M"), (2, "10M"))]
    changed = replace(forecasts[0], evidence=dict.fromkeys(forecasts[0].evidence, "other"))
    markup = ladder_section([page_content(ladder, forecasts=[changed, forecasts[1]])])
    said = re.findall("<li>([^<]*)", markup.split("<p><b>")[0])
    assert [line.partition(" in ")[0] for line in said[:2]] == [
        "0.1M orders methods as 1M", "1M orders methods as 10M"]  # fmt: skip
    assert said[2].startswith("forecast of 10M, written before it was run: Brier score ")
    assert len(said) == 3


def test_a_ladder_that_says_nothing_of_size_says_so_in_a_line():
    made = page_content(ladder_of({"bleu": [[0, 0], [0, 0], [0, 0]], "kld": [[9, 9], [9, 9], [9, 9]]}, noise=9.0))
    markup = ladder_section([made])
    assert "<table" not in markup
    assert f"None of its {len(made['cards'])} differences has an established direction" in markup
    made["cards"][-1]["rungs"][0] = "**+1.0**"
    assert "<table" in ladder_section([made])


def test_without_kept_files_nothing_is_shown():
    assert ladder_section([]) == decoding_section([]) == ""


def test_no_text_is_markup():
    bad = "".join(boards.ATTACKS)
    card = {"metric": bad, "higher_is_better": True, "method": bad, "than": bad, "claim": bad, "says": bad,
            "where": bad,
            "rungs": [bad], "tenfold": bad, "word": bad, "known": True}  # fmt: skip
    ladder = {"task": bad, "baseline": bad, "primary": "", "rungs": [{"name": bad, "parameters": 1}],
              "said": [bad], "cards": [card, {**card, "claim": ""}]}  # fmt: skip
    share = {"column": bad, "at": bad, "gain": {}, "share": None, "why": bad, "verdict": bad, "at_least": False,
             "said": bad}  # fmt: skip
    objective = {"method": bad, "baseline": bad, "why": "", "shares": [share]}
    point = {"setting": bad, "x": 1.0, "y": 2.0}
    section = {"title": bad, "watermark": bad, "backbone": bad, "conditions": bad, "axes": [bad, bad],
               "human": None,
               "objectives": [objective, {**objective, "why": bad}], "drawn": {bad: [point]}}  # fmt: skip
    markup = ladder_section([ladder]) + decoding_section([section])
    for attack in ("<script", "<img", "<iframe", "<base", "<meta", "<math"):
        assert attack not in markup
