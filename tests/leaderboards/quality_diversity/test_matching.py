"""Matching: only models of one size, of as many steps and with texts of one length are compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.leaderboards.quality_diversity.content import content
from bench.leaderboards.quality_diversity.curves import Model
from bench.leaderboards.quality_diversity.decoders import FAMILIES, SETTINGS
from bench.leaderboards.quality_diversity.matching import models_of
from bench.leaderboards.quality_diversity.report import report
from bench.leaderboards.quality_diversity.section import Objective, Section, sections
from bench.leaderboards.table import tables
from bench.store.store import Store
from tests.leaderboards.quality_diversity.records import store_models
from tests.leaderboards.quality_diversity.worlds import model

FEW = (*FAMILIES["topk"], *FAMILIES["min_p"])
START: Any = {"config": {"trainer": {"steps": 10}, "method": "mle"}, "method": {}, "data": {"train": {"sha256": "x"}}}
"""The record that a continued model starts from."""


def of(results: Path) -> Sequence[Section]:
    return sections(tables(Store(results), None, "all")[0])


def one(section: Section, method: str = "ul_token") -> Objective:
    (found,) = [objective for objective in section.objectives if objective.method == method]
    return found


def few(method: str, **options: Any) -> Model:
    return model(method, settings=FEW, **options)


def test_rows_of_another_configuration_are_another_model() -> None:
    whole, part = model("mle"), model("mle", freer=1.0, settings=FAMILIES["topk"])
    for row in part.rows.values():
        row.config = {"trainer": {"lr": 1.0}}
    found = models_of([*part.rows.values(), *whole.rows.values()])
    assert [list(each.rows) for each in found] == [list(FAMILIES["topk"]), list(SETTINGS)]
    assert found[1].rows == whole.rows


def test_of_several_models_of_a_method_the_one_with_most_settings_is_compared(tmp_path: Path) -> None:
    store_models(tmp_path, few("mle"), few("ul_token"))
    store_models(tmp_path, model("mle", freer=1.0, settings=FAMILIES["topk"]), trainer__lr=1.0)
    (section,) = of(tmp_path)
    theirs = one(section).theirs
    assert theirs is not None
    assert list(theirs.rows) == [setting for setting in SETTINGS if setting in FEW]
    assert section.passed_over == ["mle (64 new tokens, 3 of 24 settings)"]


def test_texts_of_two_lengths_are_never_compared(tmp_path: Path) -> None:
    store_models(tmp_path, few("mle", freer=0.5, length=16), few("ul_token", freer=0.2, length=16))
    store_models(tmp_path, few("mle"), few("ul_token", freer=0.3, fewer=12))
    short, long = of(tmp_path)
    assert (short.conditions, long.conditions) == ("16 new tokens", "64 new tokens")
    for section, length in ((short, 16), (long, 64)):
        found = one(section)
        assert found.ours is not None
        assert found.theirs is not None
        for row in (*found.ours.rows.values(), *found.theirs.rows.values()):
            assert row.decoding.endswith(f"+max_new_tokens={length}")
    assert "· small-causal · 16 new tokens\n" in report([short, long])
    assert [each["conditions"] for each in content([short, long])] == ["16 new tokens", "64 new tokens"]


def test_a_length_that_only_one_of_two_has_is_named(tmp_path: Path) -> None:
    store_models(tmp_path, few("mle"), few("ul_token", length=16), few("f2softmax"))
    (section,) = of(tmp_path)
    assert one(section).why == "not stored with this length, size and evaluation: ul_token"
    assert section.passed_over == ["ul_token (16 new tokens, 6 of 24 settings)"]
    assert "- Stored, but compared with nothing: ul_token (16 new tokens, 6 of 24 settings)" in report([section])


def test_evaluations_in_batches_of_two_sizes_are_never_compared(tmp_path: Path) -> None:
    store_models(tmp_path, few("mle"), few("ul_token"))
    store_models(tmp_path, few("mle"), few("ul_token"), batch_size=8)
    assert sorted(section.conditions for section in of(tmp_path)) == [
        "64 new tokens, evaluation in batches of 50",
        "64 new tokens, evaluation in batches of 8",
    ]


def test_models_of_two_sizes_or_steps_are_never_compared(tmp_path: Path) -> None:
    store_models(tmp_path, few("mle"), few("ul_token"))
    store_models(tmp_path, few("mle", freer=1.0), few("ul_token", freer=1.0), backbone_options__width=64)
    store_models(tmp_path, few("mle", freer=2.0), trainer__steps=20)
    found = {section.conditions: section for section in of(tmp_path)}
    assert set(found) == {
        "64 new tokens, 10 steps, backbone.width=128",
        "64 new tokens, 10 steps, backbone.width=64",
        "64 new tokens, 20 steps, backbone.width=128",
    }
    for conditions, section in found.items():
        objective = one(section)
        if "20 steps" in conditions:
            assert objective.why == "not stored with this length, size and evaluation: ul_token"
            continue
        assert objective.ours is not None
        assert objective.theirs is not None
        assert objective.ours.conditions == objective.theirs.conditions
    assert {tuple(section.passed_over) for section in found.values()} == {
        ("mle (64 new tokens, 20 steps, backbone.width=128, 6 of 24 settings)",)
    }


def test_a_continued_model_meets_the_one_that_was_continued_as_long(tmp_path: Path) -> None:
    store_models(tmp_path, few("mle"))
    for method, steps in (("face", 5), ("mle.continued", 5), ("mle.continued", 7), ("ul_seq", 9)):
        store_models(tmp_path, few(method), trainer__steps=steps, start=START)
    (section,) = of(tmp_path)
    theirs = one(section, "face").theirs
    assert theirs is not None
    assert theirs.conditions.training == ((10, 0.0), (5, 0.0))
    assert one(section, "ul_seq").why == "no mle.continued was trained for as many steps"
    assert "mle.continued (64 new tokens, 10 steps + 7 steps, 6 of 24 settings)" in section.passed_over


def test_models_of_as_many_steps_are_none_where_epochs_decide_and_differ(tmp_path: Path) -> None:
    store_models(tmp_path, few("mle"), trainer={"steps": 0, "epochs": 2.0, "limit": None})
    store_models(tmp_path, few("ul_token"), trainer={"steps": 0, "epochs": 3.0, "limit": None})
    (section,) = of(tmp_path)
    assert section.conditions == "64 new tokens, 2 epochs"
    assert one(section).ours is None


def test_nothing_is_chosen_between_models_that_are_alike(tmp_path: Path) -> None:
    store_models(tmp_path, few("mle"), few("ul_token"))
    store_models(tmp_path, few("mle", freer=1.0), trainer__lr=1.0)
    (section,) = of(tmp_path)
    assert one(section).why == "2 pairs of it and mle are alike in size, steps and settings; keep one in a store"
