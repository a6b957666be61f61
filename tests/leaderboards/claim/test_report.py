"""`bench claims` in every form: six lines first, every claim counted, and the same words everywhere."""

import json
import re
from pathlib import Path

import pytest

from bench.leaderboards.claim.claim_files import names, read
from bench.leaderboards.claim.evaluation import WORDS
from tests.conftest import call
from tests.leaderboards.handmade import scored, trained
from tools.regenerate import EVIDENCE_STORES

ROOT = Path(__file__).parents[3]
CLAIMS = sum(len(read(name).claims) for name in names())
TEMPLATE = {"task": "ambiguous_template", "backbone": "small-causal", "preset": "mid", "trainer__steps": 150}


def store(root: Path) -> None:
    """Cells of Ambiguous Template: HistAlign's cache is far above the others'."""
    values = {"histalign.released": 60.0, "trime.released": 1.0, "mle": 0.5, "mle.untrained": 0.0}
    for seed in (0, 1, 2):
        for method, value in values.items():
            cell = trained(root, method, seed, **TEMPLATE)
            found = {"acc@2/cache": value + seed / 10, "acc@2/full": 50.0 * (value > 0) + seed / 10}
            scored(cell, found, kind="likelihood", decoding=None)


@pytest.fixture(scope="module")
def grid() -> str:
    """The report on the kept runs."""
    stores = [word for name in EVIDENCE_STORES for word in ("--results", str(ROOT / name))]
    return call("claims", *stores).out


def test_six_lines_state_models_data_and_limits(grid: str) -> None:
    first = grid.splitlines()[:6]
    assert [line.removeprefix("- ").partition(":")[0] for line in first] == [
        "Models", "Data", "Claims", "Verdicts", "Limits", "Numbers",
    ]  # fmt: skip
    assert "F2-Softmax 974k to 1.49M parameters from scratch" in first[0]
    assert "HistAlign 135M parameters pretrained, 150 steps" in first[0]
    assert "F2-Softmax King James Bible; HistAlign a subset of Ambiguous Template" in first[1]
    assert f"we selected {CLAIMS} sentences" in first[2]


def test_every_claim_counts_those_out_of_reach_too(grid: str) -> None:
    lines = [line.strip("| ").split(" | ") for line in grid.splitlines() if line.startswith("| ")]
    counts = {line[0]: list(map(int, line[2:])) for line in lines if line[0] in (*WORDS, "claims")}
    assert list(counts) == [*WORDS, "claims"]
    assert counts["claims"] == [*(len(read(name).claims) for name in names()), CLAIMS]
    assert [sum(of) for of in zip(*(counts[word] for word in WORDS), strict=True)] == counts["claims"]


def test_no_verdict_can_be_quoted_without_its_scale(grid: str) -> None:
    assert not re.findall("established|refuted|artefact|explained|inconclusive", grid)
    verdicts = [line.strip("| ").split(" | ")[-1] for line in grid.splitlines() if re.match(r"\| \d+ \|", line)]
    assert len(verdicts) == CLAIMS
    for verdict in verdicts:
        if verdict.startswith(("seen here", "reversed here", "open")):
            scale = r"\([\d.]+[kM].* parameters (from scratch|pretrained), .* steps, .+, \d.* seeds\)"
            assert re.search(scale, verdict), verdict
        else:
            assert verdict.startswith(("not run", "not testable here"))


def test_the_committed_report_is_short() -> None:
    lines = (ROOT / "leaderboards" / "claims.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 250


def test_a_folder_of_results_gives_the_same_content_in_every_form(tmp_path: Path) -> None:
    store(tmp_path)
    (paper,) = json.loads(call("claims", "histalign", "--json", "--results", str(tmp_path)).out)
    assert sum(paper["counts"][word] for word in WORDS) == paper["counts"]["claims"] == len(paper["claims"])
    claim = paper["claims"][0]
    assert claim["verdict"] == "not run", claim
    assert claim["why"] == ["mle.cache, mle.knn"]
    (first, *_) = claim["parts"]
    assert first["values"] == pytest.approx([60.1, 0.6])
    assert {first[name] for name in ("effect", "low", "high", "p", "by_seed", "p_items")} == {None}
    text = call("claims", "histalign", "--results", str(tmp_path)).out.replace("\\", "")
    assert claim["verdict_text"] in text
    assert claim["quote"] in text
    assert claim["here"] in text
    assert all(line in text for line in claim["evidence"])


def test_a_folder_without_runs_is_refused_and_one_of_other_tasks_has_nothing_run(tmp_path: Path) -> None:
    assert call("claims", "--results", str(tmp_path)).code == 3
    trained(tmp_path, task="xsum")
    text = call("claims", "--results", str(tmp_path)).out
    assert text.startswith("- Models: nothing is stored for these claims.\n- Data: none.\n")
    assert "The claims for which there are runs" not in text
    found = json.loads(call("claims", "--json", "--results", str(tmp_path)).out)
    assert [paper["paper"] for paper in found] == ["AdaDec", "F2-Softmax", "HistAlign"]
    assert {claim["verdict"] for paper in found for claim in paper["claims"]} == {"not run", "not testable here"}


def test_an_unknown_paper_is_a_usage_error() -> None:
    ended = call("claims", "histaline")
    assert ended.code == 2
    assert "histalign" in ended.err
