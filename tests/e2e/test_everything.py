"""Everything: every method runs on every task's sample, or the plan says why not."""

import json
from pathlib import Path

import pytest

from bench.models import METHODS
from bench.tasks import TASKS
from tests.conftest import Bench

TINY = ("--preset", "small", "--limit", "16", "--quiet", "--json", "--decode", "greedy+max_new_tokens=8", "--set",
        "trainer.steps=1", "backbone.width=16", "backbone.layers=1", "backbone.heads=2", "backbone.vocabulary=400",
        "trainer.batch_size=4", "evaluation.batch_size=16", "trainer.max_source=60",
        "trainer.max_target=40")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("task", sorted(TASKS))
def test_every_method_runs_or_says_why_not(bench: Bench, tmp_path: Path, task: str) -> None:
    asked = ("run", "--task", task, "--method", "all", *TINY, "--results", str(tmp_path))
    plan = json.loads(bench(*asked, "--dry-run").out)
    named = {cell["config"]["method"] for cell in plan["cells"]} | {skip["method"] for skip in plan["skips"]}
    assert named >= {name for name, entry in METHODS.items() if not entry.baseline}
    assert all(skip["reason"] for skip in plan["skips"])
    ended = bench(*asked)
    assert ended.code == 0, ended.err
    assert len(json.loads(ended.out)["ok"]) == len(plan["cells"]) >= 5
