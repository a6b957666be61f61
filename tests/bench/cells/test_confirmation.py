"""Confirmation: more than 50 runs are begun only with --yes, or when somebody at a terminal says so."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.cells.outcome import Outcome
from tests.conftest import Ended
from tests.e2e import stores

Bench = Callable[..., Ended]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A run of two cells, which are many here."""
    monkeypatch.setattr("bench.cells.plan_checks.MANY", 1)
    return stores.arguments(tmp_path / "results", task="ambiguous_template", method="mle,trime")


def answer(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Have somebody at the terminal type a text."""
    monkeypatch.setattr("bench.cells.plan_checks.has_terminal", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_without_a_terminal_nothing_is_begun_and_yes_is_named(bench: Bench, asked: list[str], tmp_path: Path) -> None:
    ended = bench(*asked)
    assert ended.code == 2
    assert ended.complaints == [
        "bench: 2 runs are to be trained or evaluated, and more than 1 are begun only with --yes; --dry-run shows "
        "them and what they cost"
    ]
    assert not list((tmp_path / "results").rglob("trained.json"))
    assert bench(*asked, "--dry-run").code == 0


def test_yes_begins_them_and_what_is_stored_is_not_asked_for(bench: Bench, asked: list[str]) -> None:
    assert bench(*asked, "--yes").code == 0
    assert bench(*asked).code == 0


def test_a_terminal_asks_once(bench: Bench, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, "\n")
    ended = bench(*asked)
    assert ended.code == 2
    assert ended.err.count("[y/N]") == 1
    assert ended.err.endswith("bench: nothing was begun: the answer was not y; --yes begins 2 runs without asking\n")
    answer(monkeypatch, "y\n")
    assert bench(*asked).code == 0


def test_a_search_counts_all_that_it_tries(bench: Bench, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.cells.plan_checks.MANY", 3)
    ended = bench(*asked, "--trials", "2")
    assert ended.code == 2
    assert "runs are to be trained or evaluated, and more than 3 are begun only with --yes" in ended.err


def test_so_does_what_reproduces_a_paper(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is made; what only looks never asks."""
    monkeypatch.setattr("bench.cells.plan_checks.MANY", 0)
    monkeypatch.setattr("bench.cells.run.execute", None)
    words = ("reproduce", "histalign/table1", "--limit", "16", "--results", str(tmp_path / "results"))
    ended = bench(*words)
    assert ended.code == 2
    assert "runs are to be trained or evaluated, and more than 0 are begun only with --yes" in ended.err
    assert not (tmp_path / "results").exists()
    assert bench(*words, "--dry-run").code == 0
    begun: list[int] = []
    monkeypatch.setattr("bench.cells.run.execute", lambda plan, *_: begun.append(len(plan.cells)) or Outcome())
    bench(*words, "--yes")
    assert begun
