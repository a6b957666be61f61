"""The tasks on news: each trains, writes and is scored on its sample, and what it shows is computed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from bench.metrics.columns import is_named
from bench.tasks import TASKS
from tests.conftest import Ended

NEWS = ("xsum", "cnndm", "gigaword", "duc2004", "nyt")


def test_each_trains_and_is_scored_in_every_column(bench: Callable[..., Ended], tmp_path: Path) -> None:
    ended = bench("run", "--task", ",".join(NEWS), "--method", "mle", "--preset", "small", "--limit", "16", "--quiet",
                  "--set", "trainer.steps=2", "backbone.width=16", "trainer.batch_size=4", "trainer.max_target=8",
                  "--results", str(tmp_path / "results"))  # fmt: skip
    assert ended.code == 0, ended.err
    for name in NEWS:
        found = [json.loads(path.read_bytes()) for path in (tmp_path / "results" / name).rglob("scores-*.json")]
        scored = {score["name"] for one in found for score in one["content"]["values"]}
        assert all(any(is_named(column, wanted) for column in scored) for wanted in TASKS[name].columns), name
