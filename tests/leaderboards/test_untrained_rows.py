"""Rows of what has no model: one for each text it writes, whatever its run trains."""

from pathlib import Path

from bench.leaderboards.table import tables
from bench.store.store import Store
from tests.leaderboards.handmade import scored, trained

OTHERS = {"trainer__steps": 20, "backbone": "bilstm", "backbone_options": {"width": 256}}


def test_no_setting_of_a_training_parts_them(tmp_path: Path) -> None:
    """`bigram` is a baseline too, but counts what is read in its steps."""
    for seed, changes in enumerate(({}, OTHERS)):
        scored(trained(tmp_path, "lead", seed, with_model=False, **changes), {"bleu-1": 30.0})
        for method in ("mle", "bigram"):
            scored(trained(tmp_path, method, seed, **changes), {"bleu-1": 30.0 + seed})
    scored(trained(tmp_path, "lead", 0, with_model=False, task_options={"style": "other"}), {"bleu-1": 31.0})
    (table,), _ = tables(Store(tmp_path))
    found = sorted((row.method, row.values["bleu-1"].mean, sorted(row.seeds)) for row in table.rows)
    assert found == [
        ("bigram", 30.0, [0]),
        ("bigram", 31.0, [1]),
        ("lead", 30.0, [0, 1]),
        ("lead", 31.0, [0]),
        ("mle", 30.0, [0]),
        ("mle", 31.0, [1]),
    ]
