"""Forgetting: a fine-tuned model is compared with the model it started from, on rows of WikiText-103."""

from pathlib import Path

import pytest

from bench.cells.forgetting import FORGETTING, ROWS, general_text
from bench.cells.plan import make_plan
from bench.config.arguments import RunArguments
from bench.leaderboards.table import tables
from bench.store.store import Store
from tests.conftest import Bench
from tests.e2e.test_llama import arguments, values
from tests.models.backbones.folders import save_model

TEXT = "the cat sat on a mat and saw one of the places in Athens before it was there with all the others"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save_model("llama", tmp_path / "llama")


@pytest.fixture
def wikitext(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A test file with an article of 300 paragraphs, each of 45 words, below BENCH_DATA."""
    data = tmp_path / "data" / "wikitext-103"
    data.mkdir(parents=True)
    words = TEXT.split()
    lines = [" ".join(words[(at + shift) % len(words)] for shift in range(45)) for at in range(300)]
    (data / "test.txt").write_text("\n".join([" = Cats = ", *(f" {line} {at} " for at, line in enumerate(lines))]))
    monkeypatch.setenv("BENCH_DATA", str(data.parent))
    return data


def of_method(results: Path, method: str) -> tuple[float, float]:
    found = values(results, method)
    return found["forgetting/nll"], found["forgetting/kl"]


def test_training_moves_a_model_from_its_start(bench: Bench, folder: Path, wikitext: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    ended = bench(*arguments(results, folder, method="mle,histalign,mle.untrained"))
    assert ended.code == 0, ended.err
    assert len(general_text()) == ROWS
    assert {len(row.target.split()) for row in general_text()} == {40}
    untouched, zero = of_method(results, "mle.untrained")
    assert zero == pytest.approx(0.0, abs=1e-9)
    assert 0 < untouched < 10
    for method in ("mle", "histalign"):
        nll, divergence = of_method(results, method)
        assert divergence > 1e-6
        assert nll != untouched
    (table,), _ = tables(Store(results), limited=True)
    assert table.columns[-2:] == ["forgetting/nll", "forgetting/kl"]


def kinds_and_said(backbone: str | None = None) -> tuple[set[str], list[str]]:
    """The kinds of evaluation of a planned run, and what the plan says."""
    said: list[str] = []
    arguments = RunArguments(("ambiguous_template",), ("mle",), backbone=backbone, limit=8)
    (cell,) = make_plan(arguments, said.append).cells
    return {what.kind for what in cell.evaluations.values()}, said


@pytest.mark.usefixtures("sample_data")
def test_without_wikitext_nothing_is_measured_and_it_is_said(folder: Path) -> None:
    kinds, said = kinds_and_said(backbone=str(folder))
    assert kinds == {"likelihood", "probe", "spectrum"}
    assert said[-1].startswith("forgetting is not measured: WikiText-103 is not on this machine")


def test_a_model_from_scratch_has_nothing_to_forget(folder: Path, wikitext: Path) -> None:
    assert FORGETTING in kinds_and_said(backbone=str(folder))[0]
    kinds, said = kinds_and_said()
    assert kinds == {"likelihood", "probe", "spectrum"}
    assert not any("forgetting" in line for line in said)
