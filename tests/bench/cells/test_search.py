"""`--trials`: what is typed, what is tried, which combination is picked, and what is recorded of it."""

import json
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from bench.cells.search import Search, learning_rates, read_trials, tied
from bench.errors import UsageError
from bench.leaderboards.statistics.constants import TIE
from bench.store.store import CellFolder, Store
from tests.conftest import TINY, Bench, penalised_method

# What is typed ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["3"], Search(number=3)),
        (["mle=2", "steps=0.5"], Search(of_method={"mle": 2}, steps=Fraction(1, 2))),
        (["3,histalign=18,mle=18", "rows=7", "steps=1/3"],
         Search(number=3, of_method={"histalign": 18, "mle": 18}, steps=Fraction(1, 3), rows=7)),
        (["optim.lr=1e-5", "method.orders=2,x"], Search(axes={"optim.lr": (1e-5,), "method.orders": (2, "x")})),
    ],
)  # fmt: skip
def test_trials_as_typed(words: list[str], expected: Search) -> None:
    assert read_trials(words) == expected


@pytest.mark.parametrize(
    "words",
    [["0"], ["mle"], ["2,3"], ["mle=2,mle=3"], ["3", "steps=0"], ["3", "steps=4/3"], ["3", "steps=1/0"],
     ["3", "rows=few"], ["3", "rows=0"], ["optim.lr=1e-3,0.001"], ["optim.lr="], ["optim.lr=1", "optim.lr=2"],
     ["3", "optim.lr=1e-3"], []],
)  # fmt: skip
def test_trials_typed_wrongly(words: list[str]) -> None:
    with pytest.raises(UsageError, match=re.escape(f"rows=N, at least 1; not '{' '.join(words)}'")):
        read_trials(words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mel=2"], "did you mean 'mle'"),
        (["3", "step=1/3"], "did you mean 'steps'"),
        (["execution.state_every=1,2"], "'execution.state_every' changes none: give it to --set"),
        (["3", "steps=1/3", "by=rouge-1"], "by=rouge-1 compares whole trainings"),
        (["backbone.vocabulary=258,300"], "likelihoods of different tokens: add by=ppl/byte"),
        (["evaluation.rows=4,8"], r"--trials sets evaluation\.rows for all trials alike"),
        (["trainer.steps=1,40", "steps=1/2"], r"--trials sets trainer\.steps for all trials alike"),
    ],
)
def test_trials_with_a_name_that_does_not_fit(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_trials(words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["2", "by=acc@2/cahce"], "did you mean 'acc@2/cache'"),
        (["2", "by=rank/float64"], "of which more or less is better"),
        (["method.alpha=1,2"], "no method in this run has the option 'alpha'"),
        (["optim.lr=1,-1"], "trainer.lr must be at least 0, not -1"),
    ],
)
def test_what_cannot_be_tried_is_refused_before_anything_is_trained(
    bench: Bench, tmp_path: Path, words: list[str], message: str
) -> None:
    ended = bench(*TINY, "--trials", *words, "--results", str(tmp_path))
    assert (ended.code, message in ended.err) == (2, True), ended.err
    assert list(tmp_path.iterdir()) == []


# What is tried ------------------------------------------------------------------------------------------------------


def test_rates_are_a_sequence_of_the_method() -> None:
    few, many = learning_rates("mle", 1e-3, 3), learning_rates("mle", 1e-3, 8)
    assert many[:3] == few == [0.000978, 0.00131, 0.00283], "a search of more trials begins with those of fewer"
    assert learning_rates("face", 1e-3, 3) != few
    assert learning_rates("mle", 1e-2, 3) == pytest.approx([10 * rate for rate in few], rel=1e-2)
    eighths = sorted(int(8 * (math.log(rate / 1e-3, 16) + 0.5)) for rate in many)
    assert eighths == list(range(8)), "every eighth of the range, a quarter to four times the rate, is tried once"


# What is picked -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("losses", "places"),
    [
        ([], []),
        ([None, 5.0], []),
        ([5.0 + 1.1 * TIE, 5.0], []),
        ([5.0 + TIE / 2, None, 5.0], [0, 2]),
        ([5.0, 5.0], []),  # a setting that changes nothing
        ([5.0, 5.0, 5.0 + TIE / 2], [0, 2]),
        ([5.003, 5.002, 5.001, 5.0], [1, 2, 3]),
    ],
)
def test_what_ties(losses: list[float | None], places: list[int]) -> None:
    assert tied(losses) == places


# Whole searches -----------------------------------------------------------------------------------------------------


def picked(results: Path) -> dict[tuple[str, int], tuple[CellFolder, dict[str, Any], dict[str, Any]]]:
    """The runs that were picked, by method and seed: folder, record, and what is stored of the search."""
    found = {}
    for cell in Store(results).cells():
        record = cell.trained()
        if record is not None and cell.contents("grid-*.json"):
            (grid,) = cell.contents("grid-*.json")
            found[record["config"]["method"], record["config"]["seed"]] = (cell, record, dict(grid))
    return found


def rates_on(results: Path, split: str) -> dict[str, list[float]]:
    """Learning rates of the runs with predictions of a split, by method."""
    found: dict[str, list[float]] = {}
    for cell in Store(results).cells():
        record = cell.trained()
        if record is not None and any(rows.content["split"] == split for rows in cell.all_rows()):
            found.setdefault(record["config"]["method"], []).append(record["config"]["trainer"]["lr"])
    return {method: sorted(rates) for method, rates in found.items()}


def files(results: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}


def test_the_lowest_likelihood_is_picked_and_the_test_split_is_read_once(bench: Bench, tmp_path: Path) -> None:
    results = tmp_path / "results"
    command = (*TINY, "--trials", "optim.lr=1e-5,1e-1,1e-3", "--results", str(results), "--set",
               "ambiguous_template:evaluation.split=test")  # fmt: skip
    dry = bench(*command, "--dry-run", "--json")
    assert (dry.code, results.exists()) == (0, False)
    assert len(json.loads(dry.out)["cells"]) == 3, "one of them is the setting without a search, planned as picked"
    assert bench(*command).code == 0
    held = {}
    for cell in Store(results).cells():
        (rows,) = (rows for rows in cell.all_rows() if rows.content["split"] == "valid")
        held[cell.path.name] = sum(row["nll_sum"] for row in rows.rows) / sum(row["n_tokens"] for row in rows.rows)
    ((cell, record, grid),) = picked(results).values()
    assert cell.path.name == grid["picked"] == min(held, key=held.__getitem__)
    assert (grid["space"], "column" in grid) == ({"optim.lr": [1e-5, 0.1, 1e-3]}, False)
    assert {one["keys"]["0"]: one["nll"] for one in grid["tried"]} == pytest.approx(held)
    assert rates_on(results, "test") == {"mle": [record["config"]["trainer"]["lr"]]}
    before = files(results)
    assert bench(*command).code == 0
    assert files(results) == before


def test_a_rate_that_diverges_is_not_picked_and_is_no_failure(bench: Bench, tmp_path: Path) -> None:
    assert bench(*TINY, "--trials", "trainer.lr=1e-3,1e30", "--results", str(tmp_path)).code == 0
    ((_, record, grid),) = picked(tmp_path).values()
    assert record["config"]["trainer"]["lr"] == 1e-3
    assert [one["nll"] is None for one in grid["tried"]] == [False, True]
    assert bench(*TINY, "--trials", "trainer.lr=1e29,1e30", "--results", str(tmp_path)).code == 1, "no number at all"


def test_an_option_of_a_method_is_picked_by_a_column_of_texts(bench: Bench, tmp_path: Path) -> None:
    """One choice for all seeds; a method without the option has nothing to try."""
    results = tmp_path / "results"
    command = ["run", "--task", "logicnlg", "--method", "mle,label_smoothing", "--limit", "16", "--quiet",
               "--seeds", "0,1", "--trials", "method.eps=0.01,0.9", "by=bleu-1", "rows=8", "--results", str(results),
               "--set", "trainer.steps=2", "backbone.width=16", "trainer.batch_size=4"]  # fmt: skip
    ended = bench(*command)
    assert ended.code == 0, ended.err
    assert "method.eps picked from 2 combinations by validation bleu-1: label_smoothing" in ended.out
    found = picked(results)
    assert sorted(found) == [("label_smoothing", 0), ("label_smoothing", 1)]
    for _, record, grid in found.values():
        assert (grid["column"], grid["rows"], grid["space"]) == ("bleu-1", 8, {"method.eps": [0.01, 0.9]})
        best_of = max(grid["tried"], key=lambda one: one["bleu-1"])
        assert best_of["sets"] == [f"label_smoothing:method.eps={record['config']['method_options']['eps']}"]
        for one in grid["tried"]:
            ((seed, key),) = one["keys"].items()
            values = [
                value["value"]
                for score in Store(results).cell("logicnlg", "label_smoothing", key).all_scores()
                if score["of"]["split"] == "valid"
                for value in score["values"]
                if value["name"] == "bleu-1"
            ]
            assert (seed, [one["bleu-1"]]) == ("0", values)


def test_a_rate_is_picked_by_likelihood_and_not_by_a_loss_with_a_penalty(bench: Bench, tmp_path: Path) -> None:
    """The highest rate has the lowest loss and the lowest likelihood."""
    results, method = tmp_path / "results", penalised_method(tmp_path)
    ended = bench(*TINY, "--method", method, "--trials", "3", "--set", "trainer.steps=6", "--results", str(results))
    assert ended.code == 0, ended.err
    assert "trainer.lr picked from 3 combinations by validation NLL: mle, penalised" in ended.out
    _, record, grid = picked(results)["penalised", 0]
    nlls = {float(one["sets"][0].rpartition("=")[2]): one["nll"] for one in grid["tried"]}
    assert record["config"]["trainer"]["lr"] == min(nlls, key=nlls.__getitem__) == min(nlls)
    assert record["config"]["method_options"]["weight"] == 2.0


def test_a_search_of_two_methods_and_a_child(bench: Bench, tmp_path: Path) -> None:
    results = tmp_path / "results"
    command = [*TINY, "--method", "face,mle.continued", "--trials", "2,mle=3", "steps=1/2", "rows=8",
               "--seeds", "0,1", "--results", str(results)]  # fmt: skip
    ended = bench(*command)
    assert ended.code == 0, ended.err
    tried, tested = rates_on(results, "valid"), rates_on(results, "test")
    assert {method: len(rates) for method, rates in tried.items()} == {"mle": 3, "face": 2, "mle.continued": 2}
    assert {method: len(rates) for method, rates in tested.items()} == {"mle": 2, "face": 2, "mle.continued": 2}
    found = picked(results)
    assert sorted(found) == [(method, seed) for method in ("face", "mle", "mle.continued") for seed in (0, 1)]
    for (method, _), (_, record, grid) in found.items():
        assert grid["trials"] == len(grid["tried"]) == len(tried[method])
        assert (grid["steps"], grid["rows"], list(grid["space"])) == ("1/2", 8, ["optim.lr"])
        best = min(grid["tried"], key=lambda one: one["nll"])
        assert best["sets"] == [f"{method}:optim.lr={record['config']['trainer']['lr']}"]
        assert (record["config"]["trainer"]["steps"], record["key"]) == (2, grid["picked"])
        for one in grid["tried"]:
            (key,) = one["keys"].values()
            trial = Store(results).cell("ambiguous_template", method, key).trained() or {}
            assert (trial["config"]["trainer"]["steps"], trial["config"]["seed"]) == (1, 0)
            assert trial["config"]["evaluation"]["rows"] == 8
    parent, child = found["mle", 1][1], found["mle.continued", 1][1]
    assert child["start"]["config"]["trainer"]["lr"] == parent["config"]["trainer"]["lr"], "the parent is tuned first"
    assert "picked from 3 combinations by validation NLL" in ended.out
    before = files(results)
    assert bench(*command).code == 0
    assert files(results) == before


def test_every_method_tries_the_same_rates_where_these_are_typed(bench: Bench, tmp_path: Path) -> None:
    """With a few random rates each, a difference between methods may be that of the rates they drew.

    A control that nothing is trained for reads the run that was picked.
    """
    results, methods = tmp_path / "results", "mle,trime,mle.penalty"
    ended = bench(*TINY, "--method", methods, "--trials", "optim.lr=1e-3,0.02", "steps=1/2", "--results", str(results))
    assert ended.code == 0, ended.err
    tried = rates_on(results, "valid")
    assert (tried["mle"], tried["trime"]) == ([1e-3, 0.02], [1e-3, 0.02])
    found = picked(results)
    for _, _, grid in found.values():
        assert (grid["trials"], grid["space"]) == (2, {"optim.lr": [1e-3, 0.02]})
    (control,) = (cell.trained() for cell in Store(results).cells() if cell.path.parts[-2] == "mle.penalty")
    assert (control or {})["start"]["key"] == found["mle", 0][2]["picked"]
