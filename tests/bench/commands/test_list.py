"""`bench list metrics`, and that what entries say of columns and needs is what scorers and machine say."""

import json

import pytest

from bench.decodings import DECODINGS
from bench.metrics import METRICS
from bench.metrics.columns import expand, is_named, matching
from bench.metrics.example_rows import example_rows
from bench.metrics.requirements import Checkpoint, NamedModel, Package, describe, missing
from bench.models import METHODS


@pytest.mark.parametrize("family", METRICS)
def test_a_scorer_makes_every_column_of_its_entry_with_a_version_in_its_signature(family):
    metric = METRICS[family]
    scores = metric.load()(*example_rows(metric.kind))
    if all(score.value is not None for score in scores):
        assert {matching(score.name, metric.columns) for score in scores} == set(metric.columns)
        names = [name for pattern in metric.columns for name in expand(pattern[1:])]
        assert [name for name in names if not any(is_named(score.name, name) for score in scores)] == []
    for score in scores:
        assert score.value is None or "version:" in score.signature or "nltk:" in score.signature, score


def test_no_two_families_share_a_column():
    names = [name for metric in METRICS.values() for pattern in metric.columns for name in expand(pattern[1:])]
    assert len(names) == len(set(names))


def test_metrics_are_listed_with_direction_and_needs(bench):
    ended = bench("list", "metrics")
    assert ended.code == 0
    assert "lower is better: ppl/{token,word,byte}" in ended.out
    assert "needs google/tapas-large-finetuned-tabfact in the hub cache, or BENCH_TAPAS naming a folder" in ended.out
    listed = json.loads(bench("list", "metrics", "--json").out)["metrics"]
    assert listed["table_bleu"]["columns"]["bleu-3"] is True
    assert listed["matrix_rank"]["columns"] == {"rank/float32": None, "rank/float64": None}
    assert listed["copying"]["needs"] == ""


def test_what_is_missing_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    one = Checkpoint("BENCH_SOMETHING", ("owner/model",))
    needs = (Package("no_such_package_here", "pip install it"), NamedModel("no_such_model_sm"), one)
    assert missing(needs) == describe(needs)
    assert describe(needs).split("; ") == [
        "no_such_package_here (pip install it)",
        "a spaCy model (python -m spacy download no_such_model_sm)",
        "owner/model in the hub cache, or BENCH_SOMETHING naming a folder",
    ]
    monkeypatch.setenv("BENCH_SOMETHING", str(tmp_path))
    assert missing((one, Package("json", ""), NamedModel("json"))) == ""
    monkeypatch.setenv("BENCH_SOMETHING", str(tmp_path / "nowhere"))
    assert missing((one,)) == str(one)
    monkeypatch.setenv("BENCH_SOMETHING", "not a hub id at all /")
    assert missing((one,)) == str(one)


def test_a_hub_copy_in_the_cache_is_found(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    copy = tmp_path / "models--owner--model"
    (copy / "snapshots" / "abc").mkdir(parents=True)
    (copy / "refs").mkdir()
    (copy / "refs" / "main").write_text("abc")
    (copy / "snapshots" / "abc" / "config.json").write_text("{}")
    assert Checkpoint("BENCH_SOMETHING", ("owner/other", "owner/model")).is_installed
    assert not Checkpoint("BENCH_SOMETHING", ("owner/other",)).is_installed


def test_doctor_says_which_metrics_can_be_computed(bench, monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.delenv("BENCH_FACTCC", raising=False)
    monkeypatch.setenv("BENCH_TAPAS", str(tmp_path))
    found = {line[9:35].strip(): line for line in bench("doctor").out.splitlines()}
    factcc = f"optional {'metric factcc':<26}needs manueldeprada/FactCC in the hub cache, or BENCH_FACTCC"
    assert found["metric factcc"].startswith(factcc)
    assert found["metric tapas"].startswith("ok ")
    assert "metric rouge" not in found


def test_decodings_are_listed_with_settings_ranges_and_defaults(bench):
    ended = bench("list", "decodings")
    assert (ended.code, ended.err) == (0, "")
    lines = [line.strip() for line in ended.out.splitlines()]
    named = [line.split()[0] for line in ended.out.splitlines() if line.startswith("  ") and line[2].isalpha()]
    assert named == [*DECODINGS, "each"]
    assert "min_p=p: a number above 0 and of at most 1" in lines
    assert "+alpha=0.6: a number of at least 0 and of at most 1" in lines
    assert "+gnmt=none: a number or none" in lines
    assert "+max_new_tokens=none: a whole number of at least 1 or none" in lines
    listed = json.loads(bench("list", "decodings", "--json").out)["decodings"]
    assert listed["topk"]["options"]["k"] == {"expected": "a whole number of at least 1", "default": "required"}
    assert listed["beam"]["options"]["early_stopping"] == {"expected": "true or false", "default": "false"}
    assert list(listed) == list(DECODINGS)


def test_modern_methods_say_what_their_equations_were_read_in(bench):
    lines = [line.strip() for line in bench("list", "methods").out.splitlines()]
    modern = [entry for entry in METHODS.values() if entry.group == "modern"]
    assert len([line for line in lines if line.startswith("its equations were read in: ")]) == len(modern)
    assert lines.count("its equations were read in: memory") == len([e for e in modern if e.source == "memory"]) > 0
