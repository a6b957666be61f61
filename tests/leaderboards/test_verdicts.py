"""leaderboards/verdicts.py: claims of the papers on rows made by hand."""

from __future__ import annotations

import pytest

from bench.entries import expand
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.table import Table
from bench.leaderboards.verdicts import Claim, Side, claims_of, judge, names
from bench.models import METHODS
from bench.tasks import TASKS

LEFT, RIGHT, CONTROL = Side("f2softmax", "topk=3"), Side("mle", "topk=3"), Side("mle.decoupled", "decoupled:topk=3")


def table(**values: list[float]) -> Table:
    """A leaderboard with one column; values by seed."""
    rows = []
    for name, by_seed in values.items():
        side = {"left": LEFT, "right": RIGHT, "control": CONTROL}[name]
        row = TableRow(side.method, "small-causal", f"{side.decoding}+max_new_tokens=64", {})
        row.values["kld"] = Value(dict(enumerate(by_seed)), False, "s")
        rows.append(row)
    return Table("text", "test", 10, {}, rows, ["kld"], (), "small", True)


def claim(relation: str = "lower", **options: float) -> Claim:
    return Claim("a paper", "says so", "kld", LEFT, RIGHT, relation, control=CONTROL, **options)


@pytest.mark.parametrize(
    ("relation", "left", "right", "options", "expected"),
    [
        ("lower", [1.0, 2.0], [4.0, 4.0], {"floor": 2.0}, "holds"),
        ("lower", [1.0, 2.0], [4.0, 4.0], {"floor": 3.0}, "weak"),
        ("lower", [1.0, 4.5], [4.0, 4.0], {"floor": 0.0}, "fails"),
        ("higher", [5.0, 5.0], [4.0, 4.0], {}, "holds"),
        ("higher", [3.0, 3.0], [4.0, 4.0], {}, "fails"),
        ("higher", [12.0, 13.0], [4.0, 4.0], {"factor": 3.0}, "holds"),
        ("higher", [12.0, 11.0], [4.0, 4.0], {"factor": 3.0}, "weak"),
        ("near", [4.5, 3.5], [4.0, 4.0], {"within": 0.1}, "holds"),
        ("near", [4.5, 4.5], [4.0, 4.0], {"within": 0.1}, "fails"),
    ],
)
def test_verdicts(
    relation: str, left: list[float], right: list[float], options: dict[str, float], expected: str
) -> None:
    found = judge(claim(relation, **options), [table(left=left, right=right)], "text")
    assert found.holds == expected
    assert found.effect is not None


def test_a_control_that_has_most_of_the_effect_explains_it() -> None:
    rows = {"left": [1.0, 1.0], "right": [5.0, 5.0]}
    for control, share, text in (([2.0, 1.6], 0.8, "holds, explained by mle.decoupled"), ([4.0, 4.0], 0.25, "holds")):
        found = judge(claim(floor=1.0), [table(**rows, control=control)], "text")
        assert found.explained == pytest.approx(share)
        assert found.text == text


@pytest.mark.parametrize("there", [{"left": [1.0]}, {"right": [1.0]}, {}])
def test_missing_rows_are_no_verdict(there: dict[str, list[float]]) -> None:
    assert judge(claim(), [table(**there)], "text").holds == "not enough data"


def test_conflicting_cells_are_no_verdict() -> None:
    found = table(left=[1.0], right=[2.0])
    found.rows[0].values["kld"] = Value({0: 1.0}, False, "s", conflict=True)
    assert judge(claim(), [found], "text").holds == "not enough data"


def test_only_seeds_that_both_have_count() -> None:
    found = judge(claim(), [table(left=[1.0, 1.0, 9.0], right=[2.0, 2.0])], "text")
    assert found.by_seed == {0: 1.0, 1: 1.0}


@pytest.mark.parametrize("name", names())
def test_files_of_claims(name: str) -> None:
    """Every claim names rows that its own run makes, and columns that its task shows."""
    claims, run = claims_of(name)
    assert set(expand(run["methods"], METHODS, "method")) == set(run["methods"])
    decodings = {text.split("+")[0] for text in run["decode"].split(",")}
    for one in claims:
        assert one.relation in ("lower", "higher", "near")
        assert one.column in TASKS[run["task"]].columns
        for side in (one.better, one.than, *([one.control] if one.control else [])):
            assert side.method in run["methods"]
            assert side.decoding.split(":")[-1] in decodings
