"""`bench score` and `bench store verify`: numbers come from stored rows alone, once, and a changed one is found."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.cells.score import Tasks, computed
from bench.config.config import parse_sets
from bench.leaderboards.table import tables
from bench.metrics import METRICS, MetricEntry
from bench.metrics.score import Score
from bench.store.files import StoredRows
from bench.store.store import Store
from bench.tasks.pairs import Pairs
from tests.conftest import Bench


def scores_of(root: Path) -> list[Path]:
    return sorted(root.rglob("scores-*.json"))


def test_scores_are_made_again_from_rows_without_a_model(bench: Bench, store_copy: Path) -> None:
    before = {path: json.loads(path.read_text())["content"] for path in scores_of(store_copy)}
    for path in [*before, *store_copy.rglob("model-*.safetensors")]:
        path.unlink()
    assert bench("score", str(store_copy)).out == f"{len(before)} scores made, 0 stored already\n"
    assert {path: json.loads(path.read_text())["content"] for path in scores_of(store_copy)} == before
    assert bench("score", str(store_copy)).out == f"0 scores made, {len(before)} stored already\n"


def test_chosen_families_only(bench: Bench, store_copy: Path) -> None:
    for path in scores_of(store_copy):
        path.unlink()
    assert bench("score", str(store_copy), "--metrics", "perplexity").code == 0
    assert [json.loads(path.read_text())["content"]["family"] for path in scores_of(store_copy)] == ["perplexity"]
    assert "no metric 'perplexty'; did you mean 'perplexity'?" in bench("score", "--metrics", "perplexty").err


def test_mauve_of_one_clustering_stays_a_column(store_copy: Path) -> None:
    (cell,) = Store(store_copy).cells()
    scored = next(content for content in cell.all_scores() if content["family"] == "perplexity")
    signature = "mauve|mauve-text:0.4.0|seed:25|points:25|scale:percent|version:2"
    old = {"name": "mauve", "value": 85.2, "unit": "percent", "higher_is_better": True, "n": 16, "signature": signature}
    content = {"family": "mauve", "version": 2, "rows": scored["rows"], "rows_sha256": scored["rows_sha256"]}
    cell.write_record(f"scores-{0:016}.json", {**content, "of": scored["of"], "values": [old]}, {})
    (table,), _ = tables(Store(store_copy), columns="all", limited=True)
    assert [row.values["mauve"].mean for row in table.rows] == [85.2]


def test_other_data_than_the_rows_were_made_from_is_refused(
    bench: Bench, store_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in scores_of(store_copy):
        path.unlink()
    monkeypatch.setattr("bench.tasks.ambiguous_template.sample", lambda split: [])
    ended = bench("score", str(store_copy))
    assert ended.code == 3
    assert "name the data as the run did, with --data-dir sample" in ended.err
    assert "task.path" not in ended.err  # this task has no such option


@pytest.mark.parametrize(
    ("sets", "path"),
    [
        (["task.path={}/a.csv"], "a.csv"),
        (["pairs:task.path={}/a.csv", "text:task.path={}/b.txt"], "a.csv"),
        (["pairs:task.path={}/a.csv", "task.path={}/b.txt"], "a.csv"),
    ],
)
def test_the_data_of_one_task_is_not_that_of_another(sets: list[str], path: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("source,target\n" + "".join(f"a{n},b{n}\n" for n in range(200)))
    tasks = Tasks(sets=parse_sets(text.format(tmp_path) for text in sets))
    record = {"config": {"task": "pairs", "task_options": {}, "trainer": {"limit": None}}}
    task = tasks.named(record)
    assert isinstance(task, Pairs)
    assert task.given["path"] == str(tmp_path / path)


@pytest.fixture
def two_tasks(bench: Bench, store_copy: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store whose first task has other rows here than its cells were evaluated on."""
    run = ("run", "--task", "xsum", "--method", "lead", "--quiet", "--set", "evaluation.rows=4")
    assert bench(*run, "--results", str(store_copy)).code == 0
    monkeypatch.setattr("bench.tasks.ambiguous_template.sample", lambda split: [])
    return store_copy


def test_score_goes_on_where_the_data_of_one_task_is_missing(bench: Bench, two_tasks: Path) -> None:
    scores = scores_of(two_tasks)
    for path in scores:
        path.unlink()
    ended = bench("score", str(two_tasks))
    assert ended.code == 3
    assert ended.out.startswith(f"{sum('xsum' in path.parts for path in scores)} scores made, ")
    assert {path for path in scores if "xsum" in path.parts} == set(scores_of(two_tasks))


def test_missing_data_beside_damage_is_a_failure(
    bench: Bench, store_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3 says that nothing is wrong but what is not there."""
    damaged = min(store_copy.rglob("rows-*"))
    damaged.write_bytes(damaged.read_bytes()[:-30])
    monkeypatch.setattr("bench.tasks.ambiguous_template.sample", lambda split: [])
    ended = bench("score", str(store_copy))
    assert ended.code == 1
    assert str(damaged) in ended.err
    assert "name the data" in ended.err


def test_a_score_that_lacked_its_model_is_made_when_the_model_is_there(
    bench: Bench, store_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[float | None] = [None]
    calls: list[int] = []

    def scorer(rows: Any, gold: Any) -> list[Score]:
        calls.append(len(rows))
        why = "" if found[0] is not None else "|not applicable: needs a model: bench doctor"
        return [Score("checked", found[0], "percent", True, len(rows), "checker" + why)]

    monkeypatch.setitem(METRICS, "checker", MetricEntry("tests:none", "", kind="likelihood"))
    monkeypatch.setattr(MetricEntry, "load", lambda self: scorer)
    command = ("score", str(store_copy), "--metrics", "checker")
    made, known = "1 score made, 0 stored already\n", "0 scores made, 1 stored already\n"
    assert (bench(*command).out, bench(*command).out) == (made, known)
    found[0] = 50.0
    assert (bench(*command).out, bench(*command).out) == (made, known)
    assert len(calls) == 3
    (content,) = [c for cell in Store(store_copy).cells() for c in cell.all_scores() if c["family"] == "checker"]
    assert content["values"][0]["value"] == 50.0


def test_a_later_version_of_a_family_takes_the_place_of_an_older(
    bench: Bench, store_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of(version: int, value: float) -> None:
        monkeypatch.setitem(METRICS, "checker", MetricEntry("tests:none", "", kind="likelihood", version=version))
        monkeypatch.setattr(MetricEntry, "load", lambda self: lambda rows, gold: [
            Score("checked", value, "percent", True, len(rows), f"checker|version:{version}")])  # fmt: skip
        assert bench("score", str(store_copy), "--metrics", "checker").code == 0

    of(1, 10.0)
    of(2, 20.0)
    found = [c for cell in Store(store_copy).cells() for c in cell.all_scores() if c["family"] == "checker"]
    assert [(content["version"], content["values"][0]["value"]) for content in found] == [(2, 20.0)]
    assert len([p for p in scores_of(store_copy) if "checker" in p.read_text()]) == 2


def test_people_are_scored_by_what_says_something_of_their_texts() -> None:
    rows = [{"id": "a", "text": "the the", "token_ids": [1, 1], "reference": "the fox", "reference_ids": [1, 2],
             "groups": [2, 0, 0, 0], "reference_groups": [1, 0, 0, 1]}]  # fmt: skip
    stored = StoredRows("key", {}, rows, "sha")
    for family, column, model, people in (
        ("diversity", "uniq", 1.0, 2.0), ("frequency_groups", "frequency/frequent", 100.0, 50.0),
        ("ngram_diversity", "ngram-diversity", None, None),
    ):  # fmt: skip
        found, _ = computed(METRICS[family], stored, {"a": {}})
        by_name = {of: {one["name"]: one["value"] for one in found[of]} for of in ("values", "human")}
        if model is not None:
            assert (by_name["values"][column], by_name["human"][column]) == (model, people)
    assert "human" not in computed(METRICS["rouge_limited"], stored, {"a": {"references": ["the fox"]}})[0]
    plain = StoredRows("key", {}, [{"id": "a", "text": "the the", "token_ids": [1, 1]}], "sha")
    assert "human" not in computed(METRICS["diversity"], plain, {"a": {}})[0]
