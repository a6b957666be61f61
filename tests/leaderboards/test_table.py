"""Tables: numbers share a column only when they measure the same thing on the same rows, and nothing is hidden."""

import csv
import io

import pytest

from bench.base.keys import key_of
from bench.leaderboards.leaderboards import Leaderboards, with_statistics
from bench.leaderboards.render.board import board
from bench.leaderboards.render.formats import render
from bench.leaderboards.row import TableRow, name_settings
from bench.leaderboards.table import metric_name, tables, task_title
from bench.store.store import Store
from bench.tasks import KNOWN_TEXTS, TASKS
from tests.leaderboards.handmade import manifest, ready, scored, trained


def one(root, **options):
    """The only table of a store."""
    (table,), _ = tables(Store(root), **options)
    return table


def row(table, method, decoding="greedy"):
    (found,) = [r for r in table.rows if r.method == method and r.decoding == decoding]
    return found


# Means and seeds --------------------------------------------------------------------------------------------------


def test_a_row_is_the_mean_over_its_seeds(tmp_path):
    for seed, bleu in ((0, 30.0), (1, 31.0), (2, 35.0)):
        ready(tmp_path, seed=seed, bleu=bleu)
    table = one(tmp_path)
    (found,) = table.rows
    assert found.values["bleu-1"].mean == 32.0
    assert found.values["bleu-1"].n == 3
    assert found.values["bleu-1"].by_seed == {0: 30.0, 1: 31.0, 2: 35.0}
    assert (found.seeds, len(found.keys), found.label) == ({0, 1, 2}, 3, "mle")
    assert "| mle | small-encdec | 3 | 32.00 ±6.57 | 16.00 ±3.29 | 20.00 ±0.00 |" in render(
        with_statistics([table]), "markdown"
    )


def test_the_order_of_the_files_changes_nothing(tmp_path):
    methods = [("mle", 0, 30.0), ("trime", 0, 31.0), ("mle", 1, 32.0), ("histalign", 0, 29.0), ("trime", 1, 33.0)]
    texts = set()
    for turn in range(5):
        root = tmp_path / str(turn)
        for method, seed, bleu in methods[turn:] + methods[:turn]:
            ready(root, method, seed, bleu=bleu)
        texts.add(render(with_statistics(tables(Store(root))[0]), "csv"))
    assert len(texts) == 1


def test_likelihood_values_stand_on_every_decoding_of_their_cell(tmp_path):
    for method in ("mle", "trime"):
        cell = scored(trained(tmp_path, method), {"bleu-3": 20.0})
        scored(cell, {"bleu-3": 22.0}, decoding="beam=4")
        scored(cell, {"ppl/word": 9.0}, kind="likelihood", decoding=None)
    table = one(tmp_path)
    assert [(r.label, r.values["bleu-3"].mean, r.values["ppl/word"].mean) for r in table.rows] == [
        ("mle (beam=4)", 22.0, 9.0), ("trime (beam=4)", 22.0, 9.0), ("mle (greedy)", 20.0, 9.0),
        ("trime (greedy)", 20.0, 9.0)]  # fmt: skip


def test_a_cell_without_texts_yet_has_a_row_too(tmp_path):
    ready(tmp_path, "trime")
    scored(trained(tmp_path, "mle"), {"ppl/word": 9.0}, kind="likelihood", decoding=None)
    table = one(tmp_path)
    assert [(r.method, sorted(r.values)) for r in table.rows] == [
        ("trime", ["bleu-1", "bleu-3", "ppl/word"]), ("mle", ["ppl/word"])]  # fmt: skip


def test_a_mean_over_fewer_seeds_than_the_row_says_so(tmp_path):
    ready(tmp_path, seed=0)
    scored(trained(tmp_path, seed=1), {"bleu-1": 30.0, "bleu-3": 15.0})
    text = render(with_statistics([one(tmp_path)]), "markdown")
    assert "| 2 | 30.00 | 15.00 | 20.00 (n=1) |" in text


def test_a_value_that_is_not_defined_is_no_number(tmp_path):
    scored(trained(tmp_path), {"bleu-1": 30.0, "bleu-3": None})
    values = one(tmp_path).rows[0].values
    assert {name: (value.mean, value.n, value.missing_reason) for name, value in values.items()} == {
        "bleu-1": (30.0, 1, ""), "bleu-3": (None, 0, "undefined")}  # fmt: skip


# Best -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values", "best"),
    [
        ("bleu-3", [30.0, 31.0, 29.0], {1}),
        ("bleu-3", [30.0, 31.0, 31.0], {1, 2}),
        ("bleu-3", [30.001, 30.004, 29.0], {0, 1}),
        ("bleu-3", [30.004, 30.006, 29.0], {1}),
        ("ppl/word", [30.0, 31.0, 29.0], {2}),
        ("ppl/word", [29.0, 31.0, 29.0], {0, 2}),
        ("rank/float32", [30.0, 31.0, 29.0], set()),
    ],
)
def test_the_best_value_as_shown_is_best_and_ties_share(tmp_path, name, values, best):
    for method, value in zip(("mle", "trime", "histalign"), values, strict=True):
        scored(trained(tmp_path, method), {name: value})
    table = one(tmp_path, columns="all")
    methods = {("mle", "trime", "histalign")[i] for i in best}
    assert {table.rows[i].method for i in table.best_and_second(name)[0]} == methods


def test_a_trained_row_needs_three_seeds_to_be_marked_and_controls_alone_are_not(tmp_path):
    ready(tmp_path, "mle", bleu=50.0)
    for method, bleu in (("lead", 30.0), ("copy_exemplar", 20.0)):
        scored(trained(tmp_path, method, backbone=""), {"bleu-1": bleu, "bleu-3": bleu / 2})
    assert one(tmp_path).best_and_second("bleu-3", 3) == (set(), set())
    for seed in range(3):
        ready(tmp_path, "trime", seed, bleu=25.0)
    table = one(tmp_path)
    marked = [[table.rows[i].method for i in places] for places in table.best_and_second("bleu-3", 3)]
    assert marked == [["lead"], ["trime"]]
    rows = board(with_statistics([table]))["tables"][0]["methods"]
    assert [row["method"] for row in rows if row["values"]["bleu-3"]["best"]] == ["lead"]


def test_a_memory_without_weight_in_every_seed_is_a_remark(tmp_path):
    for seed, weight in enumerate((0.0, 0.0, 0.1)):
        scored(trained(tmp_path / "one", "mle.cache", seed, memory=weight), {"bleu-1": 1.0})
        scored(trained(tmp_path / "none", "mle.cache", seed, memory=0.0), {"bleu-1": 1.0})
    assert row(one(tmp_path / "one"), "mle.cache").remark == ""
    assert "validation chose the cache weight 0" in row(one(tmp_path / "none"), "mle.cache").remark


def test_another_backbone_stands_in_its_own_block_and_ranks_for_itself(tmp_path):
    for backbone, bleus in (("small-encdec", (30.0, 31.0)), ("bart-large", (29.0, 40.0))):
        for method, bleu in zip(("mle", "trime"), bleus, strict=True):
            ready(tmp_path, method, bleu=bleu, backbone=backbone)
    ready(tmp_path, "lead", bleu=30.5)
    table = one(tmp_path)
    assert [(row.method, row.backbone) for row in table.rows] == [
        ("trime", "bart-large"),
        ("mle", "bart-large"),
        ("trime", "small-encdec"),
        ("mle", "small-encdec"),
        ("lead", ""),
    ]
    assert table.blocks == {"bart-large": [0, 1, 4], "small-encdec": [2, 3, 4]}
    assert table.best_and_second("bleu-3") == ({0, 2}, {4})


# What never shares a table ----------------------------------------------------------------------------------------

OFFICIAL = {"train": manifest("train", "official"), "test": manifest("test", "official")}
PROXY = {**OFFICIAL, "train": manifest("train", "proxy", "other")}
CHANGED = {**OFFICIAL, "test": manifest("test", "official", "changed upstream")}


@pytest.mark.parametrize(
    ("cell", "scores"),
    [
        ({}, {"ids": ("a", "b")}), ({}, {"ids": ("a", "b", "d")}), ({}, {"split": "valid"}),
        ({"preset": "paper"}, {}), ({"task": "ambiguous_template"}, {}), ({"data": PROXY}, {}),
        ({"data": CHANGED}, {}), ({}, {"sha256": "f" * 64}),
    ],
    ids=["fewer", "others", "split", "preset", "task", "trained on others", "other content", "content changed later"],
)  # fmt: skip
def test_numbers_over_other_rows_have_a_table_of_their_own(tmp_path, cell, scores):
    scored(trained(tmp_path, "mle"), {"bleu-3": 20.0})
    scored(trained(tmp_path, "trime", **cell), {"bleu-3": 30.0}, **scores)
    found, _ = tables(Store(tmp_path))
    assert [len(table.rows) for table in found] == [1, 1]


def test_what_a_cell_was_first_evaluated_on_does_not_part_it_from_others(tmp_path):
    ids = ("v1", "v2")
    first = trained(tmp_path, "mle")  # trained by a run that evaluated the test split, then evaluated on valid
    scored(first, {"bleu-3": 20.0}, split="valid", ids=ids)
    data = {"train": manifest("train", "official"), "valid": manifest("valid", "official")}
    scored(trained(tmp_path, "trime", data=data), {"bleu-3": 30.0}, split="valid", ids=ids)
    (table,), _ = tables(Store(tmp_path))
    assert [r.method for r in table.rows] == ["trime", "mle"]


def test_a_probe_stands_with_the_rows_its_prompts_are_from(tmp_path):
    for method in ("mle", "trime"):
        cell = trained(tmp_path, method, task="ambiguous_template")
        for ids, value in ((("a", "b", "c"), 5.0), (("a", "b"), 6.0)):
            scored(cell, {"ppl/token": value}, kind="likelihood", decoding=None, ids=ids)
        scored(cell, {"acc@2/full": 7.0}, kind="probe", decoding=None, ids=("a",), of_rows=key_of(["a", "b", "c"]))
    found, _ = tables(Store(tmp_path))
    assert [(t.n, ["acc@2/full" in r.values for r in t.rows]) for t in found] == [
        (3, [True, True]), (2, [False, False])]  # fmt: skip


# What never shares a column ---------------------------------------------------------------------------------------


def test_unlike_signatures_never_share_a_column(tmp_path):
    for method, version in (("mle", 1), ("trime", 2), ("histalign", 2)):
        signature = f"bleu|n:3|version:{version}"
        scored(trained(tmp_path, method), {"bleu-3": 20.0 + version}, signatures={"bleu-3": signature})
    table = one(tmp_path)
    assert table.columns == ["bleu-3 [version:1]", "bleu-3 [version:2]"]
    assert {r.method: list(r.values) for r in table.rows} == {
        "mle": ["bleu-3 [version:1]"],
        "trime": ["bleu-3 [version:2]"],
        "histalign": ["bleu-3 [version:2]"],
    }
    assert [metric_name(column) for column in table.columns] == ["bleu-3", "bleu-3"]


def test_the_default_columns_are_those_of_the_task_and_all_are_all(tmp_path):
    scored(trained(tmp_path), {"other": 1.0, "bleu-3": 2.0, "bleu-1": 3.0})
    assert one(tmp_path).columns == ["bleu-1", "bleu-3"]
    assert one(tmp_path, columns="all").columns == ["bleu-1", "bleu-3", "other"]
    scored(trained(tmp_path / "toy", task="toy"), {"b": 1.0, "a": 2.0})
    assert one(tmp_path / "toy").columns == ["a", "b"]


# What never shares a row ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"trainer__lr": 0.5}, "trainer.lr=0.5"),
        ({"method_options": {"alpha": 0.5}}, "method.alpha=0.5"),
        ({"backbone_options__width": 64}, "backbone.width=64"),
        ({"task_options__style": "plog"}, "task.style=plog"),
        ({"code": {"class": "a:B", "source_sha256": "0123456789abcdef" * 4}}, "code.source_sha256=01234567"),
    ],
)
def test_other_settings_are_other_rows_and_are_named(tmp_path, changes, says):
    ready(tmp_path, bleu=30.0)
    ready(tmp_path, bleu=31.0, **changes)
    ready(tmp_path, "trime", bleu=10.0)
    table = one(tmp_path)
    assert len(table.rows) == 3
    assert says in table.rows[0].label
    assert table.rows[2].label == "trime"


def test_settings_are_named_once_and_decodings_in_short_where_that_is_clear():
    def labels(*decodings):
        rows = [
            TableRow(
                "face",
                "small-causal",
                decoding,
                {"backbone_options": {"tied": tied}, "start": {"backbone_options": {"tied": tied}}},
            )
            for decoding, tied in zip(decodings, (True, None), strict=True)
        ]
        name_settings(rows)
        return [row.settings for row in rows]

    assert labels("topk=3+max_new_tokens=64", "greedy") == [
        "backbone.tied=True, topk=3",
        "backbone.tied=default, greedy",
    ]
    assert labels("topk=3+max_new_tokens=64", "topk=3+max_new_tokens=32") == [
        "backbone.tied=True, topk=3+max_new_tokens=64", "backbone.tied=default, topk=3+max_new_tokens=32"]  # fmt: skip


def test_other_evaluation_batches_are_other_rows_not_a_conflict(tmp_path):
    cell = trained(tmp_path)
    for batch_size, value in ((50, 20.0), (10, 20.000001)):
        scored(cell, {"bleu-3": value}, batch_size=batch_size)
    table = one(tmp_path)
    assert [r.label for r in table.rows] == ["mle (evaluation.batch_size=10)", "mle (evaluation.batch_size=50)"]
    assert not any(value.conflict for r in table.rows for value in r.values.values())


# What is not a number ---------------------------------------------------------------------------------------------


def test_a_conflict_is_shown_and_never_averaged_or_best(tmp_path):
    ready(tmp_path, bleu=98.0)
    ready(tmp_path, bleu=99.0, extra="the same configuration under another key")
    ready(tmp_path, "trime", bleu=40.0)
    ready(tmp_path, "histalign", bleu=35.0)
    table = one(tmp_path)
    value = row(table, "mle").values["bleu-3"]
    assert (value.conflict, value.by_seed, value.missing_reason[:8]) == (True, {}, "one seed")
    assert not row(table, "mle").values["ppl/word"].conflict
    assert [r.method for r in table.rows] == ["trime", "histalign", "mle"]
    assert table.best_and_second("bleu-3")[0] == {0}
    assert "| mle | small-encdec | 1 | conflict | conflict | " in render(with_statistics([table]), "markdown")
    assert "98.5" not in render(with_statistics([table]), "json")


@pytest.mark.parametrize("method", ["a-first", "zz-last", "mle"])
def test_a_diverged_seed_is_shown_wherever_it_stands(tmp_path, method):
    ready(tmp_path, "mle", 0)
    ready(tmp_path, method, 1)
    trained(tmp_path, method, 2, status="diverged")
    table = one(tmp_path)
    found = row(table, method)
    assert (found.diverged, found.values["bleu-3"].n) == (1, len(found.seeds) - 1)
    texts = f" (div 1/{len(found.seeds)}) |", f"\n*{method}: 1 of {len(found.seeds)} seeds diverged"
    assert all(text in render(with_statistics([table]), "markdown") for text in texts)


def test_a_run_of_two_stores_has_diverged_once(tmp_path):
    for store in ("first", "second"):
        ready(tmp_path / store)
        trained(tmp_path / store, "trime", status="diverged")
    (table,), _ = tables(Store(tmp_path / "first", tmp_path / "second"))
    assert row(table, "trime", "").seeds_text == "0 (div 1/1)"


def test_a_method_that_diverged_always_has_a_row_without_numbers(tmp_path):
    ready(tmp_path, "mle")
    for seed in (0, 1):
        trained(tmp_path, "aaa", seed, status="diverged")
    text = render(with_statistics([one(tmp_path)]), "markdown")
    assert "| aaa | small-encdec | 0 (div 2/2) |  |  |  |" in text


def test_a_diverged_cell_of_other_data_is_not_in_the_table(tmp_path):
    ready(tmp_path, "mle")
    trained(tmp_path, "trime", status="diverged", data=PROXY)
    trained(tmp_path, "trime", status="diverged", preset="paper")
    assert [r.method for r in one(tmp_path).rows] == ["mle"]


def test_a_limited_cell_is_left_out_and_counted(tmp_path):
    ready(tmp_path)
    ready(tmp_path, "trime", trainer__limit=64)
    found, left_out = tables(Store(tmp_path))
    assert [r.method for table in found for r in table.rows] == ["mle"]
    assert Leaderboards((), left_out).notes == ["1 run with --limit is left out"]
    (only,), left_out = tables(Store(tmp_path), limited=True)
    assert [r.method for r in only.rows] == ["trime"]
    assert (only.watermark, left_out) == ("all data: cut by --limit 64", {})


def test_a_failed_cell_is_counted_with_its_task(tmp_path):
    ready(tmp_path)
    for task in ("logicnlg", "ambiguous_template"):
        config = {"task": task, "method": "mle", "trainer": {"limit": None}}
        Store(tmp_path).cell(task, "mle", "k").write_record("failed.json", {"status": "failed", "config": config}, {})
    assert Leaderboards(*tables(Store(tmp_path))).notes == ["2 runs failed and have no number"]
    assert Leaderboards(*tables(Store(tmp_path), ["logicnlg"])).notes == ["1 run failed and has no number"]


# Watermarks, order and published rows -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("train", "test", "whole", "watermark"),
    [
        ("official", "official", True, ""),
        ("proxy", "official", True, "train data: a proxy of the published"),
        ("own", "official", True, "train data: own corpus"),
        ("sample", "sample", True, "train data: sample; test data: sample"),
        ("official", "official", False, "only 3 rows of the test split"),
        ("subset", "official", False, "train data: subset; only 3 rows of the test split"),
    ],
)
def test_what_is_not_comparable_is_marked(tmp_path, train, test, whole, watermark):
    data = {"train": manifest("train", train), "test": manifest("test", test)}
    scored(trained(tmp_path, data=data), {"bleu-3": 20.0}, whole=whole)
    table = one(tmp_path)
    assert table.watermark == watermark
    assert ("a declared subset" in table.title) == (not whole)
    for form in ("terminal", "markdown"):
        assert ("NOT COMPARABLE WITH PUBLISHED NUMBERS" in render(with_statistics([table]), form)) == bool(watermark)


def test_tables_stand_in_the_order_of_tasks_and_only_wanted_ones(tmp_path):
    for task in ("logicnlg", "toy", "ambiguous_template"):
        scored(trained(tmp_path, task=task), {"bleu-3": 20.0})
    found, _ = tables(Store(tmp_path))
    assert [table.task for table in found] == ["ambiguous_template", "logicnlg", "toy"]
    assert [t.task for t in tables(Store(tmp_path), ["toy", "logicnlg"])[0]] == ["logicnlg", "toy"]
    assert tables(Store(tmp_path), ["nothing"])[0] == []


def test_published_numbers_stand_beside_the_test_split_only(tmp_path):
    ready(tmp_path)
    assert {p.method for p in one(tmp_path).published} == {"mle", "trime", "histalign.released"}
    scored(trained(tmp_path / "valid"), {"bleu-3": 20.0}, split="valid")
    assert one(tmp_path / "valid").published == ()


# What people wrote, and what could not be computed -----------------------------------------------------------------


def test_what_people_wrote_is_a_row_of_its_own_and_never_best(tmp_path):
    for seed, bleu in ((0, 30.0), (1, 40.0)):
        scored(trained(tmp_path, "mle", seed), {"bleu-1": bleu, "bleu-3": 9.0}, human={"bleu-1": 90.0})
        scored(trained(tmp_path, "trime", seed), {"bleu-1": 20.0, "bleu-3": 9.0}, human={"bleu-1": 90.0})
    table = one(tmp_path)
    assert [found.values["bleu-1"].mean for found in table.human] == [90.0]
    assert [r.method for r in table.rows] == ["mle", "trime"]
    assert table.best_and_second("bleu-1")[0] == {0}
    last = render(with_statistics([table]), "markdown").split("| human (the true continuations) |")[1].splitlines()[0]
    assert last == "  |  | 90.00 |  |"
    lines = list(csv.DictReader(io.StringIO(render(with_statistics([table]), "csv"))))
    assert [float(line["mean"]) for line in lines if line["method"] == "human"] == [90.0]


def test_a_column_that_lacks_its_model_everywhere_is_left_out_and_said_so(tmp_path):
    why = {"tapas-acc": "tapas-acc|not applicable: needs owner/tapas: bench doctor"}
    for method in ("mle", "trime"):
        scored(trained(tmp_path, method), {"bleu-3": 20.0, "tapas-acc": None}, signatures=why)
    table = one(tmp_path)
    assert table.columns == ["bleu-3"]
    assert "left out: tapas-acc: needs owner/tapas: bench doctor; then bench score" in render(
        with_statistics([table]), "terminal"
    )
    every = one(tmp_path, columns="all")
    assert every.columns == ["bleu-3", "tapas-acc"]
    assert "n/a: tapas-acc: needs owner/tapas: bench doctor" in render(with_statistics([every]), "terminal")


def test_a_column_that_one_method_lacks_stays(tmp_path):
    scored(trained(tmp_path, "mle"), {"bleu-3": 20.0, "tapas-acc": 50.0})
    why = {"tapas-acc": "tapas-acc|version:1|not applicable: needs owner/tapas: bench doctor"}
    scored(trained(tmp_path, "trime"), {"bleu-3": 20.0, "tapas-acc": None}, signatures=why)
    scored(trained(tmp_path, "mle", 1), {"bleu-3": 20.0, "tapas-acc": None}, signatures=why)
    table = one(tmp_path)
    assert table.columns == ["bleu-3", "tapas-acc"], "one column: a reason is no other definition"
    assert row(table, "mle").values["tapas-acc"].by_seed == {0: 50.0}
    assert row(table, "trime").values["tapas-acc"].missing_reason == "needs owner/tapas: bench doctor"
    assert "n/a: tapas-acc: needs owner/tapas: bench doctor" in render(with_statistics([table]), "terminal")


# Rows without a model -----------------------------------------------------------------------------------------------

OTHERS = {"trainer__steps": 20, "backbone": "bilstm", "backbone_options": {"width": 256}}


def test_no_setting_of_a_training_parts_rows_without_a_model(tmp_path):
    """`bigram` has no trained model either, but it counts what is read in its steps."""
    for seed, changes in enumerate(({}, OTHERS)):
        scored(trained(tmp_path, "lead", seed, with_model=False, **changes), {"bleu-1": 30.0})
        for method in ("mle", "bigram"):
            scored(trained(tmp_path, method, seed, **changes), {"bleu-1": 30.0 + seed})
    scored(trained(tmp_path, "lead", 0, with_model=False, task_options={"style": "other"}), {"bleu-1": 31.0})
    (table,), _ = tables(Store(tmp_path))
    found = sorted((row.method, row.values["bleu-1"].mean, sorted(row.seeds)) for row in table.rows)
    assert found == [
        ("bigram", 30.0, [0]),
        ("bigram", 31.0, [1]),
        ("lead", 30.0, [0, 1]),
        ("lead", 31.0, [0]),
        ("mle", 30.0, [0]),
        ("mle", 31.0, [1]),
    ]


# Older code ---------------------------------------------------------------------------------------------------------

OLD, NEW = {"class": "bigram", "version": 2}, {"class": "bigram", "version": 3}


def test_rows_of_older_code_are_left_out_and_counted(tmp_path):
    for seed in (0, 1):
        ready(tmp_path, "bigram", seed, code=OLD, bleu=99.0)
        ready(tmp_path, "bigram", seed, code=NEW, bleu=30.0, trainer__lr=0.5)
    ready(tmp_path, "mle")
    (table,), left_out = tables(Store(tmp_path))
    assert [(row.label, row.values["bleu-1"].mean) for row in table.rows] == [("bigram", 30.0), ("mle", 30.0)]
    assert Leaderboards((), left_out).notes == ["2 runs of older code of bigram are left out"]


def test_a_cell_in_two_tables_counts_once(tmp_path):
    for code in (OLD, NEW):
        cell = scored(trained(tmp_path, "bigram", code=code), {"bleu-1": 30.0})
        scored(cell, {"bleu-1": 30.0}, ids=("a", "b"), whole=False)
    found, left_out = tables(Store(tmp_path))
    assert len(found) == 2
    assert Leaderboards((), left_out).notes == ["1 run of older code of bigram is left out"]


def test_older_code_stands_where_there_is_nothing_newer(tmp_path):
    old, new = {"class": "mle", "version": 1}, {"class": "mle", "version": 2}
    ready(tmp_path, "mle", code=old)
    scored(trained(tmp_path, "mle", code=new), {"bleu-1": 10.0}, decoding="topk=3")  # another decoding
    ready(tmp_path, "mle", code=new, task="toy")  # another task
    ready(tmp_path, "mle", code=new, backbone="bart-large")
    found, left_out = tables(Store(tmp_path))
    (table,) = (table for table in found if table.task == "logicnlg")
    assert {(row.decoding, row.backbone) for row in table.rows} == {
        ("greedy", "small-encdec"),
        ("topk=3", "small-encdec"),
        ("greedy", "bart-large"),
    }
    assert Leaderboards((), left_out).notes == []


def test_a_model_that_starts_from_older_code_is_older_too(tmp_path):
    for version in (1, 2):
        start = {"config": {"method": "mle", "trainer": {}}, "method": {"class": "mle", "version": version}}
        start["data"] = {"train": {"sha256": "0"}}
        ready(tmp_path, "face", start=start, bleu=10.0 * version)
    (table,), left_out = tables(Store(tmp_path))
    assert [row.values["bleu-1"].mean for row in table.rows] == [20.0]
    assert Leaderboards((), left_out).notes == ["1 run of older code of face is left out"]


def test_code_of_ones_own_has_no_version_and_always_stands(tmp_path):
    for letter in "ab":
        ready(tmp_path, "a:B", code={"class": "a:B", "source_sha256": letter * 64})
    (table,), left_out = tables(Store(tmp_path))
    assert len(table.rows) == 2
    assert Leaderboards((), left_out).notes == []


# Names of tables ----------------------------------------------------------------------------------------------------

KING_JAMES = next(sha256 for sha256, name in KNOWN_TEXTS.items() if name == "King James Bible")


def test_every_task_has_a_name_of_its_own():
    titles = [task_title(task) for task in TASKS]
    assert len(set(titles)) == len(titles)
    assert (task_title("wikitext103"), task_title("own.py:Mine")) == ("WikiText-103", "own.py:Mine")


def test_a_text_has_the_name_that_its_user_gave_it_and_a_public_one_its_own(tmp_path):
    kjv = {"train": {**manifest("train", "own"), "sha256": KING_JAMES}, "test": manifest("test", "own")}
    scored(trained(tmp_path, "mle", task="text", data=kjv), {"kld": 1.0})
    (table,) = tables(Store(tmp_path))[0]
    assert table.title == "text (King James Bible) · test split, 3 rows · preset small"
    assert table.watermark == "train data: King James Bible; test data: King James Bible"
    letters = {split: manifest(split, "own", "letters") for split in ("train", "test")}
    scored(trained(tmp_path, "mle", task="text", data=letters, title="Letters", extra="x"), {"kld": 1.0})
    names = [table["name"] for table in board(with_statistics(tables(Store(tmp_path))[0]))["tables"]]
    assert sorted(names) == ["King James Bible", "Letters"]
