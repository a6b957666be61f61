"""bench/ladder/wholeness.py: what is whole, what diverged and what lacks seeds, of several ladders in one store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from bench.base.files import write_atomic
from bench.ladder.stored_cells import SEARCH, StoredCells
from bench.ladder.wholeness import Expected, expected, found_on, seen
from bench.leaderboards.row import TableRow
from bench.leaderboards.table import Table

SHAPE = (64, 2)
BELOW = (32, 1)
TABLE = Table("text", "test", 8, {}, [], [], [], "small", True, [], {}, "")


def config_of(method: str, seed: int, shape: tuple[int, int]) -> dict[str, object]:
    """The configuration of a cell, as far as it is looked at."""
    options = {"width": shape[0], "layers": shape[1]}
    return {"method": method, "seed": seed, "backbone": "small-causal", "backbone_options": options}


class Board:
    """Cells that are added one by one."""

    def __init__(self) -> None:
        self.cells = StoredCells(TABLE, {SHAPE: {}, BELOW: {}}, set(), {})

    def train(self, method: str, seed: int, status: str = "ok", shape: tuple[int, int] = SHAPE) -> str:
        """Add a training that nothing has picked; return its key."""
        key = f"key {len(self.cells.records)}"
        record = {"key": key, "status": status, "config": config_of(method, seed, shape)}
        self.cells = replace(self.cells, records={**self.cells.records, key: record})
        return key

    def pick(
        self, method: str, seeds: Iterable[int], diverged: int = 0, trained: str = "", shape: tuple[int, int] = SHAPE
    ) -> None:
        """Add the row of a method that a ladder has picked."""
        keys = {self.train(trained or method, seed, shape=shape) for seed in seeds}
        row = TableRow(method, "small-causal", "", config_of(method, 0, shape), diverged=diverged, keys=keys)
        rows = {**self.cells.rows, shape: {**self.cells.rows[shape], method: row}}
        self.cells = replace(self.cells, rows=rows, picked={*self.cells.picked, *keys})


@pytest.fixture
def board() -> Board:
    """A rung with the baseline on three seeds."""
    made = Board()
    made.pick("mle", range(3))
    return made


def ladder_of(*methods: str, seeds: int = 3) -> Expected:
    """What a ladder of the baseline and some methods runs."""
    return Expected(("mle", *methods), frozenset(range(seeds)))


def test_a_diverged_trial_does_not_excuse_a_lost_seed(board: Board) -> None:
    board.pick("trime", range(2))
    board.train("trime", 0, "diverged")  # at the rate that was not picked
    for ladder in (ladder_of("trime"), seen(board.cells, SHAPE)):
        found = found_on(board.cells, SHAPE, [ladder])
        assert (found.lacking, found.diverged) == (["trime"], [])


def test_what_was_picked_and_diverged_is_gone(board: Board) -> None:
    board.pick("trime", range(2), diverged=1)
    found = found_on(board.cells, SHAPE, [seen(board.cells, SHAPE)])
    assert (found.lacking, found.diverged, list(found.seeds)) == ([], ["trime"], ["mle"])


def test_a_method_whose_trials_all_diverged_is_gone_and_so_is_a_control_that_reads_it(board: Board) -> None:
    for method in ("f2softmax", "f2softmax.posterior"):
        board.pick(method, range(3), trained="f2softmax", shape=BELOW)
    board.train("f2softmax", 0, "diverged")
    board.train("f2softmax", 0, "diverged")
    found = found_on(board.cells, SHAPE, [seen(board.cells, SHAPE)])
    assert (found.diverged, found.lacking) == (["f2softmax", "f2softmax.posterior"], [])
    board.train("f2softmax", 0)
    found = found_on(board.cells, SHAPE, [seen(board.cells, SHAPE)])
    assert (found.diverged, found.lacking) == ([], ["f2softmax", "f2softmax.posterior"])


def test_ladders_that_share_a_rung_do_not_ask_for_each_others_methods_and_seeds(board: Board) -> None:
    board.pick("trime", range(2))
    board.pick("face", range(3))
    ladders = [ladder_of("trime", seeds=2), ladder_of("face", seeds=3)]
    found = found_on(board.cells, SHAPE, ladders)
    assert found.lacking == []
    assert {method: set(seeds) for method, seeds in found.seeds.items()} == {
        "face": {0, 1, 2},
        "mle": {0, 1, 2},
        "trime": {0, 1},
    }
    begun = ladder_of("emo", "gem")
    assert found_on(board.cells, SHAPE, [*ladders, begun]) == found
    assert found_on(board.cells, SHAPE, [begun]).lacking == ["emo", "gem"]


def test_a_method_of_another_rung_alone_is_not_missed(board: Board) -> None:
    board.pick("trime", range(3), shape=BELOW)
    assert seen(board.cells, SHAPE).methods == ("mle",)


def test_seeds_that_no_ladder_picked_are_none_of_its_own(board: Board) -> None:
    board.pick("trime", range(3))
    row = board.cells.rows[SHAPE]["trime"]
    row.keys.add(board.train("trime", 3))
    assert board.cells.seeds(SHAPE, "trime") == {0, 1, 2}


def test_a_plan_of_an_earlier_version_says_methods_and_no_seeds(board: Board, tmp_path: Path) -> None:
    rung = '{"size": {"name": "0.1M", "width": 64, "layers": 2}, "steps": 1, "finetuned_steps": 0, "rows": 1, '
    rung += '"batch_size": 1, "scale": 1.0}'
    plan = f'{{"rungs": [{rung}], "timings": {{}}, "hours": {{}}, "methods": ["mle", "trime"], "left_out": {{}}'
    write_atomic(tmp_path / "ladder" / "text-1.plan.json", (plan + "}").encode())
    write_atomic(tmp_path / "ladder" / "text-2.plan.json", (plan + ', "seeds": [0, 1]}').encode())
    write_atomic(tmp_path / "ladder" / "other-text-3.plan.json", (plan + ', "seeds": [7]}').encode())
    found = expected(tmp_path, "text", board.cells, SHAPE)
    assert found == [ladder_of("trime", seeds=3), ladder_of("trime", seeds=2)]
    assert expected(tmp_path, "text", board.cells, BELOW) == [seen(board.cells, BELOW)]


def test_the_mark_of_a_ladders_search_is_the_one_it_records() -> None:
    from bench.config.resolve import cell_config, find_method
    from bench.ladder.rates import Rates
    from bench.tasks.text import Text

    method = find_method("mle")
    assert SEARCH in Rates().content(method, cell_config(Text, method, None, 0, "small", [], None, None))
