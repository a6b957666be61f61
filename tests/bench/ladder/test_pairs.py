"""`bench ladder` on pairs of source and target, whose texts are scored against references."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.ladder import timing
from bench.ladder.reading import stored_ladder
from bench.store.store import Store
from tests.conftest import call, forget_data


def test_a_task_of_pairs_has_a_ladder_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_data(monkeypatch, tmp_path / "no-cache")
    monkeypatch.setattr(timing, "STEPS", 2)
    words = ("ladder", "--task", "gigaword", "--methods", "label_smoothing", "--sizes", "0.013M,0.05M", "--seeds", "2")
    words += ("--epochs", "0.1,0.1", "--results", str(tmp_path / "results"), "--quiet")
    ended = call(*words, "--set", "backbone.vocabulary=300", "trainer.batch_size=8", "evaluation.rows=12")
    assert ended.code == 0, ended.err
    found = stored_ladder(Store(tmp_path / "results"), "gigaword")
    assert [rung.name for rung in found.ladder.rungs] == ["0.013M", "0.05M"]
    for rung in found.ladder.rungs:
        for metric in ("rouge-1", "rouge-2", "rouge-l", "ppl/token"):
            assert {method: set(seeds) for method, seeds in rung.of(metric).items()} == {
                "mle": {0, 1},
                "label_smoothing": {0, 1},
            }
    assert "# Ladder of gigaword" in ended.out
    assert "rouge-l" in ended.out
    assert len(list((tmp_path / "results" / "ladder").glob("gigaword-*.forecast-0.05M.json"))) == 1
