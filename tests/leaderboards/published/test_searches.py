"""What papers tried for their methods and baselines, and where a reader meets it."""

from __future__ import annotations

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
