"""Reproduction: every verdict, from stores made by hand; what tables need; how it is shown."""

import pytest

from bench.config.decoding import parse
from bench.errors import UsageError
from bench.leaderboards.published.paper_files import read
from bench.leaderboards.published.papers import chosen, key_of_cell, needs, paper_table, papers
from bench.leaderboards.published.reproduction import (
    ANOTHER,
    NOT_COMPARABLE,
    NOT_RUN,
    OFF,
    WITHIN,
    Plan,
    reproduce,
    tolerance,
)
from bench.leaderboards.render.reproduction import content, lines, notes, terminal
from bench.leaderboards.table import tables
from bench.store.store import Store
from bench.tasks import TASKS
from bench.tasks.core.published_settings import Deviation
from tests.leaderboards.handmade import manifest, scored, trained

PAPER = """
name = "A Paper"
short = "paper"
citation = "Somebody 2020"
[[table]]
name = "Table 1"
title = "Sentences"
about = "By hand."
note = "A note."
task = "logicnlg"
backbone = "bart-large"
decoding = "greedy"
columns = [
  { label = "B1", metric = "bleu-1" },
  { label = "B3", metric = "bleu-3" },
  { label = "PPL", metric = "ppl/word", why_not = "no unit is stated" },
]
rows = [
  { label = "BART", method = "mle", values = "30.0 15.0 20.0", spreads = "0.5 - -" },
  { label = "TRIME", method = "trime", values = "31.0 16.0 -" },
  { label = "HISTALIGN", method = "histalign", values = "32.0 17.0 18.0" },
  { label = "Human", why_not = "the true sentences, not a method", values = "90.0 - -", backbone = "" },
]
"""
TABLE = read(PAPER, "papers/paper.toml").tables[0]
BIG = {"preset": "paper", "backbone": "bart-large"}
KEY = ("logicnlg", "mle", "bart-large")


def store(root, method, by_seed, *, of=None, decoding="greedy", **changes):
    """Store bleu-1, and bleu-3 as half of it, of some seeds."""
    for seed, value in by_seed.items():
        cell = trained(root, method, seed, **{**BIG, **changes})
        scored(cell, {"bleu-1": value, "bleu-3": value / 2}, decoding=decoding, **(of or {}))


def reproduced(root, preset="paper", limited=False, table=TABLE, **plan):
    """The table with a store's numbers; what is planned of the first method is given."""
    plans = {KEY: Plan(**plan)} if plan else {}
    return reproduce(table, tables(Store(root), None, "all", limited)[0], preset, plans)


def first(found, row=0, column=0):
    return found.rows[row].cells[column]


# Verdicts ---------------------------------------------------------------------------------------------------------


def test_the_papers_order_of_rows_and_columns_is_kept_and_nothing_stored_is_not_run(tmp_path):
    found = reproduced(tmp_path, reason="failed: no memory")
    assert [row.cells[0].cell.row for row in found.rows] == ["BART", "TRIME", "HISTALIGN", "Human"]
    assert [one.cell.column for one in found.rows[0].cells] == ["B1", "B3", "PPL"]
    assert found.count() == {WITHIN: 0, OFF: 0, ANOTHER: 0, NOT_RUN: 6, NOT_COMPARABLE: 6}
    assert (first(found).reason, first(found, 1).reason) == ("failed: no memory", "")
    assert first(found, 0, 2).reason == "no unit is stated"
    assert (first(found, 1, 2).verdict, first(found, 1, 2).reason) == (NOT_COMPARABLE, "no unit is stated")


@pytest.mark.parametrize(
    ("values", "verdict", "half"),
    [
        ((30.0, 31.0, 32.0), WITHIN, 2.4841),  # 31 +- 2.48 holds 30
        ((33.0, 33.1, 33.2), OFF, 0.2484),
        ((30.4, 30.4, 30.4), WITHIN, 0.0),  # the printed spread, 0.5, holds ours
        ((30.6, 30.6, 30.6), OFF, 0.0),  # 0.5, and 0.05 of rounding
        ((30.54, 30.54, 30.54), WITHIN, 0.0),
        ((30.5,), WITHIN, None),
        ((30.5, 30.5), WITHIN, None),
        ((30.6,), OFF, None),  # bleu: 0.5 for one seed
    ],
)
def test_seeds_give_an_interval_and_one_or_two_a_tolerance(tmp_path, values, verdict, half):
    store(tmp_path, "mle", dict(enumerate(values)))
    one = first(reproduced(tmp_path))
    assert (one.verdict, one.reason, one.ours.n) == (verdict, "", len(values))
    assert one.ours.half == (None if half is None else pytest.approx(half, abs=1e-4))
    assert one.delta == pytest.approx(sum(values) / len(values) - 30)


def test_the_tolerance_is_the_metrics_own_and_every_metric_has_one():
    assert (tolerance("uniq", 10_000), tolerance("rank/float32", 700)) == (300, 35)
    for cell in (c for paper in papers() for table in paper.tables for row in table.rows for c in row if c.metric):
        assert tolerance(cell.metric, cell.value or 1.0) > 0


@pytest.mark.parametrize(
    ("changes", "options", "reason"),
    [
        ({"preset": "small", "backbone": "small-encdec"}, {"preset": "small"}, "preset small: small-encdec"),
        ({"backbone": "bart-base"}, {}, "backbone bart-base, published bart-large"),
        ({"data": {"train": manifest("train", "proxy"), "test": manifest("test", "official")}}, {}, "train data"),
        (
            {"data": {"train": manifest("train", "official"), "test": manifest("test", "sample")}},
            {},
            "test data: sample",
        ),
        ({"of": {"whole": False}}, {}, "only 3 rows of the test split"),
        ({"trainer__limit": 8}, {"limited": True}, "all data: cut by --limit 8"),
    ],
)
def test_other_sizes_and_other_data_are_not_comparable(tmp_path, changes, options, reason):
    store(tmp_path, "mle", {0: 30.0}, **changes)
    found = reproduced(tmp_path, **options)
    assert (first(found).verdict, first(found).ours.mean) == (NOT_COMPARABLE, 30.0)
    assert first(found).reason.startswith(reason)
    assert found.short_of == 4  # the other two methods


def test_no_number_is_made_of_a_conflict_or_a_diverged_seed(tmp_path):
    store(tmp_path, "mle", {0: 30.0})
    store(tmp_path, "mle", {0: 31.0}, extra="again")
    assert (first(reproduced(tmp_path)).verdict, first(reproduced(tmp_path)).ours) == (NOT_RUN, None)
    assert "contradict" in first(reproduced(tmp_path)).reason
    store(tmp_path, "trime", {1: 31.0})
    trained(tmp_path, "trime", 2, status="diverged", **BIG)
    trained(tmp_path, "histalign", 0, status="diverged", **BIG)
    found = reproduced(tmp_path)
    assert (first(found, 1).verdict, first(found, 1).reason) == (WITHIN, "1 of 2 seeds diverged")
    assert (first(found, 2).verdict, first(found, 2).ours) == (NOT_RUN, None)


def test_another_decoding_is_another_row_but_likelihood_has_none(tmp_path):
    store(tmp_path, "mle", {0: 30.0}, decoding="topk=3")
    scored(trained(tmp_path, "mle", 0, **BIG), {"ppl/word": 20.0}, kind="likelihood", decoding=None)
    found = reproduced(tmp_path)
    assert (first(found).verdict, first(found, 0, 2).ours.mean) == (NOT_RUN, 20.0)


def test_of_several_settings_the_planned_one_counts_and_without_a_plan_none(tmp_path):
    store(tmp_path, "mle", {0: 30.0})
    store(tmp_path, "mle", {0: 90.0}, trainer__steps=11)
    assert (first(reproduced(tmp_path)).verdict, first(reproduced(tmp_path)).reason[:10]) == (NOT_RUN, "2 settings")
    key = trained(tmp_path, "mle", 0, **BIG).path.name
    assert first(reproduced(tmp_path, keys={key})).ours.mean == 30.0


def test_the_nearest_stored_run_is_shown_where_the_planned_one_is_not_and_says_how_it_differs(tmp_path):
    for seed in range(3):
        cell = trained(tmp_path, "mle", seed, **BIG, method_options={"alpha": 1.0, "margin": 0.001})
        scored(cell, {"bleu-1": 30.0, "bleu-3": 15.0, "ppl/word": 20.0}, decoding="beam=4")
    store(tmp_path, "mle", {0: 90.0}, preset="small", backbone="small-encdec")
    found = reproduced(tmp_path, keys={"another"}, options={"alpha": 0.5, "margin": 0.001})
    one, other = first(found), first(found, 0, 2)
    assert (one.verdict, one.ours.mean, one.ours.n, one.delta) == (ANOTHER, 30.0, 3, None)
    assert one.reason == (
        "ours: bart-large pretrained, 10 steps of some rows; decoding beam=4 in place of greedy; "
        "method.alpha=1 in place of 0.5"
    )
    assert (other.verdict, other.ours.mean) == (NOT_COMPARABLE, 20.0)
    assert other.reason == f"no unit is stated; {one.reason}"
    assert found.count() == {WITHIN: 0, OFF: 0, ANOTHER: 2, NOT_RUN: 4, NOT_COMPARABLE: 6}
    assert found.short_of == 6, "it is never counted as reproduced"


def test_a_run_of_another_preset_says_its_size_and_sampled_texts_stand_in_for_no_others(tmp_path):
    store(tmp_path, "mle", {0: 90.0}, preset="small", backbone="small-encdec")
    store(tmp_path, "trime", {0: 90.0}, preset="small", backbone="small-encdec", decoding="topk=3")
    found = reproduced(tmp_path, keys=set(), options={"alpha": 0.1})
    assert first(found).reason == "ours: small-encdec from scratch, 10 steps of some rows, not bart-large; preset small"
    assert (first(found, 1).verdict, first(found, 1).ours) == (NOT_RUN, None)


def test_a_tuned_run_says_what_was_picked_after_how_many_steps(tmp_path):
    store(tmp_path, "mle", {0: 90.0}, preset="small", backbone="small-encdec")
    held = tables(Store(tmp_path), None, "all", False)[0]
    (row,) = held[0].rows
    row.tried, row.picked, row.trial_steps = 3, "trainer.lr picked from 3 combinations by validation NLL", "1/3"
    row.config = {**row.config, "trainer": {"steps": 1500, "select": "rouge-l"}}
    assert first(reproduce(TABLE, held, "paper", {KEY: Plan(keys=set())})).reason == (
        "ours: small-encdec from scratch, 1,500 steps of some rows, not bart-large; its learning rate is the best of 3 "
        "by validation loss after 500 steps of one seed; of its steps the one with the best rouge-l of validation is "
        "kept; preset small"
    )


def test_a_planned_run_that_failed_is_not_replaced(tmp_path):
    store(tmp_path, "mle", {0: 90.0}, preset="small", backbone="small-encdec")
    found = reproduced(tmp_path, reason="failed: no memory")
    assert (first(found).verdict, first(found).reason) == (NOT_RUN, "failed: no memory")


def test_what_people_wrote_stands_beside_the_papers_people(tmp_path):
    cell = trained(tmp_path, "mle", 0, **BIG)
    scored(cell, {"bleu-1": 30.0}, human={"bleu-1": 88.0})
    one = first(reproduced(tmp_path), 3)
    assert (one.verdict, one.ours.mean) == (NOT_COMPARABLE, 88.0)


# Needs and names --------------------------------------------------------------------------------------------------


def test_every_need_is_a_task_with_methods_once_and_its_decodings_are_as_the_store_names_them():
    for preset in ("small", "paper"):
        found = needs(chosen(["all"]), preset)
        pairs = [(need.task, need.backbone, method) for need in found for method in need.methods]
        assert len(pairs) == len(set(pairs)) > 20
        assert all(need.task in TASKS for need in found)
        for name in (name for need in found for name in need.decodings):
            assert parse(name)[0].text == name
    assert all(need.backbone == "" for need in needs(chosen(["all"]), "small"))


def test_needs_of_known_tables():
    (small,) = needs(chosen(["histalign/table1"]), "small")
    methods = ("mle", "trime.released", "histalign.released", "trime", "histalign")
    assert (small.task, small.methods, small.decodings) == ("ambiguous_template", methods, ())
    assert [need.backbone for need in needs(chosen(["histalign/table1"]), "paper")] == ["gpt2", "gpt2-large"]
    lyrics = needs(chosen(["f2softmax/table3"]), "small")
    assert [need.methods for need in lyrics] == [("f2softmax",), ("f2softmax.posterior",), ("mle",)]
    k_20 = "topk=20+max_new_tokens=100"
    assert [need.decodings for need in lyrics] == [(k_20, f"f2_released:{k_20}"), (f"posterior:{k_20}",), (k_20,)]
    faithful = needs(chosen(["histalign/table5", "histalign/table7"]), "paper")
    assert {need.decodings for need in faithful} == {("beam=4+no_repeat_ngram=3+early_stopping",)}
    assert needs(chosen(["histalign/table4", "f2softmax/table5", "f2softmax/table9a"]), "paper") == []
    assert key_of_cell(chosen(["adadec/table2"])[0].rows[-1][0], "small") == ("gigaword", "adadec", "")


def test_names_are_tables_papers_or_all_and_an_unknown_one_has_a_neighbour():
    assert [t.address for t in chosen(["F2softmax/Table9a"])] == ["f2softmax/table9a"]
    assert [t.address for t in chosen(["adadec", "adadec/table1"])] == [f"adadec/table{n}" for n in (1, 2, 3, 4)]
    assert len(chosen(["all"])) == sum(len(paper.tables) for paper in papers())
    with pytest.raises(UsageError, match="no published table 'histalign/tabel1'; did you mean 'histalign/table1'"):
        chosen(["histalign/tabel1"])


# How it is shown --------------------------------------------------------------------------------------------------


def test_all_forms_show_ours_published_delta_verdict_and_the_reasons(tmp_path):
    store(tmp_path, "mle", {0: 30.0, 1: 31.0, 2: 32.0})
    store(tmp_path, "trime", {0: 40.0})
    found = reproduced(tmp_path)
    text = terminal([found])
    for shown in ("31.00 ±2.48", "30.0 ±0.5", "+1.00", "within", "OFF", "not run", "ours (n=3)"):
        assert shown in text, shown
    assert "a: no unit is stated" in text
    assert [label for label, (line, *_) in lines(found) if "ours" in line] == ["BART", "TRIME", "HISTALIGN", "Human"]
    shown = content(found)
    assert shown["verdicts"] == {WITHIN: 2, OFF: 2, ANOTHER: 0, NOT_RUN: 2, NOT_COMPARABLE: 6}
    assert shown["rows"][0]["cells"][0]["ours"]["by_seed"] == {"0": 30.0, "1": 31.0, "2": 32.0}
    assert shown["rows"][2]["cells"][0]["ours"] is None


REDUCTION = Deviation("method.reduction", "pair_mean", "sum", "authors", "eq. 5")
LENGTH = Deviation("trainer.length", "300 steps", "10 epochs")
AS_CODED = Deviation("method.reduction", "authors", "sum", "authors", "eq. 5")


PLANS = {
    ("logicnlg", method, "bart-large"): Plan(deviations=lambda cell, row, found=found: found)
    for method, found in {
        "histalign": (REDUCTION, LENGTH),
        "histalign.released": (AS_CODED, LENGTH),
        "mle": (LENGTH,),
    }.items()
}


def with_released(root, preset):
    """The table above, with the released form below its last method."""
    text = PAPER.replace('method = "histalign"', 'method = "histalign", variant = "histalign.released"')
    table = read(text, "papers/paper.toml").tables[0]
    plans = {(task, method, backbone if preset == "paper" else ""): plan
             for (task, method, backbone), plan in PLANS.items()}  # fmt: skip
    return reproduce(table, tables(Store(root), None, "all", False)[0], preset, plans)


def test_deviations_name_their_methods_and_the_released_form_is_shown_below(tmp_path):
    store(tmp_path, "histalign", {0: 32.0})
    store(tmp_path, "histalign.released", {0: 35.5})
    found = with_released(tmp_path, "paper")
    assert [row.deviations for row in found.rows] == [(LENGTH,), (), (REDUCTION, LENGTH), ()]
    rows = [[label, *cells[:2]] for label, cells in lines(found)]
    at = next(place for place, row in enumerate(rows) if row[0] == "HISTALIGN")
    assert rows[at + 3 : at + 5] == [["", "verdict", "within"], ["histalign.released", "ours (n=1)", "35.50"]]
    every = "deviation of mle, histalign, histalign.released: trainer.length: ours 300 steps; paper: 10 epochs"
    assert every in terminal([found])
    row = content(found)["rows"][2]
    assert row["deviations"] == [REDUCTION.as_dict(), LENGTH.as_dict()]
    assert (row["other"]["method"], row["other"]["cells"][0]["ours"]["mean"]) == ("histalign.released", 35.5)
    assert row["other"]["deviations"] == [AS_CODED.as_dict(), LENGTH.as_dict()]
    assert content(found)["rows"][1]["deviations"] == []


def test_a_row_of_another_decoding_in_the_released_code_has_that_beside_it(tmp_path):
    store(tmp_path, "f2softmax", {0: 32.0}, decoding="topk=3")
    store(tmp_path, "f2softmax", {0: 31.2}, decoding="f2_released:topk=3")
    row = 'method = "f2softmax", decoding = "topk=3", released_decoding = "f2_released:topk=3"'
    table = read(PAPER.replace('method = "histalign"', row), "papers/paper.toml").tables[0]
    found = reproduced(tmp_path, table=table)
    assert first(found, 2).ours.mean == 32.0
    other = found.rows[2].other
    assert (other.method, other.cells[0].ours.mean) == ("f2softmax by f2_released:topk=3", 31.2)


def test_where_a_paper_contradicts_itself_and_how_it_was_tuned_stand_under_the_table():
    found = reproduce(chosen(["f2softmax/table6"])[0], [], "paper")
    (note,) = [note for note in found.notes if note.startswith("the paper's text and table: in millions")]
    assert note.endswith("with tied weights it would be 73.9: printed 76.5, computed 78.98")
    found = reproduce(paper_table("histalign/table1"), [], "small")
    assert "HistAlign had 18 settings to choose from, and MLE and TRIME had 3" in found.notes[-1]


def test_deviations_of_one_task_of_several_say_which():
    found = {"xsum": (LENGTH, REDUCTION), "cnndm": (REDUCTION,)}
    plans = {(task, "mle", "bart-large"): Plan(deviations=lambda cell, row: found[cell.task]) for task in found}
    first_row = reproduce(paper_table("histalign/table5"), [], "paper", plans).rows[0]
    assert [one.setting for one in first_row.deviations] == ["xsum:trainer.length", "method.reduction"]


def test_what_is_not_comparable_has_no_difference_in_any_form(tmp_path):
    store(tmp_path, "mle", {0: 33.25}, preset="small")
    found = reproduced(tmp_path, preset="small")
    assert first(found).ours.mean == 33.25
    text = terminal([found])
    assert "33.25" in text
    assert "delta" not in text
    assert "+3.25" not in text
    assert content(found)["rows"][0]["cells"][0]["delta"] is None


def test_a_reason_cannot_command_the_terminal(tmp_path):
    found = reproduced(tmp_path, reason="failed: \x1b[2J\r<b>|")
    assert "\x1b" not in terminal([found])


# Notes on real tables ---------------------------------------------------------------------------------------------

PRECISION = Deviation("trainer.precision", "32-true")
BASE = Deviation("method.base", "CE", code="TRIME")
OF_METHODS = {
    "mle": (LENGTH, PRECISION),
    "histalign": (LENGTH, REDUCTION, BASE, PRECISION),
    "histalign.released": (LENGTH, REDUCTION, PRECISION),
}


def with_notes(address="histalign/table1", preset="small"):
    cells = [cell for row in paper_table(address).rows for cell in row]
    plan = Plan(deviations=lambda cell, row: OF_METHODS.get(cell.method, ()))
    plans = {key_of_cell(one, preset): plan for cell in cells for one in (cell, cell.other) if one}
    return reproduce(paper_table(address), [], preset, plans)


def test_at_the_preset_small_sizes_are_one_line_and_what_the_code_alone_does_another():
    found = notes(with_notes())
    assert f"deviation of histalign.released, histalign: {REDUCTION.text}" in found
    assert "other sizes and settings (in the paper): trainer.length 300 steps (10 epochs)" in found
    assert "the released code alone differs in: trainer.precision, method.base" in found
    assert f"deviation of histalign: {BASE.text}" in notes(with_notes(preset="paper"))


@pytest.mark.parametrize("width", [60, 120])
@pytest.mark.parametrize("address", ["histalign/table1", "f2softmax/table1", "adadec/table3"])
def test_notes_fit_the_width(address, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    assert max(map(len, terminal([with_notes(address)]).splitlines())) <= width


def test_terminal_and_json_have_every_note():
    found = with_notes()
    every = notes(found)
    text = " ".join(terminal([found]).split())
    assert all(" ".join(note.split()) in text for note in every)
    assert set(content(found)["notes"]) == set(found.notes) < set(every)
