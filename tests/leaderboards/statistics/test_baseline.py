"""leaderboards/statistics/baseline.py: which row of `mle` a row is compared with, where there are several."""

from typing import Any

import pytest

from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics.baseline import baseline_of
from bench.leaderboards.table import Table

SHORT, LONG = {"steps": 300, "batch_size": 16, "lr": 0.002}, {"steps": 1000, "batch_size": 16, "lr": 0.003}


def row(
    method: str, trainer: dict[str, Any], *, tried: int = 3, decoding: str = "topk=3", kld: float = 1.0, **more: Any
) -> TableRow:
    made = TableRow(method, "small-causal", decoding, {"trainer": trainer, **more}, tried=tried)
    made.values["kld"] = Value(dict.fromkeys(range(3), kld), False, "s")
    return made


def table(*rows: TableRow) -> Table:
    every = [row("mle", SHORT, kld=3.0), row("mle", LONG, kld=2.0), *rows]
    return Table("text", "test", 10, {}, every, ["kld"], (), "small", True, primary="kld")


@pytest.mark.parametrize(
    ("other", "place"),
    [
        (row("trime", {**SHORT, "lr": 0.1}), 0),
        (row("trime", {**LONG, "lr": 0.1}), 1),
        (row("trime", {**LONG, "batch_size": 8}), None),
        (row("trime", SHORT, tried=0), 0),
        (row("face", {"steps": 50}, start={"method": "mle", "trainer": LONG}), 1),
        (row("ul_token_seq", {"steps": 50}, start={"method": "ul_token", "trainer": {**SHORT, "lr": 0.1}}), 0),
        (row("mle.untrained", {"steps": 0}, tried=0), None),
        (row("trime", SHORT, decoding="greedy"), None),
    ],
)
def test_a_row_is_compared_with_the_one_it_is_like(other: TableRow, place: int | None) -> None:
    assert baseline_of(table(other), other) == place


def test_rows_of_the_baseline_are_not_compared_with_each_other() -> None:
    for built in (table(), table(row("mle", LONG, evaluation={"batch_size": 10}))):
        assert {baseline_of(built, each) for each in built.rows} == {None}


def test_a_baseline_with_another_output_layer_is_not_taken_for_the_default_one() -> None:
    untied = row("mle", LONG, backbone_options={"tied": False})
    other, like_it = row("f2softmax", LONG), row("trime", LONG, backbone_options={"tied": False})
    built = table(untied, other, like_it)
    assert [baseline_of(built, each) for each in built.rows] == [None, None, None, 1, 2]


def test_a_search_of_as_many_trials_comes_before_the_length() -> None:
    built = table(row("mle", SHORT, tried=0), row("trime", {**SHORT, "lr": 0.1}, tried=0))
    assert baseline_of(built, built.rows[3]) is None  # two are as long, and nothing tells which of them to choose
    tuned = row("trime", {**SHORT, "lr": 0.1}, tried=5)
    assert baseline_of(table(row("mle", LONG, tried=5), tuned), tuned) == 2
