"""Report: what a cell says where seeds are not comparable, and that the rules name what an interval is made of."""

from __future__ import annotations

from pathlib import Path

from bench.leaderboards.quality_diversity.decoders import FAMILIES
from bench.leaderboards.quality_diversity.report import report
from bench.leaderboards.quality_diversity.section import sections
from bench.leaderboards.table import tables
from bench.store.store import Store
from tests.leaderboards.quality_diversity.records import store_models
from tests.leaderboards.quality_diversity.worlds import columns, model

FEW = (*FAMILIES["topk"], *FAMILIES["min_p"])


def report_of(results: Path) -> str:
    return report(sections(tables(Store(results), None, "all")[0]))


def test_fronts_that_overlap_in_some_seeds_only_show_no_difference(tmp_path: Path) -> None:
    far = model("ul_token", settings=FEW)
    for row in far.rows.values():
        for name, number in columns(9.0).items():
            row.values[name].by_seed[2] = number
    store_models(tmp_path, model("mle", settings=FEW), far, model("f2softmax", settings=FEW, fewer=12))
    lines = report_of(tmp_path).splitlines()
    assert "| ul_token | mle | **not comparable** | **not comparable** | **not comparable** |" in lines
    (whole,) = [line for line in lines if line.startswith("| f2softmax | mle |") and line.count("|") == 6]
    assert whole.count("(n=3) **") == 3


def test_the_rules_say_that_variances_are_moderated(tmp_path: Path) -> None:
    store_models(tmp_path, model("mle", settings=FEW), model("ul_token", settings=FEW))
    assert "Where 6 or more objectives have one baseline, the variance of each is moderated" in report_of(tmp_path)
