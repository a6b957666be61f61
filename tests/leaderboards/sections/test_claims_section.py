"""Claims of the page: verdict, direction, size and control of each, and its evidence behind it."""

from dataclasses import replace

from bench.leaderboards.claim.claim_files import read
from bench.leaderboards.claim.judge import judge
from bench.leaderboards.claim.page_content import page_content
from bench.leaderboards.sections.claims import claims_section
from bench.leaderboards.statistics.intervals import Interval
from bench.leaderboards.table import tables
from bench.store.store import Store
from tests.leaderboards import boards
from tests.leaderboards.claim.test_report import store


def papers(root):
    store(root)
    built = tables(Store(root), None, "all")[0]
    return page_content([judge(read(name), built) for name in ("histalign", "adadec")])


def test_a_claim_says_direction_size_and_control_and_opens_on_its_evidence(tmp_path):
    markup = claims_section(papers(tmp_path))
    said = "HistAlign beats the model trained without a cache in BLEU-3 on LogicNLG"
    (line,) = [line for line in markup.split("<tr>") if said in line]
    name, verdict, direction, control = line.split("<td>")
    assert name.startswith(
        f"<th scope=row><details class=opens><summary>{said}</summary><ul><li>the paper, section 6.4"
    )
    quoted = "In the meantime, HISTALIGN obtains the best BLEU scores."
    assert quoted not in name, "another claim rests on it, so it is a note"
    assert f"<li>the paper: &quot;{quoted}" in markup.partition("Notes of HistAlign's claims")[2]
    assert "(seeds 0 to 2; 2.0 degrees)" in name
    assert (verdict, direction) == ("<b>established</b>", "▲ as claimed")
    assert control.startswith("trime (greedy) has 81%")


def test_sizes_have_a_column_where_some_claim_has_one(tmp_path):
    histalign, adadec = papers(tmp_path)
    assert "<th scope=col>Size" not in claims_section([histalign, adadec])
    histalign["claims"][0]["size"] = "compatible"
    markup = claims_section([histalign, adadec])
    first, second = [line.split("<td>") for line in markup.split("<tr>") if line.startswith("<th scope=row>")][:2]
    assert "<th scope=col>Control<th scope=col>Size<tbody>" in markup
    assert (first[4], second[4].partition("<")[0]) == ("compatible", "–")


def test_the_same_words_of_a_paper_stand_once(tmp_path):
    (paper, _) = papers(tmp_path)
    first, second = paper["claims"][:2]
    alone, shared = "words of one claim", "words of two claims"
    paper["claims"] = [{**first, "quote": alone}, {**first, "quote": shared}, {**second, "quote": shared}]
    markup = claims_section([paper])
    assert markup.count(alone) == markup.count(shared) == 1
    table, _, notes = markup.partition("Notes of HistAlign's claims")
    assert f"<li>the paper: &quot;{alone}&quot;" in table
    assert f"<li>the paper: &quot;{shared}&quot;" in notes


def test_what_was_not_run_is_counted_and_a_paper_without_a_run_is_named(tmp_path):
    markup = claims_section(papers(tmp_path))
    assert "claims that were not run</summary>" in markup
    assert "Of these papers no claim has been run: AdaDec (5 claims)." in markup
    assert claims_section(page_content([judge(read("adadec"), [])])) == ""


def test_a_share_without_a_bound_is_no_number_of_a_control(tmp_path):
    store(tmp_path)
    paper = judge(read("histalign"), tables(Store(tmp_path), None, "all")[0])
    verdicts = [replace(verdict, explained_by=(), shares={"trime": Interval(60.0, None, None)})
                for verdict in paper.verdicts]  # fmt: skip
    (content,) = page_content([replace(paper, verdicts=verdicts)])
    assert {claim["control"] for claim in content["claims"]} == {""}


def test_no_text_of_a_claim_is_markup():
    bad = "".join(boards.ATTACKS)
    names = ("says", "where", "verdict", "direction", "size", "control", "paper", "quote", "on")
    claim = dict.fromkeys(names, bad)
    paper = {"paper": bad, "summary": bad, "rebuttal": bad, "not_run": [bad], "costs": [bad]}
    markup = claims_section([{**paper, "claims": [{**claim, "evidence": [bad]}]}, {**paper, "claims": []}])
    for attack in ("<script", "<img", "<iframe", "<base", "<meta", "<math"):
        assert attack not in markup
