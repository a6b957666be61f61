"""Claims of the page: the paper's number, ours and the verdict of each, and its evidence behind it."""

from bench.leaderboards.claim.claim_files import read
from bench.leaderboards.claim.judge import judge
from bench.leaderboards.claim.report import content
from bench.leaderboards.sections import claims_section
from tests.leaderboards import boards
from tests.leaderboards.claim.test_judge import THEIRS, claim, paper, two


def test_a_claim_has_both_numbers_and_its_verdict_and_opens_on_its_evidence():
    found = content([judge(paper(claim(says="KLD is lower")), [two([1.0, 1.2, 1.1], THEIRS)])])
    markup = claims_section(found)
    (line,) = [line for line in markup.split("<tr>") if "KLD is lower" in line]
    name, printed, here, verdict = line.split("<td>")
    assert name.startswith("<th scope=row><details class=opens><summary>KLD is lower</summary>")
    assert "the paper, section 1: &quot;q&quot;" in name
    assert "kld, f2softmax against mle: 1.10 against 4.10" in name
    assert (printed, here) == ("–", "+3.00 (+2.75 to +3.25)")
    assert verdict.startswith("seen here (459k parameters from scratch, 300 steps, King James Bible, 3 seeds)")
    assert "What was run: for Paper 459k parameters from scratch" in markup


def test_the_page_has_no_claims_where_no_row_of_one_is_stored():
    assert claims_section(content([judge(read("adadec"), [])])) == ""


def test_no_text_of_a_claim_is_markup():
    bad = "".join(boards.ATTACKS)
    one = dict.fromkeys(("claim", "where", "quote", "paper", "here", "verdict_text"), bad)
    one |= {"evidence": [bad], "parts": [{"values": [2.0, 1.0]}]}
    markup = claims_section([{"paper": bad, "abstract": [bad], "counts": {bad: 1}, "claims": [one]}])
    for attack in ("<script", "<img", "<iframe", "<base", "<meta", "<math"):
        assert attack not in markup
