"""Marks stand only where seeds tell the rows of a column apart: the F test against known values, and every format."""

import json
import math
import random

import pytest

from bench.leaderboards.leaderboards import with_statistics
from bench.leaderboards.render.board import board
from bench.leaderboards.render.formats import render
from bench.leaderboards.render.html import page
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics.seed_spread import CANNOT_RANK, ONE_SEED, markable, p_of_rows, spread_ratio, unmarked
from bench.leaderboards.table import Table, tables
from bench.metrics.sums import Sums, mean
from bench.store.store import Store
from tests.leaderboards.handmade import scored, trained

APART, TOGETHER = [[10.0, 10.2, 10.4], [20.0, 20.2, 20.4]], [[10.0, 14.0, 18.0], [11.0, 15.0, 19.5]]


def column(*rows, backbones=None):
    """A table with one column."""
    made = []
    for i, values in enumerate(rows):
        backbone = backbones[i] if backbones else "small-encdec"
        row = TableRow(f"method{i}", backbone, "greedy", {})
        row.values["bleu-3"] = Value(dict(enumerate(values)), True, "s")
        made.append(row)
    return Table("logicnlg", "test", 9, {}, made, ["bleu-3"], (), "small", True)


def test_p_says_what_it_says_where_all_rows_are_alike():
    draw = random.Random(0)
    rounds = 2000
    ps = [p_of_rows([[draw.gauss(0, 1) for _ in range(3)] for _ in range(4)]) for _ in range(rounds)]
    assert sum(p <= 0.05 for p in ps) / rounds == pytest.approx(0.05, abs=0.015)


def test_p_where_seeds_agree_and_where_there_is_nothing_to_ask():
    assert p_of_rows([[1.0, 1.0], [2.0, 2.0]]) == 0.0
    assert p_of_rows([[1.0, 1.0], [1.0, 1.0]]) == 1.0
    assert p_of_rows([[1.0, 2.0]]) == p_of_rows([]) == p_of_rows([[1.0], [2.0, 3.0]]) == 1.0
    assert math.isfinite(p_of_rows([[1e-160, 2e-160], [3e-160, 5e-160]]))


def test_a_column_is_marked_where_rows_lie_further_apart_than_seeds_explain():
    assert markable(column(*APART), "bleu-3") == {0, 1}
    assert markable(column(*TOGETHER), "bleu-3") == set()
    assert (unmarked(column(*APART)), unmarked(column(*TOGETHER))) == ({}, {CANNOT_RANK: ["bleu-3"]})


def test_one_seed_tells_nothing():
    assert markable(column([10.0], [90.0], [50.0]), "bleu-3") == set()
    assert markable(column(*APART, [90.0], [50.0]), "bleu-3") == set()  # only half of the rows have two
    assert markable(column(*APART, [90.0]), "bleu-3") == {0, 1}


def test_of_one_seed_each_it_is_said_that_there_is_one_seed():
    one = column([10.0], [90.0], [50.0], [30.0] * 3, backbones=["a", "a", "a", ""])
    assert unmarked(one) == {ONE_SEED: ["bleu-3"]}
    assert unmarked(column([10.0], [90.0, 91.0], [50.0])) == {CANNOT_RANK: ["bleu-3"]}
    assert unmarked(column([10.0] * 3, [90.0] * 3, backbones=["", ""])) == {CANNOT_RANK: ["bleu-3"]}


@pytest.mark.parametrize("form", ["markdown", "latex", "terminal", "page"])
def test_every_format_says_one_seed(tmp_path, form):
    for method, value in (("mle", 40.0), ("trime", 50.0)):
        scored(trained(tmp_path, method), {"bleu-1": value})
    leaderboards = with_statistics(tables(Store(tmp_path))[0], cached=False)
    if form == "page":
        text = page(board(leaderboards)).split("<section class=board")[1]
    else:
        text = render(leaderboards, form)
    assert "one seed" in text
    assert "cannot rank" not in text


def test_what_is_not_trained_is_no_proof_but_may_be_best():
    lead = [30.0, 30.0, 30.0]
    assert markable(column(*TOGETHER, lead, backbones=["a", "a", ""]), "bleu-3") == set()
    assert markable(column(*APART, [30.0], backbones=["a", "a", ""]), "bleu-3") == {0, 1, 2}


def test_two_seeds_are_too_few_to_rank():
    assert markable(column([10.0, 10.2], [20.0, 20.2]), "bleu-3") == set()
    assert markable(column([10.0, 10.2], [20.0, 20.2], [30.0, 30.2, 30.4]), "bleu-3") == set()
    assert markable(column(*APART, [30.0, 30.2]), "bleu-3") == {0, 1}


def test_means_that_lie_closer_than_seeds_do_rank_nothing():
    """Many rows make small differences significant; a rank of them is noise all the same."""
    rows = [[mean - 2.0, mean, mean + 2.0] * 4 for mean in (10.0, 10.5, 11.0, 11.5, 12.0, 12.5, 13.0)]
    assert p_of_rows(rows) <= 0.05
    assert spread_ratio(rows) < 1
    assert markable(column(*rows), "bleu-3") == set()
    assert spread_ratio(APART) == pytest.approx(50**0.5 / 0.2)
    assert spread_ratio([[1.0], [2.0, 3.0]]) == spread_ratio([[1.0, 2.0]]) == spread_ratio([[1.0, 1.0]] * 2) == 0.0


def test_each_backbone_ranks_for_itself():
    backbones = ["small", "small", "large", "large", ""]
    table = column(*TOGETHER, *APART, [15.0], backbones=backbones)
    assert markable(table, "bleu-3") == {2, 3, 4}
    assert unmarked(table) == {CANNOT_RANK: ["bleu-3 on small"]}
    assert unmarked(column(*TOGETHER, *TOGETHER, backbones=backbones[:4])) == {CANNOT_RANK: ["bleu-3"]}
    apart = column([10.0, 10.2, 10.4], [50.0, 50.2, 50.4], backbones=["small", "large"])  # nothing of a method
    assert markable(apart, "bleu-3") == set()


def test_decodings_that_share_one_models_value_count_once():
    table = column([10.0, 12.0], [13.0, 15.0])
    assert markable(table, "bleu-3") == set()
    more = [TableRow(row.method, row.backbone, f"topk={k}", {}) for row in table.rows for k in range(20)]
    for i, row in enumerate(more):
        row.values["bleu-3"] = table.rows[i // 20].values["bleu-3"]
    table.rows += more
    assert markable(table, "bleu-3") == set()


def stored(root, shares):
    """Methods with items; the value of seed s is its share and s times the step."""
    for method, (share, step) in shares.items():
        for seed in range(3):
            items = Sums(mean(100.0), [[float(i < 1000 * share + step * (seed - 1)), 1] for i in range(1000)])
            scored(trained(root, method, seed), {"bleu-1": items.value}, items={"bleu-1": items})
    return with_statistics(tables(Store(root))[0], rounds=999, cached=False)


@pytest.mark.parametrize(("step", "marked"), [(5, True), (150, False)])
def test_every_format_follows_the_rule(tmp_path, monkeypatch, step, marked):
    leaderboards = stored(tmp_path, {"mle": (0.4, step), "trime": (0.5, step), "histalign": (0.6, step)})
    values = [row["bleu-1"] for row in leaderboards.statistics[0].values]
    raw = [value.p for value in values if value.p is not None]
    assert raw
    assert max(raw) <= 0.05  # over items all differ
    said = "cannot rank here"
    texts = {form: render(leaderboards, form) for form in ("markdown", "latex", "csv", "json")}
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    texts["terminal"] = render(leaderboards, "terminal")
    texts["page"] = page(board(leaderboards)).split("<table aria-label")[1].split("</table>")[0]
    signs = {"markdown": ("**", "†"), "latex": (r"\textbf{", r"\underline{", r"$^\dagger$"), "terminal": ("\x1b[1m60",
             "\x1b[4m50", "†"), "page": ("<b>", "<u>", "†")}  # fmt: skip
    for form, expected in signs.items():
        for sign in expected:
            assert (sign in texts[form]) == marked, (form, sign)
    for form in ("markdown", "latex", "terminal"):
        assert (said in texts[form].replace("\n", " ")) != marked
    content = json.loads(texts["json"])["tables"][0]
    values = [row["values"]["bleu-1"] for row in content["methods"]]
    for name in ("best", "second", "differs", "tied"):
        assert any(value[name] for value in values) == marked, name
    assert sorted(value["p"] for value in values if value["p"] is not None) == sorted(raw)
    assert (content["wins"] is not None) == marked
    assert str(raw[0]) in texts["csv"]
