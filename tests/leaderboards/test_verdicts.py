"""leaderboards/verdicts.py and evidence.py: every verdict and relation, on rows and stores made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.leaderboards.claim_files import Claim, ClaimFile, Corrected, Run, Side
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.table import Table, tables
from bench.leaderboards.verdicts import Verdict, judge
from bench.metrics.items import Items, mean
from bench.store import Store
from tests.leaderboards.handmade import scored, trained

LEFT, RIGHT, CONTROL = Side("f2softmax", "topk=3"), Side("mle", "topk=3"), Side("mle.decoupled", "decoupled:topk=3")
RIGHTED = Side("trime", "topk=3")
SIDES = {"left": LEFT, "right": RIGHT, "control": CONTROL, "righted": RIGHTED}


class Held:
    """Items that are there already, in place of those of a store."""

    def __init__(self, right: float) -> None:
        self.items = Items(mean(), [[float(i < right), 1] for i in range(100)])

    def load(self) -> Items:
        return self.items


def table(items: Mapping[str, list[float]] | None = None, preset: str = "small", **values: list[float]) -> Table:
    """A leaderboard with one column; values by seed."""
    rows = []
    for name, by_seed in values.items():
        side = SIDES[name]
        config = {"trainer": {"steps": 300}, "backbone_options": {"width": 8}}
        row = TableRow(side.method, "small-causal", f"{side.decoding}+max_new_tokens=64", config)
        held: Any = {seed: Held(right) for seed, right in enumerate((items or {}).get(name, []))}
        row.values["kld"] = Value(dict(enumerate(by_seed)), False, "s", items=held)
        rows.append(row)
    return Table("text", "test", 10, {}, rows, ["kld"], (), preset, True)


def claim(relation: str = "lower", **options: Any) -> Claim:
    return Claim("a table", "says so", "kld", relation, LEFT, RIGHT, **options)


def verdict(one: Claim, *built: Table, where: Mapping[str, Any] | None = None) -> Verdict:
    run = Run("text", ("mle",), (0,), 1.0, where=where or {})
    return judge(ClaimFile("paper", (run,), (one,)), built)[0]


@pytest.mark.parametrize(
    ("relation", "left", "right", "options", "expected"),
    [
        ("lower", [1.0, 2.0], [4.0, 4.0], {"floor": 2.0}, "holds"),
        ("lower", [1.0, 2.0], [4.0, 4.0], {"floor": 3.0}, "weak"),
        ("lower", [1.0, 4.5], [4.0, 4.0], {"floor": 0.0}, "fails"),
        ("lower", [4.0, 1.0], [4.0, 4.0], {}, "fails"),
        ("higher", [5.0, 5.0], [4.0, 4.0], {}, "holds"),
        ("higher", [3.0, 3.0], [4.0, 4.0], {}, "fails"),
        ("higher", [12.0, 13.0], [4.0, 4.0], {"factor": 3.0}, "holds"),
        ("higher", [12.0, 11.0], [4.0, 4.0], {"factor": 3.0}, "weak"),
        ("near", [4.5, 3.5], [4.0, 4.0], {"within": 0.1}, "holds"),
        ("near", [4.5, 4.5], [4.0, 4.0], {"within": 0.1}, "fails"),
        ("near", [3.5, 3.5], [4.0, 4.0], {"within": 0.1}, "fails"),
    ],
)
def test_a_row_against_another(
    relation: str, left: list[float], right: list[float], options: dict[str, float], expected: str
) -> None:
    found = verdict(claim(relation, **options), table(left=left, right=right))
    assert found.kind == found.text == expected
    assert found.evidence.effect is not None
    assert bool(found.why) == (expected == "weak")


@pytest.mark.parametrize(
    ("relation", "left", "bound", "expected"),
    [
        ("above", [9.5, 10.0], "backbone.width + 1", "holds"),
        ("above", [9.0, 10.0], "backbone.width + 1", "fails"),
        ("below", [9.0, 8.0], "backbone.width + 1", "holds"),
        ("below", [9.1, 8.0], "backbone.width + 1", "fails"),
        ("below", [6.0, 7.0], "backbone.width - 1", "holds"),
        ("below", [0.5], 1.0, "holds"),
        ("above", [0.5], 1.0, "fails"),
        ("above", [9.0], "backbone.depth", "not enough data"),
    ],
)
def test_a_row_against_a_number_or_a_setting(
    relation: str, left: list[float], bound: float | str, expected: str
) -> None:
    one = Claim("a table", "says so", "kld", relation, LEFT, bound=bound)
    assert verdict(one, table(left=left)).kind == expected


def test_a_control_that_has_most_of_the_effect_explains_it() -> None:
    rows = {"left": [1.0, 1.0], "right": [5.0, 5.0]}
    one = claim(floor=1.0, controls=(CONTROL, Side("face", "topk=3")))
    for control, share, text in (
        ([2.0, 2.0], 0.75, "explained by mle.decoupled (decoupled:topk=3)"),
        ([2.1, 2.0], 0.7375, "holds"),
    ):
        found = verdict(one, table(**rows, control=control))
        assert found.evidence.shares == {CONTROL.label: pytest.approx(share)}
        assert found.text == text
    weak = verdict(replace(one, floor=9.0), table(**rows, control=[1.0, 1.0]))
    assert weak.text == "weak"  # there is nothing to explain


@pytest.mark.parametrize(
    ("righted", "expected"),
    [
        ([0.5, 0.5], "artefact (masked labels)"),
        ([1.0, 1.0], "artefact (masked labels)"),
        ([4.0, 4.0], "holds"),
        ([2.0, 2.0], "weak"),
        (None, "holds"),
    ],
)
def test_what_holds_only_as_released_is_an_artefact(righted: list[float] | None, expected: str) -> None:
    one = claim(floor=2.0, corrected=Corrected("masked labels", than=RIGHTED))
    rows = {"left": [1.0, 1.0], "right": [5.0, 5.0], **({"righted": righted} if righted else {})}
    found = verdict(one, table(**rows))
    assert found.text == expected
    assert ("corrected comparison is not there" in found.why) == (righted is None)


@pytest.mark.parametrize(
    ("items", "kind", "tested"),
    [
        ({"left": [90, 90], "right": [30, 30]}, "holds", True),
        ({"left": [51, 50], "right": [50, 50]}, "weak", True),
        ({"left": [90, 90], "right": [30]}, "holds", False),  # a seed without items is no test
        ({}, "holds", False),
    ],
)
def test_the_test_over_items_decides_where_all_seeds_have_items(
    items: dict[str, list[float]], kind: str, tested: bool
) -> None:
    found = verdict(claim("higher"), table(items, left=[90.0, 90.0], right=[30.0, 30.0]))
    assert (found.kind, found.adjusted is not None) == (kind, tested)


def test_p_is_adjusted_within_the_file() -> None:
    built = table({"left": [58, 58], "right": [50, 50]}, left=[58.0, 58.0], right=[50.0, 50.0])
    alone = judge(ClaimFile("paper", (Run("text", ("mle",), (0,), 1.0),), (claim("higher"),)), [built])
    many = judge(ClaimFile("paper", (Run("text", ("mle",), (0,), 1.0),), (claim("higher"),) * 40), [built])
    assert alone[0].evidence.p == many[0].evidence.p == alone[0].adjusted
    assert alone[0].kind == "holds"
    assert alone[0].adjusted is not None
    assert many[0].adjusted == pytest.approx(40 * alone[0].adjusted)
    assert many[0].kind == ("holds" if 40 * alone[0].adjusted <= 0.05 else "weak")


@pytest.mark.parametrize("there", [{"left": [1.0]}, {"right": [1.0]}, {}, {"left": [1.0], "right": []}])
def test_missing_rows_are_no_verdict(there: dict[str, list[float]]) -> None:
    found = verdict(claim(), table(**there))
    assert found.kind == "not enough data"
    assert found.why


def test_another_preset_is_not_looked_at() -> None:
    assert verdict(claim(), table(left=[1.0], right=[2.0], preset="paper")).kind == "not enough data"


def test_conflicting_cells_are_no_verdict() -> None:
    found = table(left=[1.0], right=[2.0])
    found.rows[0].values["kld"] = Value({0: 1.0}, False, "s", conflict=True)
    assert verdict(claim(), found).kind == "not enough data"


def test_only_seeds_that_both_have_count_and_three_have_an_interval() -> None:
    found = verdict(claim(), table(left=[1.0, 1.0, 9.0], right=[2.0, 2.0]))
    assert found.evidence.by_seed == {0: 1.0, 1: 1.0}
    assert found.over_seeds is not None
    assert found.over_seeds.half is None
    three = verdict(claim(), table(left=[1.0, 2.0, 3.0], right=[5.0, 5.0, 5.0])).over_seeds
    assert three is not None
    assert three.half == pytest.approx(2.4841, abs=1e-4)


def test_an_interval_over_seeds_that_includes_nothing_is_said() -> None:
    wide, narrow = ([1.0, 9.0, 9.8], [1.0, 1.1, 1.2])
    for left, said in ((wide, True), (narrow, False), (wide[:2], False)):
        found = verdict(claim(), table(left=left, right=[10.0] * len(left)))
        assert found.kind == "holds"
        assert ("includes 0" in found.why) == said


def test_settings_tell_rows_of_one_method_apart() -> None:
    found = table(left=[1.0], right=[2.0])
    longer = replace(found.rows[1], config={"trainer": {"steps": 1000}}, values={"kld": Value({0: 0.5}, False, "s")})
    found.rows.append(longer)
    assert "2 rows of mle" in verdict(claim(), found).why
    assert verdict(claim(), found, where={"trainer.steps": 300}).kind == "holds"
    other = replace(claim(), than=replace(RIGHT, where={"trainer.steps": 1000}))
    assert verdict(other, found, where={"trainer.steps": 300}).kind == "fails"  # a side's own settings go first


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
    ("theirs", "floor", "kind"),
    [
        ([(80.0, 4.0), (90.0, 4.0)], 0.5, "holds"),
        ([(80.0, 4.0), (90.0, 4.0)], 1.5, "weak"),
        ([(80.0, 2.0), (90.0, 2.0)], 0.0, "fails"),
        ([(60.0, 9.0), (70.0, 9.0)], 0.0, "not enough data"),
    ],
)
def test_two_sweeps_at_equal_diversity(theirs: list[tuple[float, float]], floor: float, kind: str) -> None:
    rows = [*sweep("f2softmax", {0: [(75.0, 3.0), (95.0, 3.0)]}), *sweep("mle", {0: theirs})]
    wide = replace(LEFT, decoding="topk=*"), replace(RIGHT, decoding="topk=*")
    one = Claim("t", "s", "kld", "at_equal", *wide, at="self-bleu-2", floor=floor)
    found = verdict(one, Table("text", "test", 10, {}, rows, ["kld"], (), "small", True))
    assert found.kind == kind
    assert ("no overlap" in found.why) == (kind == "not enough data")


def test_a_claim_on_a_store(tmp_path: Path) -> None:
    for seed in (0, 1, 2):
        for method, bleu in (("histalign", 30.0 + seed), ("trime", 20.0), ("mle", 10.0)):
            scored(trained(tmp_path, method, seed), {"bleu-3": bleu})
    built, _ = tables(Store(tmp_path), ["logicnlg"], "all")
    run = Run("logicnlg", ("histalign",), (0,), 1.0)
    one = Claim("t", "s", "bleu-3", "higher", Side("histalign", "greedy"), Side("mle", "greedy"), floor=5.0,
                controls=(Side("trime", "greedy"),))  # fmt: skip
    found = judge(ClaimFile("paper", (run,), (one,)), built)[0]
    assert found.kind == "holds"
    assert found.evidence.by_seed == {0: 20.0, 1: 21.0, 2: 22.0}
    assert found.evidence.shares == {"trime (greedy)": pytest.approx(30 / 63)}
    assert (found.evidence.n, found.evidence.on.split(" · ")[0]) == (3, "logicnlg")
