"""leaderboards/published/searches.py: what papers tried, and what of a gain that alone may be."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bench.errors import DataError
from bench.leaderboards.published.papers import paper_table, papers
from bench.leaderboards.published.reproduction import reproduce
from bench.leaderboards.published.searches import PublishedSearch, published_search, selection_notes


def search_of(short: str) -> PublishedSearch:
    """The search of a paper."""
    (paper,) = [paper for paper in papers() if paper.short == short]
    assert paper.search is not None
    return paper.search


def test_histalign_had_18_settings_of_which_its_baseline_could_use_3() -> None:
    search = search_of("histalign")
    assert {method: search.settings_of(method) for method in search.methods} == {"mle": 3, "trime": 3, "histalign": 18}


def test_f2_softmax_took_what_was_best_for_its_baseline() -> None:
    search = search_of("f2softmax")
    tried = {method: search.settings_of(method) for method in search.methods}
    assert tried == {"mle": 240, "face": 2, "ul_token": 1, "ul_token_seq": 2, "f2softmax": 1}
    assert selection_notes(search, ["mle", "f2softmax"]) == [search.text]


def test_adadec_and_its_baselines_had_the_same() -> None:
    search = search_of("adadec")
    assert {search.settings_of(method) for method in search.methods} == {27}
    assert search.baseline == "seq2seq"


def test_every_paper_has_one() -> None:
    assert all(paper.search is not None for paper in papers())


def test_who_had_more_settings_than_the_baseline_stands_under_a_reproduction() -> None:
    notes = reproduce(paper_table("histalign/table1"), [], "small").notes
    (line,) = [note for note in notes if note.startswith("histalign.released had 18 settings to choose from and mle 3")]
    assert "bench run --trials histalign.released=18,mle=18" in line


GOOD: dict[str, Any] = {
    "where": "A", "baseline": "mle", "chosen_by": "loss",
    "axes": [{"setting": "optim.lr", "values": "1 2", "methods": ["mle"], "where": "A"}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"baseline": "mel"}, "unknown method 'mel'"),
        ({"who": "we"}, "unknown key 'who'"),
        ({"axes": [{"setting": "optim.lr", "values": "1"}]}, "missing methods, where"),
        ({"axes": [{**GOOD["axes"][0], "chosen_on": "mel"}]}, "unknown method 'mel'"),
    ],
)
def test_a_wrong_entry_is_one_clear_line(change: dict[str, Any], message: str) -> None:
    assert published_search("Paper", GOOD, "papers/x.toml") is not None
    with pytest.raises(DataError, match=re.escape(message)):
        published_search("Paper", {**GOOD, **change}, "papers/x.toml")
