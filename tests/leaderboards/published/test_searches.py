"""What papers tried for their methods and baselines, how long their trainings took, and where a reader meets it."""

from __future__ import annotations

import pytest

from bench.leaderboards.published.paper_files import PublishedSearch
from bench.leaderboards.published.papers import paper_table, papers
from bench.leaderboards.published.reproduction import reproduce, selection_notes


def search_of(short: str) -> PublishedSearch:
    """The search of a paper."""
    (search,) = [paper.search for paper in papers() if paper.short == short]
    assert search is not None
    return search


def test_histalign_had_18_settings_of_which_its_baseline_could_use_3() -> None:
    search = search_of("histalign")
    assert {method: search.settings_of(method) for method in search.methods} == {"mle": 3, "trime": 3, "histalign": 18}


def test_f2_softmax_took_what_was_best_for_its_baseline() -> None:
    search = search_of("f2softmax")
    tried = {method: search.settings_of(method) for method in search.methods}
    assert tried == {"mle": 240, "face": 2, "ul_token": 1, "ul_token_seq": 2, "f2softmax": 1}
    (paper,) = [paper for paper in papers() if paper.short == "f2softmax"]
    assert selection_notes(paper, ["mle", "f2softmax"]) == [search.text("F2-Softmax")]


def test_adadec_and_its_baselines_had_the_same() -> None:
    search = search_of("adadec")
    assert {search.settings_of(method) for method in search.methods} == {27}
    assert search.baseline == "seq2seq"


def test_who_had_more_settings_than_the_baseline_stands_under_a_reproduction() -> None:
    notes = reproduce(paper_table("histalign/table1"), [], "small").notes
    (line,) = [note for note in notes if note.startswith("histalign.released had 18 settings to choose from and mle 3")]
    assert "bench run --trials histalign.released=18,mle=18" in line


@pytest.mark.parametrize(
    ("task", "method", "backbone", "said"),
    [
        ("ambiguous_template", "mle", "gpt2-large", "30 min on 4 RTX A6000 (48 GB)"),
        ("ambiguous_template", "histalign.released", "gpt2-large", "1 h on 4 RTX A6000 (48 GB) (around an hour)"),
        ("writingprompts", "histalign", "gpt2-large", "11.5 h on 2 A100 (80 GB)"),
        ("xsum", "trime", "bart-large", "5 h on 4 RTX A6000 (48 GB)"),
        ("cnndm", "mle", "bart-large", "4 h on 4 RTX A6000 (48 GB)"),
        ("logicnlg", "histalign", "bart-large", "5 h on 2 A100 (80 GB)"),
        ("wikitext103", "mle", "f2-decoder", "hours not stated on 1 GPU (24 GB) (its model is not named)"),
        ("gigaword", "adadec", "bilstm", "hours not stated (nor is hardware)"),
    ],
)
def test_papers_state_hours_and_hardware(task: str, method: str, backbone: str, said: str) -> None:
    base = method.partition(".")[0]
    times = [time for paper in papers() for time in paper.training if base in time.methods]
    assert [time.text for time in times if (time.task, time.backbone) == (task, backbone)] == [said]
