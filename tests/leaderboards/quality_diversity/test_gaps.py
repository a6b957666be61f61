"""Gaps: a setting without a value, and seeds that are not shared, are said and never dropped in silence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.leaderboards.quality_diversity.comparison import CLAIMED
from bench.leaderboards.quality_diversity.content import content
from bench.leaderboards.quality_diversity.curves import Model
from bench.leaderboards.quality_diversity.decoders import FAMILIES, SETTINGS, WHOLE
from bench.leaderboards.quality_diversity.report import report
from bench.leaderboards.quality_diversity.section import Section, sections
from bench.leaderboards.table import tables
from bench.store.store import Store
from tests.leaderboards.quality_diversity.records import store_models
from tests.leaderboards.quality_diversity.worlds import model

FEW = (*FAMILIES["topk"], *FAMILIES["min_p"])


def section_of(results: Path, ours: Model) -> Section:
    """The section of an objective and a whole model of maximum likelihood."""
    store_models(results, model("mle", settings=FEW), ours)
    (found,) = sections(tables(Store(results), None, "all")[0])
    return found


def gaps_of(section: Section) -> Sequence[str]:
    (found,) = [one.gaps for one in section.objectives if one.method == "ul_token"]
    return found


def test_a_setting_without_a_metric_is_missing_and_named(tmp_path: Path) -> None:
    ours = model("ul_token", settings=FEW)
    del ours.rows["topk=20"].values["sample-ppl"]
    section = section_of(tmp_path, ours)
    assert set(section.missing) == {*SETTINGS} - {*FEW} | {"topk=20"}
    assert gaps_of(section) == ["ul_token under `topk=20` is left out: no sample-ppl"]
    text = report([section])
    assert "- ul_token under `topk=20` is left out: no sample-ppl\n" in text
    assert "no point, left out of its pair: " in text
    (found,) = [one for one in content([section])[0]["objectives"] if one["method"] == "ul_token"]
    assert found["gaps"] == gaps_of(section)


def test_a_setting_in_conflict_is_missing_and_named(tmp_path: Path) -> None:
    store_models(tmp_path, Model("ul_token", {"topk=20": model("ul_token", freer=1.0).rows["topk=20"]}), extra="again")
    section = section_of(tmp_path, model("ul_token", settings=FEW))
    assert "topk=20" in section.missing
    assert gaps_of(section)[0] == "ul_token under `topk=20` is left out: two numbers of one seed in self-bleu-2"


def test_settings_by_the_whole_distribution_are_named_and_those_of_its_own_go_first(tmp_path: Path) -> None:
    ours = model("f2softmax", settings=FEW)
    for setting in FAMILIES["min_p"]:
        ours.rows[setting].decoding = WHOLE + ours.rows[setting].decoding
    twice = Model("f2softmax", {"topk=3": model("f2softmax", freer=1.0).rows["topk=3"]})
    twice.rows["topk=3"].decoding = WHOLE + twice.rows["topk=3"].decoding
    store_models(tmp_path, twice)
    section = section_of(tmp_path, ours)
    (found,) = [one for one in section.objectives if one.method == "f2softmax"]
    assert list(found.gaps) == [
        "f2softmax writes by its whole distribution under min_p=0.3, min_p=0.1, min_p=0.03: its own has no such cut"
    ]
    assert found.ours is not None
    assert found.ours.rows["topk=3"].decoding.startswith("topk=3")
    assert set(found.pairs[CLAIMED[0]].ours.points) == set(FEW)


def test_the_setting_that_cut_the_seeds_is_named(tmp_path: Path) -> None:
    ours = model("ul_token", settings=FEW)
    for value in ours.rows["min_p=0.1"].values.values():
        value.by_seed.pop(1)
    ours.rows["min_p=0.1"].seeds.remove(1)
    section = section_of(tmp_path, ours)
    assert gaps_of(section) == ["ul_token under `min_p=0.1` lacks seed 1; all are compared without"]
    assert "min_p=0.1" not in section.missing


def test_that_no_seed_is_shared_is_said(tmp_path: Path) -> None:
    ours = model("ul_token", settings=FEW)
    for row in ours.rows.values():
        row.seeds = {7}
        for value in row.values.values():
            value.by_seed = {7: value.by_seed[0]}
    section = section_of(tmp_path, ours)
    assert gaps_of(section) == [
        "ul_token and mle share no seed: under all their settings they have seed 7 and seeds 0, 1, 2"
    ]
    (found,) = [one for one in section.objectives if one.method == "ul_token"]
    assert [share.verdict for share in found.shares] == ["not comparable", "not comparable"]


def test_that_no_seed_has_all_settings_of_one_model_is_said(tmp_path: Path) -> None:
    ours = model("ul_token", settings=FEW)
    for setting, seed in (("topk=3", 0), ("topk=20", 1)):
        row = ours.rows[setting]
        row.seeds = {seed}
        for value in row.values.values():
            value.by_seed = {seed: value.by_seed[seed]}
    assert gaps_of(section_of(tmp_path, ours))[-1] == "ul_token has no seed under all its settings"
