"""The metrics of metrics/README.md are scored and pass the tester."""

import re
import sys
import types
from typing import Any

import pytest

import bench.metrics
from bench.cells.score import computed
from bench.leaderboards.statistics.intervals import bootstrap
from bench.leaderboards.statistics.significance import p_values_of
from bench.metrics import CLASSES, METRICS, MetricEntry, find_metric
from bench.store.files import StoredRows
from tests.bench.own import Own
from tests.metrics import family_cases, family_rows, test_every_family
from tests.metrics.family_cases import CASES
from tests.shipped import ROOT

PAGE = (ROOT / "metrics" / "README.md").read_text(encoding="utf-8")
TESTS = (
    "test_the_example_rows_have_values_between_the_extremes",
    "test_the_class_gives_the_scorers_bits_in_batches_and_any_order",
    "test_the_class_survives_a_copy_a_file_and_a_new_start",
    "test_sums_come_to_the_value_in_the_order_of_ids",
    "test_as_good_as_can_be",
    "test_nothing_written",
    "test_methods_and_subsets_share_a_column",
)
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_metric_of_ones_own_has_an_interval_and_a_paired_test(own: Own) -> None:
    own.write("shouts", BLOCKS[1])
    metric = find_metric(f"{own.folder}/shouts.py:shouts")
    rows = [{"id": name, "text": text} for name, text in zip("abc", ("no", "yes!", "oh!!!"), strict=True)]
    stored, gold = StoredRows("key", {}, rows, "sha"), {name: {} for name in "abc"}
    values, sums = computed(metric.value, stored, gold, None, metric.code)
    (value,) = values["values"]
    assert (value["name"], value["value"]) == ("shouts", 4 / 3)
    assert value["signature"] == f"shouts|version:1|source:{metric.code['source_sha256'][:8]}"
    assert bootstrap(sums["shouts"]).low < 4 / 3 < bootstrap(sums["shouts"]).high
    assert p_values_of([(sums["shouts"], sums["shouts"])]) == [1.0]


@pytest.fixture
def length_ratio(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The page's metric, listed and with its case, from its code alone."""
    _, _, module, entry, case = BLOCKS
    made = types.ModuleType("length_ratio")
    exec(compile(module, "length_ratio", "exec"), made.__dict__)
    listed = eval("{" + entry + "}", {"MetricEntry": MetricEntry})["length_ratio"]
    known = {**vars(family_cases), **vars(family_rows)}
    assert listed.target == "bench.metrics.overlap.length_ratio:length_ratio_scores"
    monkeypatch.setitem(sys.modules, "bench.metrics.overlap.length_ratio", made)
    monkeypatch.setitem(METRICS, "length_ratio", listed)
    monkeypatch.setitem(CLASSES, "LengthRatio", ("length_ratio", "*"))
    monkeypatch.setitem(CASES, "length_ratio", eval("{" + case + "}", known)["length_ratio"])
    return made.__dict__


def test_the_loop_runs() -> None:
    exec(compile(BLOCKS[0], "loop", "exec"), {})


@pytest.mark.parametrize("test", TESTS)
def test_the_new_metric_passes_the_tester(length_ratio: dict[str, Any], test: str) -> None:
    getattr(test_every_family, test)("length_ratio", CASES["length_ratio"])


def test_the_new_metric_is_scored_and_explains_what_it_cannot(length_ratio: dict[str, Any]) -> None:
    stored = StoredRows("key", {}, [{"id": "a", "text": "the fox ran"}], "sha")
    (value,) = computed(METRICS["length_ratio"], stored, {"a": {"target": "the fox"}})[0]["values"]
    assert (value["name"], value["value"], value["n"]) == ("length-ratio", 1.5, 1)
    (value,) = computed(METRICS["length_ratio"], stored, {"a": {"target": ""}})[0]["values"]
    assert value["value"] is None
    assert value["signature"].endswith("|not applicable: no word in the references")
    metric = bench.metrics.LengthRatio()
    metric.update(["the fox ran"], ["the fox"])
    assert {name: number.item() for name, number in metric.compute().items()} == {"length-ratio": 1.5}
