"""Names of tables: the task as published, and what parts tables of one task."""

from bench.leaderboards.render.board import table_names
from bench.leaderboards.table import tables, task_title
from bench.store.store import Store
from bench.tasks import KNOWN_TEXTS, TASKS
from tests.leaderboards.handmade import manifest, ready, scored, trained

KING_JAMES = next(sha256 for sha256, name in KNOWN_TEXTS.items() if name == "King James Bible")


def names(root):
    return table_names(tables(Store(root))[0])


def test_every_task_has_a_name_of_its_own():
    titles = [task_title(task) for task in TASKS]
    assert len(set(titles)) == len(titles)
    assert (task_title("wikitext103"), task_title("own.py:Mine")) == ("WikiText-103", "own.py:Mine")


def test_a_single_table_has_the_name_of_its_task(tmp_path):
    ready(tmp_path)
    assert names(tmp_path) == ["LogicNLG"]


def test_tables_of_a_task_are_told_apart_by_the_fewest_facts(tmp_path):
    ready(tmp_path)
    ready(tmp_path, preset="paper", backbone="bart")
    assert sorted(names(tmp_path)) == ["LogicNLG · preset paper", "LogicNLG · preset small"]


def test_a_second_fact_is_named_where_the_first_is_not_enough(tmp_path):
    sample = {"train": manifest("train", "sample"), "test": manifest("test", "sample", "s")}
    ready(tmp_path)
    scored(trained(tmp_path, "mle"), {"bleu-1": 1.0}, ids=("a", "b"))
    scored(trained(tmp_path, "mle", data=sample, extra="x"), {"bleu-1": 1.0}, ids=("a", "b"))
    assert sorted(names(tmp_path)) == [
        "LogicNLG · built-in samples",
        "LogicNLG · published data · 2 rows",
        "LogicNLG · published data · 3 rows",
    ]


def test_tables_that_differ_in_nothing_named_are_numbered(tmp_path):
    ready(tmp_path)
    other = {"train": manifest("train", "official", "x"), "test": manifest("test", "official")}
    scored(trained(tmp_path, "mle", data=other, extra="x"), {"bleu-1": 1.0})
    assert names(tmp_path) == ["LogicNLG", "LogicNLG (2)"]


def test_a_text_has_the_name_that_its_user_gave_it_and_a_public_one_its_own(tmp_path):
    kjv = {"train": {**manifest("train", "own"), "sha256": KING_JAMES}, "test": manifest("test", "own")}
    scored(trained(tmp_path, "mle", task="text", data=kjv), {"kld": 1.0})
    (table,) = tables(Store(tmp_path))[0]
    assert table.title == "text (King James Bible) · test split, 3 rows · preset small"
    assert table.watermark == "train data: King James Bible; test data: King James Bible"
    assert names(tmp_path) == ["King James Bible"]
    mine = {split: manifest(split, "own", "mine") for split in ("train", "test")}
    scored(trained(tmp_path, "mle", task="text", data=mine, title="Letters", extra="x"), {"kld": 1.0})
    assert sorted(names(tmp_path)) == ["King James Bible", "Letters"]
