"""Rows of what trains nothing: one for each text it writes, whatever training stands beside it."""

from pathlib import Path

from bench.leaderboards.claim.sides import Side
from bench.leaderboards.table import tables
from bench.store.store import Store
from tests.leaderboards.handmade import scored, trained


def test_no_setting_of_a_training_parts_them_and_claims_find_them(tmp_path: Path) -> None:
    """Longer targets are another matter: a lead is cut to them."""
    changes = ({}, {"trainer__steps": 20, "backbone_options": {"width": 256}})
    for seed, others in enumerate(changes):
        scored(trained(tmp_path, "lead", seed, **others), {"bleu-1": 30.0})
        scored(trained(tmp_path, "mle", seed, **others), {"bleu-1": 30.0})
    scored(trained(tmp_path, "lead", 0, trainer__max_target=9), {"bleu-1": 31.0})
    (table,), _ = tables(Store(tmp_path))
    found = sorted((row.method, row.values["bleu-1"].mean, sorted(row.seeds)) for row in table.rows)
    assert found == [("lead", 30.0, [0, 1]), ("lead", 31.0, [0]), ("mle", 30.0, [0]), ("mle", 30.0, [1])]
    steps = {"trainer.steps": 20, "task.style": "compact"}
    assert len(Side("lead", "greedy").rows(table.rows, steps)) == 2
    assert len(Side("mle", "greedy").rows(table.rows, steps)) == 1
    assert Side("lead", "greedy").rows(table.rows, {"task.style": "other"}) == []
