"""`bench tradeoff`: tiny cells are trained once, write under decoders, and are compared; nothing else is trained."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.commands import tradeoff
from bench.leaderboards.quality_diversity.decoders import SETTINGS, setting_of
from bench.store.store import Store
from tests.conftest import Ended, call
from tests.leaderboards.handmade import scored, trained

Bench = Callable[..., Ended]
TINY = ("trainer.steps=2", "trainer.batch_size=4", "backbone.width=16", "backbone.layers=1", "backbone.vocabulary=300")
FEW = ("topk=3", "topk=20", "topk=100", "min_p=0.3", "min_p=0.1", "min_p=0.03")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Programs are called in this process; the list has what was called."""
    called = []

    def run_program(*words: str, output: Any) -> SimpleNamespace:
        called.append(words)
        return SimpleNamespace(returncode=call(*words[1:]).code)

    monkeypatch.setattr(tradeoff, "run_program", run_program)
    return called


def test_stored_cells_write_under_the_decoders_and_nothing_is_trained(
    bench: Bench, here: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = tmp_path / "results"
    train = ("run", "--task", "text", "--method", "mle,ul_token", "--decode", "topk=3+max_new_tokens=4", "--quiet")
    assert bench(*train, "--set", "task.eval_rows=4", *TINY, "--results", str(results)).code == 0
    monkeypatch.setattr(tradeoff, "SETTINGS", FEW)
    where = ("--results", str(results), "--seeds", "0", "--rows", "4", "--max-new-tokens", "4")
    ended = bench("tradeoff", "--run", "--json", *where, "--", "--quiet", "--set", *TINY)
    assert (ended.code, len(here)) == (0, 1)
    assert not [line for line in ended.complaints if "were trained" in line]
    (section,) = json.loads(ended.out)
    by_method = {one["method"]: one for one in section["objectives"]}
    assert by_method["ul_token"]["why"] == ""
    assert by_method["ul_token"]["shares"][0]["column"] == "self-bleu-2"
    assert set(section["missing"]) == set(SETTINGS) - set(FEW)
    decodings = {scores["of"]["decoding"]["name"] for cell in Store(results).cells() for scores in cell.all_scores()
                 if scores["family"] == "sample_perplexity"}  # fmt: skip
    assert {setting_of(name) for name in decodings} == set(FEW)
    again = bench("tradeoff", "--results", str(results))
    assert again.code == 0
    assert "| ul_token | mle | sample-ppl | self-bleu-2 | " in again.out


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A store with one objective and its baseline, and another objective without its own."""
    for method in ("mle", "ul_token", "face"):
        scored(trained(tmp_path, method, task="text"), {"self-bleu-2": 1.0})
    return tmp_path


def test_a_dry_run_says_the_command_and_the_hours_and_does_nothing(bench: Bench, here: list[Any], stored: Path) -> None:
    ended = bench("tradeoff", "--run", "--dry-run", "--results", str(stored), "--", "--trials", "3", "--jobs", "2")
    assert (ended.code, ended.out, here) == (0, "", [])
    hours, command = ended.complaints
    assert hours.startswith("bench: 6 cells, 24 settings, 200 texts: about ")
    assert "--method mle,ul_token --seeds 0,1,2 --decode sample+temperature=0.5+max_new_tokens=64," in command
    assert command.endswith("--yes --trials 3 --jobs 2")


def test_a_method_whose_own_distribution_lacks_a_cut_writes_by_its_whole_one(
    bench: Bench, here: list[Any], stored: Path
) -> None:
    scored(trained(stored, "f2softmax", task="text"), {"self-bleu-2": 1.0})
    hours, *commands = bench("tradeoff", "--run", "--dry-run", "--results", str(stored)).complaints
    assert hours.startswith("bench: 9 cells, 24 settings")
    assert [line.split("--method ")[1].split()[0] for line in commands] == ["mle,ul_token", "f2softmax"]
    typed = [line.split("--decode ")[1].split()[0].split(",") for line in commands]
    assert [setting_of(name) for name in typed[1]] == [setting_of(name) for name in typed[0]] == list(SETTINGS)
    assert not [name for name in typed[0] if name.startswith("posterior:")]
    whole = {setting_of(name) for name in typed[1] if name.startswith("posterior:")}
    assert {"min_p=0.1", "typical=0.5", "eta=0.0009", "contrastive_search=4"} <= whole
    assert not whole & {"topk=3", "nucleus=0.8"}


def test_cells_that_were_trained_by_mistake_are_told(
    bench: Bench, stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trains(*words: str, output: Any) -> SimpleNamespace:
        trained(stored, "mle", seed=1, task="text")
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(tradeoff, "run_program", trains)
    ended = bench("tradeoff", "--run", "--results", str(stored))
    assert "bench: 1 cells were trained: type the options of the run that made the store behind --" in ended.complaints


def test_many_cells_are_begun_only_with_yes(bench: Bench, stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[tuple[str, ...]] = []

    def runs(*words: str, output: Any) -> SimpleNamespace:
        begun.append(words)
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(tradeoff, "run_program", runs)
    monkeypatch.setattr("bench.cells.plan_checks.MANY", 5)
    refused = bench("tradeoff", "--run", "--results", str(stored))
    assert (refused.code, begun) == (2, [])
    assert "6 cells are to be trained or evaluated, and more than 5 are begun only with --yes" in refused.err
    assert bench("tradeoff", "--run", "--yes", "--results", str(stored)).code == 0
    assert begun


def test_a_store_without_an_objective_and_its_baseline_is_refused(bench: Bench, tmp_path: Path) -> None:
    trained(tmp_path, "mle", task="text")
    ended = bench("tradeoff", "--run", "--results", str(tmp_path))
    assert ended.code != 0
    assert "no objective of text that a decoder might replace" in ended.err


@pytest.mark.parametrize("more", [("--dry-run",), ("--", "--jobs", "2")])
def test_what_is_for_a_run_is_refused_without_one(bench: Bench, tmp_path: Path, more: tuple[str, ...]) -> None:
    ended = bench("tradeoff", "--results", str(tmp_path), *more)
    assert ended.code == 2
    assert "are for --run" in ended.err
