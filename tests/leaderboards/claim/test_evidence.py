"""leaderboards/claim/evidence.py: every relation of a claim, on rows and stores made by hand; nothing is decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.leaderboards.claim.claim_files import Claim, ClaimFile, Corrected, Run, Side
from bench.leaderboards.claim.evidence import ClaimEvidence, evidence_of
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
    return Claim("a table", "says so", "kld", relation, LEFT, RIGHT, **options)


def gathered(one: Claim, *built: Table, where: Mapping[str, Any] | None = None) -> ClaimEvidence:
    run = Run("text", ("mle",), (0,), 1.0, where=where or {})
    return evidence_of(ClaimFile("paper", (run,), (one,)), built)[0]


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
    found = gathered(claim(relation, within=0.1), table(left=left, right=right)).evidence
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
    one = Claim("a table", "says so", "kld", relation, LEFT, bound=bound)
    found = gathered(one, table(left=left)).evidence
    assert found.by_seed == pytest.approx(dict(enumerate(effects)))
    assert bool(found.why) == (not effects)


def test_a_control_has_its_share_of_the_effect() -> None:
    rows = {"left": [1.0, 1.0], "right": [5.0, 5.0]}
    one = claim(controls=(CONTROL, Side("face", "topk=3")))
    for control, share in (([2.0, 2.0], 0.75), ([2.1, 2.0], 0.7375), ([0.0, 0.0], 1.25)):
        found = gathered(one, table(**rows, control=control))
        assert found.evidence.shares == {CONTROL.label: pytest.approx(share)}
    against = gathered(one, table(left=[5.0, 5.0], right=[1.0, 1.0], control=[1.0, 1.0]))
    assert against.evidence.shares == {}  # there is nothing to explain


@pytest.mark.parametrize(("righted", "effect"), [([0.5, 0.5], -0.5), ([4.0, 4.0], 3.0), (None, None)])
def test_a_comparison_without_its_fault_is_beside_the_released_one(
    righted: list[float] | None, effect: float | None
) -> None:
    one = claim(corrected=Corrected("masked labels", than=RIGHTED))
    rows = {"left": [1.0, 1.0], "right": [5.0, 5.0], **({"righted": righted} if righted else {})}
    found = gathered(one, table(**rows))
    assert found.evidence.effect == 4.0
    assert found.corrected is not None
    assert found.corrected.effect == effect
    assert ("no row of trime" in found.corrected.why) == (righted is None)


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
    if p == "none":
        assert found.adjusted is None
    else:
        assert found.adjusted is not None
        assert (found.adjusted <= 0.05) == (p == "small")


def test_p_is_adjusted_within_the_file() -> None:
    built = table({"left": [58, 58], "right": [50, 50]}, left=[58.0, 58.0], right=[50.0, 50.0])
    alone = evidence_of(ClaimFile("paper", (Run("text", ("mle",), (0,), 1.0),), (claim("higher"),)), [built])
    many = evidence_of(ClaimFile("paper", (Run("text", ("mle",), (0,), 1.0),), (claim("higher"),) * 40), [built])
    assert alone[0].evidence.p == many[0].evidence.p == alone[0].adjusted
    assert alone[0].adjusted is not None
    assert many[0].adjusted == pytest.approx(40 * alone[0].adjusted)


def test_the_tests_of_corrected_comparisons_count_in_the_adjustment() -> None:
    items = {"left": [58.0, 58.0], "right": [50.0, 50.0], "righted": [50.0, 50.0]}
    built = table(items, **items)
    plain = gathered(claim("higher"), built)
    fixed = gathered(claim("higher", corrected=Corrected("masked labels", than=RIGHTED)), built)
    assert plain.adjusted is not None
    assert fixed.adjusted == pytest.approx(2 * plain.adjusted)


@pytest.mark.parametrize("there", [{"left": [1.0]}, {"right": [1.0]}, {}, {"left": [1.0], "right": []}])
def test_missing_rows_are_no_evidence(there: dict[str, list[float]]) -> None:
    found = gathered(claim(), table(**there)).evidence
    assert found.effect is None
    assert found.why


def test_another_preset_is_not_looked_at() -> None:
    assert gathered(claim(), table(left=[1.0], right=[2.0], preset="paper")).evidence.effect is None


def test_conflicting_cells_are_no_evidence() -> None:
    found = table(left=[1.0], right=[2.0])
    found.rows[0].values["kld"] = Value({0: 1.0}, False, "s", conflict=True)
    assert gathered(claim(), found).evidence.effect is None


def test_only_seeds_that_both_have_count_and_three_have_an_interval() -> None:
    found = gathered(claim(), table(left=[1.0, 1.0, 9.0], right=[2.0, 2.0]))
    assert found.evidence.by_seed == {0: 1.0, 1: 1.0}
    assert found.over_seeds is not None
    assert found.over_seeds.half is None
    three = gathered(claim(), table(left=[1.0, 2.0, 3.0], right=[5.0, 5.0, 5.0])).over_seeds
    assert three is not None
    assert three.half == pytest.approx(2.4841, abs=1e-4)


def test_settings_tell_rows_of_one_method_apart() -> None:
    found = table(left=[1.0], right=[2.0])
    longer = replace(found.rows[1], config={"trainer": {"steps": 1000}}, values={"kld": Value({0: 0.5}, False, "s")})
    found.rows.append(longer)
    assert "2 rows of mle" in gathered(claim(), found).evidence.why
    assert gathered(claim(), found, where={"trainer.steps": 300}).evidence.effect == 1.0
    other = replace(claim(), than=replace(RIGHT, where={"trainer.steps": 1000}))
    effect = gathered(other, found, where={"trainer.steps": 300}).evidence.effect
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
    one = Claim("t", "s", "kld", "at_equal", *wide, at="self-bleu-2")
    found = gathered(one, Table("text", "test", 10, {}, rows, ["kld"], (), "small", True)).evidence
    assert found.effect == (None if effect is None else pytest.approx(effect))
    assert ("no overlap" in found.why) == (effect is None)


def test_a_claim_on_a_store(tmp_path: Path) -> None:
    for seed in (0, 1, 2):
        for method, bleu in (("histalign", 30.0 + seed), ("trime", 20.0), ("mle", 10.0)):
            scored(trained(tmp_path, method, seed), {"bleu-3": bleu})
    built, _ = tables(Store(tmp_path), ["logicnlg"], "all")
    run = Run("logicnlg", ("histalign",), (0,), 1.0)
    one = Claim(
        "t",
        "s",
        "bleu-3",
        "higher",
        Side("histalign", "greedy"),
        Side("mle", "greedy"),
        floor=5.0,
        controls=(Side("trime", "greedy"),),
    )
    found = evidence_of(ClaimFile("paper", (run,), (one,)), built)[0]
    assert found.evidence.by_seed == {0: 20.0, 1: 21.0, 2: 22.0}
    assert found.evidence.shares == {"trime (greedy)": pytest.approx(30 / 63)}
    assert (found.evidence.n, found.evidence.on.split(" · ")[0]) == (3, "logicnlg")
