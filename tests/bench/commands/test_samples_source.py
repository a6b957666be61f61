"""`bench samples --source`: stored models write for a text of the user's own, side by side."""

import shutil
from pathlib import Path

import pytest

from bench.store.store import Store
from tests.conftest import Bench

RUN = ("run", "--task", "logicnlg", "--preset", "small", "--quiet", "--set", "trainer.steps=2", "backbone.width=16",
       "trainer.batch_size=4", "evaluation.rows=4")  # fmt: skip


@pytest.fixture
def results(bench: Bench, tmp_path: Path) -> Path:
    ended = bench(*RUN, "--method", "mle,lead,adadec,seq2seq", "--results", str(tmp_path / "results"))
    assert ended.code == 0, ended.err
    return tmp_path / "results"


def test_models_write_for_a_source(bench: Bench, results: Path) -> None:
    """The baseline has no model, and a method that reads exemplars gets none."""
    command = ("samples", "--results", str(results), "--source", "films : director is nobody")
    ended = bench(*command)
    assert (ended.code, ended.err) == (0, "")
    assert "prompt: films : director is nobody" in ended.out
    assert "mle" in ended.out
    assert "adadec writes nothing: " in ended.out
    assert "seq2seq writes nothing: " not in ended.out
    assert "lead writes nothing: it has no model" in ended.out
    assert bench(*command).out == ended.out
    one = bench(*command, "--method", "mle", "--decode", "topk=3")
    assert one.code == 0, one.err
    assert ("adadec" not in one.out, " · topk=3" in one.out) == (True, True)


def test_a_decoding_by_counts_of_training_tokens_needs_another_one(bench: Bench, tmp_path: Path) -> None:
    results = str(tmp_path / "results")
    assert bench(*RUN, "--method", "mle", "--decode", "decoupled:topk=3", "--results", results).code == 0
    command = ("samples", "--results", results, "--source", "films : director is nobody")
    ended = bench(*command)
    assert (ended.code, "give another one, such as --decode topk=3" in ended.out) == (3, True)
    assert bench(*command, "--decode", "topk=3").code == 0


def test_a_source_without_a_model(bench: Bench, results: Path) -> None:
    for cell in Store(results).cells():
        (cell.path / "config.yaml").unlink(missing_ok=True)
    ended = bench("samples", "--results", str(results), "--source", "films")
    assert ended.code == 3
    assert "mle writes nothing: " in ended.out
    shutil.rmtree(results)
    assert bench("samples", "--results", str(results), "--source", "films").code == 3
