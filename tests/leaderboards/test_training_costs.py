"""Costs as columns of the page: seconds against the baseline's on the same machine, seed by seed."""

import pytest

from bench.leaderboards.render.board import board
from bench.leaderboards.render.extras import extras_of
from bench.leaderboards.training_costs import RATIO, SECONDS
from bench.store.store import Store
from tests.leaderboards.handmade import leaderboards_of, scored
from tests.leaderboards.published.test_costs import timed
from tests.leaderboards.render.test_board import fits


def made(root):
    leaderboards = leaderboards_of(Store(root))
    return board(leaderboards, extras_of(Store(root), leaderboards.tables))


def test_a_ratio_is_of_cells_that_share_seed_and_machine(tmp_path):
    for method, seconds in (("mle", [10.0, 20.0]), ("trime", [15.0, 40.0])):
        for seed, taken in enumerate(seconds):
            scored(timed(tmp_path, method, seed, taken), {"bleu-1": 1.0})
    scored(timed(tmp_path, "trime", 2, 900.0, host="another"), {"bleu-1": 1.0})
    content = made(tmp_path)
    assert fits(content) == []
    (table,) = content["tables"]
    assert [(c["name"], c["shown"]) for c in table["columns"][-2:]] == [(RATIO, True), (SECONDS, False)]
    values = {row["method"]: row["values"] for row in table["methods"]}
    assert values["trime"][RATIO]["by_seed"] == {"0": 1.5, "1": 2.0}
    assert (values["trime"][RATIO]["text"], values["mle"][RATIO]["text"]) == ("1.75", "1.00")
    assert values["trime"][RATIO]["fewer"] == "n=2"
    assert values["trime"][SECONDS]["mean"] == pytest.approx(955 / 3)


def test_without_times_there_is_no_column(tmp_path):
    scored(timed(tmp_path, "mle", 0, 0.0), {"bleu-1": 1.0})
    assert [c["name"] for c in made(tmp_path)["tables"][0]["columns"]] == ["bleu-1"]
