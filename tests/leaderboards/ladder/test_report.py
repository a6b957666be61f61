"""The page of a ladder: its tables, claims with their words, and texts that try to be marks."""

import re
from dataclasses import replace

import pytest

from bench.errors import UsageError
from bench.leaderboards.ladder import report
from bench.leaderboards.ladder.findings import Findings
from bench.leaderboards.ladder.forecast import forecast
from bench.leaderboards.ladder.scores import Ladder, Rung
from bench.leaderboards.ladder.transfer import Question
from tests.leaderboards.ladder.ladders import SIZES, below, ladder_of

TRUE = {"bleu": [[0, 30, 20], [5, 30, 60], [10, 30, 90]], "ppl": [[90, 90, 90], [50, 50, 50], [20, 20, 20]]}
CLAIM = Question("bleu", "emo", "gem", "paper/1", "EMO beats GEM", "section 4", "EMO is the best")


def markdown(ladder, claims=(), forecasts=()):
    return report.markdown(Findings(ladder, claims), forecasts)


@pytest.fixture(scope="module")
def ladder():
    return ladder_of(TRUE, noise=0.1, lower=["ppl"])


@pytest.fixture(scope="module")
def page(ladder):
    forecasts = []
    for count, name in ((1, "1M"), (2, "10M")):
        forecasts.append(forecast(below(ladder, count), (name, SIZES[name]), 3, claims=[CLAIM]))
    return markdown(ladder, [CLAIM], forecasts)


def rows_of(page, heading):
    """The cells of the table under the first heading that begins so."""
    after = page[page.index(f"| {heading}") :].splitlines()
    rows = []
    for line in after:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return {row[0]: row[1:] for row in rows[2:]}


def test_tables_are_whole(page):
    tables = re.findall(r"(?:^\|.*\n)+", page, re.M)
    assert len(tables) > 12
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1
    assert max(len(line) for table in tables for line in table.splitlines()) < 120
    assert "nan" not in page
    assert "None" not in page


def test_rungs_scores_and_decisions(page):
    assert rows_of(page, "rung ")["0.1M"] == ["100,000", "2", "20.0", "3", "3"]
    assert rows_of(page, "rung ")["1M"][2] == "10.0"
    assert rows_of(page, "bleu ↑")["emo"][0].startswith("30.")
    decisions = rows_of(page, "0.1M → 10M")["bleu"]
    assert decisions[:7] == ["3", "67 %", "100 %", "67 %", "3", "67 %", "67 %"]
    assert float(decisions[8].split(" ")[0]) == pytest.approx(60, abs=1)
    reached = re.findall(r"Goal of this suite: 90 % of the ceiling; before rounding (\d) of 2 metrics reach it\.", page)
    assert reached == ["1", "1", "0"]
    assert rows_of(page, "metric above")["ppl"][0] == "0.1M → 10M"


def test_transfer_cards_and_claims_have_words_sentences_and_locators(page):
    cards = page[page.index("## Transfer cards") :]
    assert rows_of(cards, "bleu ↑")["gem"][4] == "growing"
    assert rows_of(cards, "bleu ↑")["emo"][4] == "shrinking"
    assert rows_of(cards, "ppl ↓")["gem"][4] == "not within these sizes"
    assert rows_of(cards, "bleu ↑")["gem"][0].startswith("**+20")
    assert not any("**" in cell for cell in rows_of(cards, "ppl ↓")["gem"])  # in bold is what is established
    assert '- paper/1: EMO beats GEM ("EMO is the best", section 4); emo against gem' in page
    assert rows_of(page, "claim | 0.1M")["paper/1, bleu ↑"][4] == "crossing, 0.1M to 1M"


def test_forecasts_are_named_and_scored(page, ladder):
    made = forecast(below(ladder, 1), ("1M", SIZES["1M"]), 3, claims=[CLAIM])
    assert f"SHA-256 `{made.sha256}`. Whoever picks methods by one metric is to take bleu." in page
    assert "All pairs, leaving out one method at a time: gain from " in page
    assert (
        len(re.findall(r"Goals of this suite over all pairs: a gain of 20 %, (?:reached|missed) with -?−?\d", page))
        == 2
    )
    assert float(rows_of(page, " | predictions")["**bleu**"][6]) > 0  # the width
    assert rows_of(page, " | predictions")["**bleu**"][0] == "3"
    assert rows_of(page, "claim | probability")["paper/1, bleu"][2].startswith("−30")
    later = markdown(below(ladder, 1), forecasts=[made])
    assert "The rung has not been run." in later
    assert float(rows_of(later, " | width")["bleu"][0]) > 0
    assert rows_of(markdown(below(ladder, 1), forecasts=[made]), "claim | probability")["paper/1, bleu"][2] == "–"


def test_a_forecast_that_cannot_be_scored_leaves_the_page_and_the_others(ladder):
    made = [forecast(below(ladder, count), (name, SIZES[name]), 3) for count, name in ((1, "1M"), (2, "10M"))]
    changed = replace(made[0], evidence=dict.fromkeys(made[0].evidence, "other"))
    page = markdown(ladder, forecasts=[changed, made[1]])
    assert "Not scored: expected the values below rung '1M' that the forecast was made from" in page
    assert page.index("Not scored") < page.index("### 10M from") < page.index("|  | predictions")


def test_a_method_that_goes_on_from_a_trained_model_is_compared_with_what_was_trained_as_long(page, ladder):
    assert "no control here that was trained as long (mle.continued): emo." in page
    with_control = []
    for rung in ladder.rungs:
        values = {metric: {**found, "mle.continued": found["mle"]} for metric, found in rung.values.items()}
        with_control.append(replace(rung, values=values))
    page = markdown(replace(ladder, rungs=tuple(with_control)))
    cards = page[page.index("## Transfer cards") :]
    assert {"emo against mle.continued", "gem", "mle.continued"} <= set(rows_of(cards, "bleu ↑"))
    assert "no control here" not in page


def test_controls_that_a_ladder_lacks_are_named(page):
    assert "lacks, though they may explain a gain away: mle.continued, emo.shuffled (of emo); mle.tempered, " in page
    assert "(of gem)." in page


def test_a_claim_without_a_sentence_says_so(ladder):
    page = markdown(ladder, [replace(CLAIM, quote="")])
    assert "- paper/1: EMO beats GEM (a number, no sentence, section 4); emo against gem" in page


def test_one_rung_makes_a_page_and_none_is_refused(ladder):
    page = markdown(below(ladder, 1))
    assert "Does the lower rung" not in page
    assert "## Transfer cards" in page
    with pytest.raises(UsageError, match="run its smallest rung first"):
        markdown(Ladder("text", "mle", (), {}))


def test_texts_are_no_marks():
    bad = "a|b<c>*"
    rung = Rung(bad, 10, 1.0, {bad: {bad: {0: 1.0, 1: 2.0}, "mle": {0: 1.0, 1: 3.0}}})
    page = markdown(Ladder(bad, "mle", (rung,), {bad: True}), [Question(bad, bad, "mle", bad, bad, bad, bad)])
    assert rows_of(page, "rung ")["a\\|b\\<c\\>\\*"][2] == "–"  # tokens are not known
    assert "a|b" not in page
    assert "<c>" not in page.replace("\\<c\\>", "")
