"""The catalogue of pretrained models: whole, honest about what is not known, and in step with metrics and backbones."""

import re
from pathlib import Path

import huggingface_hub.constants
import pytest

from bench.metrics import METRICS
from bench.metrics.requirements import Checkpoint
from bench.models.backbones import BACKBONES
from bench.pretrained.catalogue import UNKNOWN, catalogue

OURS = {"BENCH_DAE_ARCS"}
"""What a user makes, and no public model is."""


@pytest.fixture(autouse=True)
def empty_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    for model in catalogue().values():
        monkeypatch.delenv(model.variable or "NONE", raising=False)


def test_every_checkpoint_of_a_metric_and_every_pretrained_backbone_is_in_it() -> None:
    uses = {use: model for model in catalogue().values() for use in model.uses}
    for name, metric in METRICS.items():
        for checkpoint in metric.requires:
            if not isinstance(checkpoint, Checkpoint) or checkpoint.variable in OURS:
                continue
            model = uses[f"metric {name}"]
            assert (model.name, model.variable) == (checkpoint.model, checkpoint.variable)
            assert not checkpoint.hub or model.repository in checkpoint.hub
    for name, backbone in BACKBONES.items():
        if backbone.hub:
            assert uses[f"backbone {name}"].repository == backbone.hub


def test_facts_are_hashes_or_unknown() -> None:
    for model in catalogue().values():
        assert model.revision == UNKNOWN or re.fullmatch(r"[0-9a-f]{7}|[0-9a-f]{40}", model.revision), model.name
        assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in model.sha256.values())
        assert model.url.startswith("https://")
        assert all((model.seen, model.size, model.licence))
        assert model.title or not model.packages
        assert not model.packages or len(model.archives) == len(model.packages)


def test_the_list_has_every_column_of_every_model(bench) -> None:
    ended = bench("models", "list")
    assert (ended.code, ended.err) == (0, "")
    assert [line.split()[0] for line in ended.out.splitlines() if line[:1].strip()] == list(catalogue())
    for fact in ("url", "revision", "sha256", "size", "licence", "folder", "command"):
        assert ended.out.count(f"\n  {fact:<12}") == len(catalogue()), fact
    shown = bench("models", "list", "nli").out
    assert "https://logicnlg.s3-us-west-2.amazonaws.com/NLI_models.zip" in shown
    assert "export BENCH_NLI=" in shown


def test_unknown_models_are_refused_with_a_near_name(bench) -> None:
    ended = bench("models", "get", "tapass")
    assert ended.code == 2
    assert "no pretrained model 'tapass'; did you mean 'tapas'? (bench models list)" in ended.err


def test_the_doctor_says_the_command(bench) -> None:
    found = {line[9:35].strip(): line[35:] for line in bench("doctor").out.splitlines()}
    for metric, model in {"tapas": "tapas", "nli": "nli", "mauve": "gpt2-large", "coherence": "simcse"}.items():
        assert found[f"metric {metric}"].endswith(f": bench models get {model}")
    assert "python -m spacy download en_core_web_lg, or BENCH_NER naming another" in found["metric entity_precision"]


def test_what_a_variable_names_is_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "my verifier"
    folder.mkdir()
    monkeypatch.setenv("BENCH_NLI", str(folder))
    nli = catalogue()["nli"]
    assert nli.folder == folder
    assert not nli.is_here
    for name in nli.files:
        (folder / name).write_text("{}")
    assert nli.is_here
