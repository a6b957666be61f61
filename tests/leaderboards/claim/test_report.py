"""`bench claims`: the report in every form, its counts, and a rebuttal."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.leaderboards.claim.claim_files import read
from bench.leaderboards.claim.content import content
from bench.leaderboards.claim.judge import judge
from bench.leaderboards.claim.report import markdown, terminal
from bench.leaderboards.claim.verdicts import KINDS
from tests.conftest import call
from tests.leaderboards.handmade import scored, trained
from tests.leaderboards.published.test_costs import timed

ORDER = ("histalign", "trime", "mle", "lead", "unigram", "bigram", "mle.untrained")


def store(root: Path, lead: float = 1.0) -> None:
    """Cells of LogicNLG: three methods far apart, and the trivial controls."""
    for seed in (0, 1, 2):
        bleu = {"histalign": 13.0 + seed / 10, "trime": 12.5, "mle": 10.0 - seed / 10, "lead": lead}
        for method in ORDER:
            value = bleu.get(method, 0.5)
            scored(trained(root, method, seed, trainer__steps=300), {"bleu-3": value, "bleu-1": 2 * value})


@pytest.mark.parametrize(
    ("lead", "kind", "why"),
    [
        (1.0, "established", "competence: mle beats lead, unigram, bigram, mle.untrained in bleu-3: 9.90"),
        (11.0, "not testable here", "stopped: bleu-3 of mle 9.90, of lead 11.00"),
    ],
)
def test_a_claim_with_its_verdict_and_evidence(tmp_path: Path, lead: float, kind: str, why: str) -> None:
    store(tmp_path, lead)
    ended = call("claims", "histalign", "--results", str(tmp_path))
    assert ended.code == 0
    assert f"  {kind}" in ended.out
    assert "HistAlign beats the model trained without a cache in BLEU-3 on LogicNLG (section 6.4, Table 7)" in ended.out
    assert 'paper: +0.62; "In the meantime, HISTALIGN obtains the best BLEU scores."' in ended.out
    assert "bleu-3: +3.20, " in ended.out
    assert "(seeds 0 to 2: +3.00, +3.20, +3.40; 2.0 degrees)" in ended.out
    assert why in ended.out
    assert "\n  on logicnlg · test split, 3 rows · preset small\n" in ended.out
    assert "not for a small run: LLaMA2" in ended.out
    assert "4 regression checks of ours, no claims: 4 not run" in ended.out


def test_a_report_in_other_forms(tmp_path: Path) -> None:
    store(tmp_path)
    written = call("claims", "histalign", "--markdown", "--results", str(tmp_path)).out
    assert "|  | claim | where | the paper | here | verdict |" in written
    numbered = [line for line in written.splitlines() if line.partition(".")[0].isdigit()]
    assert len(numbered) == 15
    assert all("(section" in line or "(Table" in line or "(appendix" in line.lower() for line in numbered), numbered
    assert '1. "' in written
    assert "    - bleu-3: +3.20, " in written
    assert "\n## HistAlign\n\n15 claims of the paper are put to the test: " in written
    assert written.index("\n## Counts\n") < written.index("\n## HistAlign\n")
    assert all(f"\n- {kind}: {meaning}" in written for kind, meaning in KINDS.items())
    (paper,) = json.loads(call("claims", "histalign", "--json", "--results", str(tmp_path)).out)
    assert set(paper["counts"]) == set(KINDS)
    assert sum(paper["counts"].values()) == len(paper["claims"]) == 15
    one = next(claim for claim in paper["claims"] if claim["controls"])
    assert (one["kind"], one["direction"], one["origin"], one["published"]) == (
        "established",
        "established",
        "sentence",
        0.62,
    )
    assert one["by_seed"] == {"0": 3.0, "1": pytest.approx(3.2), "2": pytest.approx(3.4)}
    assert one["degrees"] == pytest.approx(2.0)
    assert one["p"] < 0.05
    assert one["n_rows"] == 3
    assert {check["state"] for check in paper["regression_checks"]} == {"not run"}


def test_the_counts_leave_checks_out() -> None:
    report = call("claims", "--markdown", "--results", "leaderboards/runs/grid").out
    counts = report.split("\n## ")[1]
    assert counts.startswith("Counts\n")
    assert "| verdict | AdaDec | F2-Softmax | HistAlign | all | by a cell | by a sentence | by a figure |" in counts
    cells = [line.strip("| ").split(" | ") for line in counts.splitlines() if line.startswith("| ")][1:]
    assert [line[0] for line in cells] == list(KINDS)
    assert sum(int(line[4]) for line in cells) == sum(
        len(read(name).claims) for name in ("adadec", "f2softmax", "histalign")
    )
    assert all(sum(map(int, line[1:4])) == int(line[4]) == sum(map(int, line[5:])) for line in cells)
    assert "regression checks of ours are no claims and not counted" in counts


def test_what_is_not_run_is_explained_with_the_command_that_makes_it(tmp_path: Path) -> None:
    last = call("claims", "adadec", "--results", str(tmp_path)).out.splitlines()[-1]
    assert last == f"not run: {KINDS['not run']}; the runs that make it are listed in leaderboards/claims/adadec.toml"


@pytest.mark.parametrize(("rouge", "state"), [(3.0, "pass"), (30.0, "fail"), (None, "not run")])
def test_the_leak_alarm_is_a_check_and_no_claim(tmp_path: Path, rouge: float | None, state: str) -> None:
    if rouge is not None:
        settings = {"task": "gigaword", "trainer__steps": 1500}
        scored(trained(tmp_path, "copy_exemplar", **settings), {"rouge-1": rouge})
    for form in ((), ("--markdown",)):
        text = call("claims", "adadec", "--results", str(tmp_path), *form).out
        assert f"{state}: an exemplar does not give the headline away" in text
    (paper,) = json.loads(call("claims", "adadec", "--json", "--results", str(tmp_path)).out)
    assert not [claim for claim in paper["claims"] if "copy_exemplar" in claim["better"]]


@pytest.mark.parametrize("said", ["", "They trained ten times as long."])
def test_a_rebuttal_is_shown_where_there_is_one(said: str) -> None:
    paper = judge(replace(read("adadec"), rebuttal=said), [])
    for text in (terminal([paper]), markdown([paper])):
        assert ("ebuttal" in text) == bool(said)
        assert said in text
    assert content([paper])[0]["rebuttal"] == said


def test_all_papers_are_reported_where_none_is_named(tmp_path: Path) -> None:
    found = json.loads(call("claims", "--json", "--results", str(tmp_path)).out)
    assert [paper["paper"] for paper in found] == ["AdaDec", "F2-Softmax", "HistAlign"]
    assert {claim["kind"] for paper in found for claim in paper["claims"]} == {"not run"}


def test_an_unknown_paper_is_a_usage_error() -> None:
    ended = call("claims", "histaline")
    assert ended.code == 2
    assert "histalign" in ended.err


def test_the_hours_a_paper_states_stand_beside_what_training_took_here(tmp_path: Path) -> None:
    timed(tmp_path, "mle", 0, 10.0)
    timed(tmp_path, "histalign", 0, 15.0)
    said = "training time, HistAlign A.4: histalign 2.50 times mle on bart-large (5 h for 2 h); here 1.50 times on "
    for form in ([], ["--markdown"], ["--json"]):
        assert said in call("claims", "histalign", *form, "--results", str(tmp_path)).out
    (other,) = json.loads(call("claims", "f2softmax", "--json", "--results", str(tmp_path)).out)
    assert [line for line in other["costs"] if "histalign" in line] == []
