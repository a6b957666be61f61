"""leaderboards/claim/evidence.py: every relation and estimand, on rows and stores made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.leaderboards.claim.claim_files import HUMAN, Claim, Compared, Corrected, RegressionCheck
from bench.leaderboards.claim.evidence import Evidence, corrected_claim, gather
from bench.leaderboards.claim.sides import Side
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.table import Table, tables
from bench.metrics.sums import Sums, mean
from bench.store.store import Store
from tests.leaderboards.handmade import scored, trained

LEFT, RIGHT, CONTROL = Side("f2softmax", "topk=3"), Side("mle", "topk=3"), Side("mle.decoupled", "decoupled:topk=3")
RIGHTED = Side("trime", "topk=3")
SIDES = {"left": LEFT, "right": RIGHT, "control": CONTROL, "righted": RIGHTED}


class Held:
    """Sums that are there already, in place of those of a store."""

    def __init__(self, right: float) -> None:
        self.sums = Sums(mean(), [[float(i < right), 1] for i in range(100)])

    def load(self) -> Sums:
        return self.sums


def table(items: Mapping[str, list[float]] | None = None, preset: str = "small", **values: list[float]) -> Table:
    """A leaderboard with one column; values by seed."""
    rows = []
    for name, by_seed in values.items():
        side = SIDES[name]
        config = {"trainer": {"steps": 300}, "backbone_options": {"width": 8}}
        row = TableRow(side.method, "small-causal", f"{side.decoding}+max_new_tokens=64", config)
        held: Any = {seed: Held(right) for seed, right in enumerate((items or {}).get(name, []))}
        row.values["kld"] = Value(dict(enumerate(by_seed)), False, "s", sums=held)
        rows.append(row)
    return Table("text", "test", 10, {}, rows, ["kld"], (), preset, True)


def claim(relation: str = "lower", **options: Any) -> Claim:
    return Claim("a table", "says so", "kld", relation, LEFT, RIGHT, **{"quote": "q", "published": 1.0, **options})


def gathered(one: Compared, *built: Table, where: Mapping[str, Any] | None = None) -> Evidence:
    return gather(one, built, where or {})


@pytest.mark.parametrize(
    ("relation", "left", "right", "effects"),
    [
        ("lower", [1.0, 2.0], [4.0, 4.0], [3.0, 2.0]),
        ("lower", [1.0, 4.5], [4.0, 4.0], [3.0, -0.5]),
        ("lower", [4.0, 1.0], [4.0, 4.0], [0.0, 3.0]),
        ("higher", [5.0, 5.0], [4.0, 4.0], [1.0, 1.0]),
        ("higher", [3.0, 3.0], [4.0, 4.0], [-1.0, -1.0]),
        ("near", [4.5, 3.5], [4.0, 4.0], [0.5, -0.5]),
    ],
)
def test_a_row_against_another_is_positive_in_the_claimed_direction(
    relation: str, left: list[float], right: list[float], effects: list[float]
) -> None:
    options = {"smallest": 0.1, "smallest_why": "ours"} if relation == "near" else {}
    found = gathered(claim(relation, **options), table(left=left, right=right))
    assert found.by_seed == dict(enumerate(effects))
    assert found.effect == pytest.approx(sum(effects) / 2)
    assert found.why == ""


@pytest.mark.parametrize(
    ("relation", "left", "bound", "effects"),
    [
        ("above", [9.5, 10.0], "backbone.width + 1", [0.5, 1.0]),
        ("above", [9.0, 10.0], "backbone.width + 1", [0.0, 1.0]),
        ("below", [9.0, 8.0], "backbone.width + 1", [0.0, 1.0]),
        ("below", [9.1, 8.0], "backbone.width + 1", [-0.1, 1.0]),
        ("below", [6.0, 7.0], "backbone.width - 1", [1.0, 0.0]),
        ("below", [0.5], 1.0, [0.5]),
        ("above", [0.5], 1.0, [-0.5]),
        ("above", [9.0], "backbone.depth", []),
    ],
)
def test_a_row_against_a_number_or_a_setting(
    relation: str, left: list[float], bound: float | str, effects: list[float]
) -> None:
    one = RegressionCheck("a table", "says so", "kld", relation, LEFT, bound=bound)
    found = gathered(one, table(left=left))
    assert found.by_seed == pytest.approx(dict(enumerate(effects)))
    assert bool(found.why) == (not effects)


def human(value: float, **values: list[float]) -> Table:
    """A leaderboard with what people wrote."""
    row = TableRow("human", "", "", {})
    row.values["kld"] = Value({0: value}, False, "s")
    return replace(table(**values), human=[row])


def test_a_ratio_is_the_logarithm_of_ours_over_theirs() -> None:
    found = gathered(claim(estimand="ratio"), table(left=[1.0, 2.0, 0.0], right=[4.0, 1.0, 4.0]))
    assert found.by_seed == {0: pytest.approx(1.3863, abs=1e-4), 1: pytest.approx(-0.6931, abs=1e-4)}  # 0 has none


def test_a_share_is_of_the_gap_to_what_people_wrote() -> None:
    one = claim(estimand="share")
    found = gathered(one, human(2.0, left=[3.0, 1.5, 0.0], right=[6.0, 6.0, 2.0]))
    assert found.by_seed == {0: 0.75, 1: 0.875}  # a baseline without a gap has no share
    assert "no row of what people wrote" in gathered(one, table(left=[3.0], right=[6.0])).why


def test_a_row_against_what_people_wrote() -> None:
    one = Claim("t", "s", "kld", "above", LEFT, bound=HUMAN, quote="q", published=1.5, estimand="ratio")
    assert gathered(one, human(2.0, left=[4.0])).by_seed == {0: pytest.approx(0.6931, abs=1e-4)}
    assert "no row of what people wrote" in gathered(one, table(left=[4.0])).why


def test_the_other_rows_of_a_column_are_contrasts_with_the_same_row() -> None:
    built = table(left=[1.0, 1.0], right=[5.0, 6.0], control=[2.0, 2.0], righted=[4.0, 4.0])
    found = gathered(claim(), built)
    assert found.column == [{0: 3.0, 1: 4.0}, {0: 1.0, 1: 2.0}]
    built.rows[2].backbone = "another"
    built.rows[3].values["kld"] = built.rows[0].values["kld"]  # a value that is spread over decodings counts once
    assert gathered(claim(), built).column == []


def test_a_control_has_an_effect_of_its_own() -> None:
    one = claim(controls=(CONTROL, Side("face", "topk=3")))
    found = gathered(one, table(left=[1.0, 1.0], right=[5.0, 5.0], control=[2.0, 2.5]))
    assert found.controls == {CONTROL.label: {0: 3.0, 1: 2.5}}


def test_a_corrected_claim_is_the_same_on_other_rows() -> None:
    fixed = corrected_claim(claim(corrected=Corrected("masked labels", than=RIGHTED), controls=(CONTROL,)))
    assert fixed is not None
    assert (fixed.better, fixed.than, fixed.corrected, fixed.controls) == (LEFT, RIGHTED, None, ())
    assert corrected_claim(claim()) is None


@pytest.mark.parametrize(
    ("items", "p"),
    [
        ({"left": [90, 90], "right": [30, 30]}, "small"),
        ({"left": [51, 50], "right": [50, 50]}, "large"),
        ({"left": [90, 90], "right": [30]}, "none"),  # a seed without items is no test
        ({}, "none"),
    ],
)
def test_there_is_a_test_over_items_where_all_seeds_have_items(items: dict[str, list[float]], p: str) -> None:
    found = gathered(claim("higher"), table(items, left=[90.0, 90.0], right=[30.0, 30.0]))
    assert (found.item_variance > 0) == (p == "small")
    assert found.items == (0 if p == "none" else 100)
    if p == "none":
        assert found.test is None
    else:
        assert found.test is not None
        assert (found.test.p <= 0.05) == (p == "small")


@pytest.mark.parametrize("there", [{"left": [1.0]}, {"right": [1.0]}, {}, {"left": [1.0], "right": []}])
def test_missing_rows_are_no_evidence(there: dict[str, list[float]]) -> None:
    found = gathered(claim(), table(**there))
    assert found.effect is None
    assert found.why


def test_conflicting_cells_are_no_evidence() -> None:
    found = table(left=[1.0], right=[2.0])
    found.rows[0].values["kld"] = Value({0: 1.0}, False, "s", conflict=True)
    assert gathered(claim(), found).effect is None


def test_only_seeds_that_both_have_count() -> None:
    assert gathered(claim(), table(left=[1.0, 1.0, 9.0], right=[2.0, 2.0])).by_seed == {0: 1.0, 1: 1.0}


def test_settings_tell_rows_of_one_method_apart() -> None:
    found = table(left=[1.0], right=[2.0])
    longer = replace(found.rows[1], config={"trainer": {"steps": 1000}}, values={"kld": Value({0: 0.5}, False, "s")})
    found.rows.append(longer)
    assert "2 rows of mle" in gathered(claim(), found).why
    assert gathered(claim(), found, where={"trainer.steps": 300}).effect == 1.0
    other = replace(claim(), than=replace(RIGHT, where={"trainer.steps": 1000}))
    effect = gathered(other, found, where={"trainer.steps": 300}).effect
    assert effect == -0.5  # a side's own settings go first


def sweep(method: str, points: Mapping[int, list[tuple[float, float]]]) -> list[TableRow]:
    """Rows of a sweep: for each k and seed, Self-BLEU-2 and KLD."""
    rows = []
    for place in range(len(next(iter(points.values())))):
        row = TableRow(method, "", f"topk={place + 1}+max_new_tokens=64", {})
        for name, axis in (("self-bleu-2", 0), ("kld", 1)):
            row.values[name] = Value({seed: found[place][axis] for seed, found in points.items()}, False, "s")
        rows.append(row)
    return rows


@pytest.mark.parametrize(
    ("theirs", "effect"),
    [
        ([(80.0, 4.0), (90.0, 4.0)], 1.0),
        ([(80.0, 2.0), (90.0, 2.0)], -1.0),
        ([(60.0, 9.0), (70.0, 9.0)], None),
    ],
)
def test_two_sweeps_at_equal_diversity(theirs: list[tuple[float, float]], effect: float | None) -> None:
    rows = [*sweep("f2softmax", {0: [(75.0, 3.0), (95.0, 3.0)]}), *sweep("mle", {0: theirs})]
    wide = replace(LEFT, decoding="topk=*"), replace(RIGHT, decoding="topk=*")
    one = RegressionCheck("t", "s", "kld", "at_equal", *wide, at="self-bleu-2")
    found = gathered(one, Table("text", "test", 10, {}, rows, ["kld"], (), "small", True))
    assert found.effect == (None if effect is None else pytest.approx(effect))
    assert ("no overlap" in found.why) == (effect is None)


def test_a_claim_on_a_store(tmp_path: Path) -> None:
    for seed in (0, 1, 2):
        for method, bleu in (("histalign", 30.0 + seed), ("trime", 20.0), ("mle", 10.0)):
            scored(trained(tmp_path, method, seed), {"bleu-3": bleu})
    built, _ = tables(Store(tmp_path), ["logicnlg"], "all")
    one = Claim(
        "t",
        "s",
        "bleu-3",
        "higher",
        Side("histalign", "greedy"),
        Side("mle", "greedy"),
        quote="q",
        published=5.0,
        controls=(Side("trime", "greedy"),),
    )
    found = gather(one, built, {})
    assert found.by_seed == {0: 20.0, 1: 21.0, 2: 22.0}
    assert found.controls == {"trime (greedy)": {0: 10.0, 1: 10.0, 2: 10.0}}
    assert (found.n, found.on.split(" · ")[0]) == (3, "logicnlg")


def test_rows_whose_settings_a_search_has_picked_go_before_others() -> None:
    tuned, untuned = table(left=[1.0, 2.0], right=[4.0, 4.0]), table(left=[9.0, 9.0], right=[9.0, 9.0])
    for row in tuned.rows:
        row.tried = 3
    both = replace(tuned, rows=[*untuned.rows, *tuned.rows])
    found = gathered(claim(), both)
    assert (found.by_seed, found.why) == ({0: 3.0, 1: 2.0}, "")
    assert "2 rows of f2softmax" in gathered(claim(), replace(tuned, rows=[*tuned.rows, *tuned.rows])).why


def test_a_tuned_row_beside_an_untuned_one_is_said() -> None:
    unlike = table(left=[1.0, 2.0], right=[4.0, 4.0])
    unlike.rows[0].tried = 3
    assert gathered(claim(), unlike).why == "not tuned alike: trials 3 of f2softmax and 0 of mle"
