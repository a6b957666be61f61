"""Controls in tables: marked, named with what they control, and a sweep cut down to the row that meets its goal."""

import csv
import io
import json

import pytest

from bench.leaderboards.controls import DIVERSITY, controlled_by, keep_matched, matched_method
from bench.leaderboards.leaderboards import with_statistics
from bench.leaderboards.render.formats import render
from bench.leaderboards.row import TableRow, Value
from bench.models import METHODS
from tests.leaderboards.handmade import manifest, scored, trained
from tests.leaderboards.test_table import one

METRIC = {"bleu-1": 30.0, "bleu-3": 20.0}


def labels(table):
    return {row.label for row in table.rows}


# Who controls whom ------------------------------------------------------------------------------------------------


def test_a_control_is_declared_by_what_it_controls():
    assert controlled_by("mle.decoupled") == ["f2softmax"]
    assert controlled_by("lead") == ["attexp", "adadec", "adadec_attexp"]
    tuned = {name for name, entry in METHODS.items() if getattr(entry.load(), "parent", "") == "mle"}
    assert set(controlled_by("mle.continued")) == tuned | {"ul_token_seq"} >= {"face", "ul_seq"}
    assert controlled_by("my own") == []


@pytest.mark.parametrize("method", [name for name, entry in METHODS.items() if not entry.baseline])
def test_a_method_of_its_own_right_is_no_control(method):
    assert controlled_by(method) == []


def test_baselines_and_readings_stand_in_the_table_marked(tmp_path):
    cell = scored(trained(tmp_path, "mle"), METRIC)
    scored(cell, {**METRIC, "bleu-3": 21.0}, decoding="decoupled:greedy", shown_as="mle.decoupled")
    scored(cell, {"ppl/word": 9.0}, kind="likelihood", decoding=None)
    scored(trained(tmp_path, "lead"), {**METRIC, "bleu-3": 22.0})
    table = one(tmp_path)
    assert [(r.label, r.backbone, r.controls) for r in table.rows] == [
        ("lead [control]", "", ("attexp", "adadec", "adadec_attexp")),
        ("mle.decoupled [control]", "small-encdec", ("f2softmax",)),
        ("mle", "small-encdec", ()),
    ]
    assert [r.values["ppl/word"].mean if "ppl/word" in r.values else None for r in table.rows] == [None, 9.0, 9.0]
    text = render(with_statistics([table]), "markdown")
    assert "| lead \\[control\\] |  | 1 |" in text
    note = "Controls of methods that are not in this table: lead, mle.decoupled"
    assert note in text.replace("\\", "")
    assert note[:60] in render(with_statistics([table]), "terminal")
    rows = json.loads(render(with_statistics([table]), "json"))["tables"][0]["methods"]
    assert [row["controls"] for row in rows] == [["attexp", "adadec", "adadec_attexp"], ["f2softmax"], []]
    lines = csv.DictReader(io.StringIO(render(with_statistics([table]), "csv")))
    assert {line["method"]: line["marks"] for line in lines} == {
        "lead": "control", "mle.decoupled": "control", "mle": ""}  # fmt: skip


def test_only_methods_with_a_row_are_named(tmp_path):
    """`lead` is a control of three methods; a variant is its method, and a control of the table is none."""
    for method in ("mle", "lead", "adadec.released", "f2softmax", "emo.shuffled"):
        scored(trained(tmp_path, method), METRIC)
    scored(trained(tmp_path, "mle"), METRIC, decoding="decoupled:greedy", shown_as="mle.decoupled")
    text = render(with_statistics([one(tmp_path)]), "markdown").replace("\\", "")
    start = "Controls: "
    (line,) = [line.strip("*").removeprefix(start) for line in text.splitlines() if start in line]
    assert set(line.split("; ")) == {
        "lead for adadec",
        "mle.decoupled for f2softmax",
    }
    assert "Controls of methods that are not in this table: emo.shuffled" in text


def test_a_reading_with_a_likelihood_of_its_own_keeps_it(tmp_path):
    cell = trained(tmp_path, "adadec", backbone="bilstm")
    for name, value in (("", 10.0), ("adadec.swapped", 14.0)):
        scored(cell, {**METRIC, "bleu-3": value}, shown_as=name)
        scored(cell, {"ppl/word": 2 * value}, kind="likelihood", decoding=None, shown_as=name)
    table = one(tmp_path)
    assert [(r.method, r.values["bleu-3"].mean, r.values["ppl/word"].mean) for r in table.rows] == [
        ("adadec.swapped", 14.0, 28.0), ("adadec", 10.0, 20.0)]  # fmt: skip


# Sweeps -----------------------------------------------------------------------------------------------------------


def made(method, decoding, value, *, seeds=(0,), backbone="small-causal", signature="s", conflict=False):
    found = {f"{DIVERSITY} [{signature}]": Value(dict.fromkeys(seeds, value), None, signature, conflict)}
    return TableRow(method, backbone, decoding, {}, found, seeds=set(seeds))


SWEEP = [made("mle.matched", f"topk={k}", value) for k, value in ((1, 90.0), (5, 70.0), (20, 50.0), (100, 30.0))]
MLE = made("mle", "topk=3", 80.0)


def sweep():
    return [made(row.method, row.decoding, row.values[f"{DIVERSITY} [s]"].mean) for row in SWEEP]


def kept(*rows):
    return [(row.method, row.decoding) for row in keep_matched([MLE, *rows])[1:] if row.method != "f2softmax"]


@pytest.mark.parametrize(
    ("value", "nearest"), [(95.0, "topk=1"), (79.0, "topk=5"), (61.0, "topk=5"), (59.0, "topk=20"), (0.0, "topk=100")]
)
def test_the_nearest_rung_is_kept_and_the_others_go(value, nearest):
    rows = [*sweep(), made("f2softmax", "topk=3", value)]
    found = keep_matched([MLE, *rows])
    assert [(r.method, r.decoding) for r in found] == [
        ("mle", "topk=3"), ("f2softmax", "topk=3"), ("mle.matched", nearest)]  # fmt: skip
    met = found[-1].values[f"{DIVERSITY} [s]"].mean
    assert found[-1].remark == f"{nearest} is the nearest to f2softmax topk=3 in self-bleu-2: {met:.1f} to {value:.1f}"
    assert [r.remark for r in found[:-1]] == ["", ""]


def test_every_row_to_meet_has_its_own_rung_and_one_rung_may_meet_two():
    found = keep_matched([*sweep(), made("f2softmax", "topk=3", 71.0), made("f2softmax", "nucleus=0.9", 69.0),
                          made("f2softmax", "greedy", 91.0)])  # fmt: skip
    assert {r.decoding: r.remark.count("is the nearest") for r in found if r.method == "mle.matched"} == {
        "topk=5": 2, "topk=1": 1}  # fmt: skip
    (both,) = [r.remark for r in found if r.decoding == "topk=5"]
    assert both == ("topk=5 is the nearest to f2softmax topk=3 in self-bleu-2: 70.0 to 71.0; "
                    "topk=5 is the nearest to f2softmax nucleus=0.9 in self-bleu-2: 70.0 to 69.0")  # fmt: skip


@pytest.mark.parametrize(
    "goal",
    [
        made("mle", "topk=5", 60.0),
        made("f2softmax", "posterior:topk=3", 60.0),
        made("f2softmax", "topk=3", 60.0, seeds=(0, 1)),
        made("f2softmax", "topk=3", 60.0, backbone="f2-decoder"),
        made("f2softmax", "topk=3", 60.0, signature="other lengths"),
        made("f2softmax", "topk=3", 60.0, conflict=True),
    ],
    ids=["no such method", "another distribution", "other seeds", "another backbone", "another measure", "a conflict"],
)
def test_a_sweep_with_nothing_to_meet_is_left_out(goal):
    assert [name for name, _ in kept(*sweep(), goal)] == (["mle"] if goal.method == "mle" else [])


def test_rows_without_a_sweep_stay_as_they_are():
    rows = [MLE, made("f2softmax", "topk=3", 60.0), made("mle.decoupled", "decoupled:topk=3", 1.0)]
    assert keep_matched(rows) == rows
    assert [matched_method(row) for row in (*rows, *SWEEP[:1])] == ["", "", "", "f2softmax"]


def test_a_table_shows_the_rung_that_meets_with_its_remark(tmp_path):
    mle = trained(tmp_path, "mle", task="text", backbone="small-causal")
    scored(mle, {"ppl/word": 30.0}, kind="likelihood", decoding=None)
    scored(mle, {DIVERSITY: 80.0}, decoding="topk=3")
    for k, value in ((1, 90.0), (5, 70.0), (20, 50.0)):
        scored(mle, {DIVERSITY: value}, decoding=f"topk={k}", shown_as="mle.matched")
    scored(trained(tmp_path, "f2softmax", task="text", backbone="small-causal"), {DIVERSITY: 52.0}, decoding="topk=3")
    table = one(tmp_path, columns="all")
    assert labels(table) == {"mle", "f2softmax", "mle.matched [control]"}
    (row,) = [r for r in table.rows if r.method == "mle.matched"]
    assert (row.decoding, row.values[DIVERSITY].mean, row.values["ppl/word"].mean) == ("topk=20", 50.0, 30.0)
    note = "mle.matched: topk=20 is the nearest to f2softmax topk=3 in self-bleu-2: 50.0 to 52.0"
    assert note in render(with_statistics([table]), "markdown").replace("\\", "")


# What a cell starts from ------------------------------------------------------------------------------------------


def start(seed=0, *, steps=300, method="mle", data="", **more):
    """What a record says of the cell its weights start from."""
    config = {"task": "text", "method": method, "backbone": "small-causal", "seed": seed, "preset": "small",
              "trainer": {"steps": steps, "init_from": f"hash of {seed}"}, "task_options": {}}  # fmt: skip
    return {"key": f"{method}{seed}{steps}", "config": config, "method": {"class": method, "version": 1},
            "data": {"train": manifest("train", "official", data)}, "start": None, **more}  # fmt: skip


def tuned(root, seed, origin, bleu):
    scored(trained(root, "face", seed, start=origin, trainer__init_from=f"checkpoint {seed}"), {"bleu-3": bleu})


def test_seeds_of_one_kind_of_start_are_one_row(tmp_path):
    for seed in (0, 1):
        tuned(tmp_path, seed, start(seed), 30.0 + seed)
    (found,) = one(tmp_path).rows
    assert (found.label, found.values["bleu-3"].mean, found.values["bleu-3"].n) == ("face", 30.5, 2)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (start(steps=600), "start.trainer.steps=600"),
        (start(method="ul_token"), "start.method=ul_token"),
        (start(data="another text"), "start.data.sha256="),
        (start(start=start(steps=9)), "start.start.trainer.steps=9"),
        (None, "start.trainer.steps=None"),
    ],
)
def test_other_starts_are_other_rows_and_are_named(tmp_path, other, says):
    tuned(tmp_path, 0, start(), 30.0)
    tuned(tmp_path, 0, other, 40.0)
    table = one(tmp_path)
    assert [row.values["bleu-3"].mean for row in table.rows] == [40.0, 30.0]
    assert says in table.rows[0].label
    assert not any(value.conflict for row in table.rows for value in row.values.values())
