"""Superseded: two versions of a method never stand side by side, and nothing is left out without a word."""

from bench.leaderboards.table import notes_of, tables
from bench.store.store import Store
from tests.leaderboards.handmade import ready, scored, trained

OLD, NEW = {"class": "bigram", "version": 2}, {"class": "bigram", "version": 3}


def test_rows_of_older_code_are_left_out_and_counted(tmp_path):
    for seed in (0, 1):
        ready(tmp_path, "bigram", seed, code=OLD, bleu=99.0)
        ready(tmp_path, "bigram", seed, code=NEW, bleu=30.0, trainer__lr=0.5)
    ready(tmp_path, "mle")
    (table,), left_out = tables(Store(tmp_path))
    assert [(row.label, row.values["bleu-1"].mean) for row in table.rows] == [("bigram", 30.0), ("mle", 30.0)]
    assert notes_of(left_out) == ["2 runs of older code of bigram are left out"]


def test_a_cell_in_two_tables_counts_once(tmp_path):
    for code in (OLD, NEW):
        cell = scored(trained(tmp_path, "bigram", code=code), {"bleu-1": 30.0})
        scored(cell, {"bleu-1": 30.0}, ids=("a", "b"), whole=False)
    found, left_out = tables(Store(tmp_path))
    assert len(found) == 2
    assert notes_of(left_out) == ["1 runs of older code of bigram are left out"]


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
    assert notes_of(left_out) == []


def test_a_model_that_starts_from_older_code_is_older_too(tmp_path):
    for version in (1, 2):
        start = {"config": {"method": "mle", "trainer": {}}, "method": {"class": "mle", "version": version}}
        start["data"] = {"train": {"sha256": "0"}}
        ready(tmp_path, "face", start=start, bleu=10.0 * version)
    (table,), left_out = tables(Store(tmp_path))
    assert [row.values["bleu-1"].mean for row in table.rows] == [20.0]
    assert notes_of(left_out) == ["1 runs of older code of face are left out"]


def test_code_of_ones_own_has_no_version_and_always_stands(tmp_path):
    for letter in "ab":
        ready(tmp_path, "a:B", code={"class": "a:B", "source_sha256": letter * 64})
    (table,), left_out = tables(Store(tmp_path))
    assert len(table.rows) == 2
    assert notes_of(left_out) == []
