"""Costs as columns of the page: seconds against the baseline's on the same machine, seed by seed."""

import json
from dataclasses import replace
from pathlib import Path

from bench.base.keys import canonical, sha256
from bench.leaderboards.costs import RATIO, with_costs
from bench.leaderboards.render.board import board
from bench.store.store import CellFolder, Store
from tests.leaderboards.handmade import leaderboards_of, scored, trained
from tests.leaderboards.render.test_board import fits


def timed(root: Path, method: str, seed: int, seconds: float, host: str = "one") -> CellFolder:
    """Store a cell that took some seconds on a machine."""
    cell = trained(root, method, seed, trainer__batch_size=4, trainer__precision="32-true",
                   trainer__max_source=9, trainer__max_target=9)  # fmt: skip
    path = cell.path / "trained.json"
    record = json.loads(path.read_text())
    record["content"]["train"] = {"steps": 10, "curve": []}
    record["sha256"] = sha256(canonical(record["content"]))
    record["provenance"] = {"wall_s": seconds, "host": host, "world": 1, "environment": {"threads": 1}}
    path.write_text(json.dumps(record))
    return cell


def made(root):
    leaderboards = leaderboards_of(Store(root))
    return board(replace(leaderboards, tables=[with_costs(Store(root), table) for table in leaderboards.tables]))


def test_a_ratio_is_of_cells_that_share_seed_and_machine(tmp_path):
    for method, seconds in (("mle", [10.0, 20.0]), ("trime", [15.0, 40.0])):
        for seed, taken in enumerate(seconds):
            scored(timed(tmp_path, method, seed, taken), {"bleu-1": 1.0})
    scored(timed(tmp_path, "trime", 2, 900.0, host="another"), {"bleu-1": 1.0})
    content = made(tmp_path)
    assert fits(content) == []
    (table,) = content["tables"]
    assert table["columns"][-1] == {"name": RATIO, "higher_is_better": None, "shown": True}
    values = {row["method"]: row["values"] for row in table["methods"]}
    assert values["trime"][RATIO]["by_seed"] == {"0": 1.5, "1": 2.0}
    assert (values["trime"][RATIO]["text"], values["mle"][RATIO]["text"]) == ("1.75", "1.00")
    assert values["trime"][RATIO]["fewer"] == "n=2"


def test_without_times_there_is_no_column(tmp_path):
    scored(timed(tmp_path, "mle", 0, 0.0), {"bleu-1": 1.0})
    assert [c["name"] for c in made(tmp_path)["tables"][0]["columns"]] == ["bleu-1"]
