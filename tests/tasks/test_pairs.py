"""Pairs: a user's own rows in every form, shares that stay, references of one source, bad rows, the sample."""

import csv
import gzip
import io
from pathlib import Path

import pytest

from bench.cells.score import computed
from bench.errors import DataError, MissingError, UsageError
from bench.metrics import METRICS
from bench.store.files import StoredRows
from bench.tasks.pairs import Pairs
from tests.tasks.news_files import contents, loaded, write

ROWS = [(f'question {i}, or "{i}"?', f"answer\n{i}") for i in range(60)]


def table(rows: list[tuple[str, str]], delimiter: str = ",", header: tuple[str, str] = ("source", "target")) -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows([header, *rows])
    return text.getvalue().encode()


def made(path: Path, rows: list[tuple[str, str]] = ROWS) -> Path:
    name = path.name.removesuffix(".gz")
    if name.endswith((".csv", ".tsv")):
        content = table(rows, "\t" if name.endswith(".tsv") else ",")
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
        return path
    return write(path, [{"source": source, "target": target} for source, target in rows])


@pytest.mark.parametrize("name", ["x.csv.gz", "x.tsv", "x.parquet"])
def test_every_form_gives_the_same_rows(tmp_path: Path, name: str) -> None:
    task = loaded(Pairs, None, path=str(made(tmp_path / name)))
    found = {split: contents(task, split) for split in ("train", "valid", "test")}
    every = {int(id.split("/")[1]): (source, target) for rows in found.values() for id, source, target in rows}
    assert every == dict(enumerate(ROWS))
    assert all(len(rows) >= 1 for rows in found.values())
    assert {task.split(split).status for split in found} == {"own"}
    assert task.split("test").origin.endswith(f"{name}; valid and test held out")


def test_a_folder_with_a_file_for_each_split_is_read_as_it_is(tmp_path: Path) -> None:
    for at, name in enumerate(("my.train.csv", "dev.jsonl", "test.parquet")):
        made(tmp_path / name, ROWS[at : at + 1])
    task = loaded(Pairs, tmp_path)
    assert [contents(task, split) for split in ("train", "valid", "test")] == [
        [(f"{split}/0", *ROWS[at])] for at, split in enumerate(("train", "valid", "test"))
    ]


def test_rows_of_one_source_stay_together_and_a_row_stays_when_others_come(tmp_path: Path) -> None:
    rows = [(f"question {i % 200}", f"answer {i}") for i in range(600)]
    task = loaded(Pairs, made(tmp_path / "x.jsonl", rows))
    sources = {split: {e.source for e in task.split(split).examples} for split in ("train", "valid", "test")}
    assert not sources["train"] & sources["test"]
    assert not sources["valid"] & sources["test"]
    assert 2 <= len(sources["test"]) <= 25
    more = loaded(Pairs, made(tmp_path / "y.jsonl", [("new", "row"), *rows]))
    assert {e.source for e in more.split("test").examples} - {"new"} == sources["test"]


def test_targets_of_one_source_are_references_of_each_other_where_they_are_evaluated(tmp_path: Path) -> None:
    rows = [("q", "a"), ("r", "b"), ("q", "c"), ("q", "a"), (" q ", "d")]
    for split in ("train", "test"):
        made(tmp_path / f"{split}.jsonl", rows)
    (tmp_path / "valid.jsonl").write_bytes((tmp_path / "test.jsonl").read_bytes())
    references = {s: [e.references for e in loaded(Pairs, tmp_path).split(s).examples] for s in ("train", "test")}
    assert references["train"] == [("a",), ("b",), ("c",), ("a",), ("d",)]
    assert references["test"] == [("a", "c", "d"), ("b",), ("a", "c", "d"), ("a", "c", "d"), ("a", "c", "d")]
    own = loaded(Pairs, tmp_path, references="own").split("test").examples
    assert [e.references for e in own] == references["train"]


def test_rows_of_one_source_are_one_example_of_a_test_over_items(tmp_path: Path) -> None:
    for split in ("train", "valid", "test"):
        made(tmp_path / f"{split}.jsonl", [("q", "a"), ("r", "b"), ("q", "c")])
    rows = [{"id": f"test/{number}", "text": "a b"} for number in range(3)]
    for references, n in (("same_source", 2), ("own", 3)):
        task = loaded(Pairs, tmp_path, references=references)
        stored, gold = StoredRows("", {"split": "test"}, rows, ""), task.gold(task.split("test").examples)
        _, sums = computed(METRICS["rouge"], stored, gold, task)
        assert {len(column) for column in sums.values()} == {n}


def test_columns_may_have_other_names(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(table(ROWS, header=("Q", "A")))
    task = loaded(Pairs, tmp_path / "x.csv", source="Q", target="A")
    assert len(contents(task, "train")) + len(contents(task, "valid")) + len(contents(task, "test")) == 60
    with pytest.raises(DataError, match=r"x\.csv, line 2: has no field 'source'; set task\.source .*: 'Q', 'A'"):
        loaded(Pairs, tmp_path / "x.csv").split("train")


def test_a_word_of_a_megabyte_is_a_bad_row(tmp_path: Path) -> None:
    path = made(tmp_path / "x.jsonl", [("long", "b" * 10**6), *ROWS])
    with pytest.raises(DataError, match=r"x\.jsonl, line 1: has 1,000,000 characters without a space"):
        loaded(Pairs, path).split("train")


def test_what_cannot_be_used_is_one_clear_line(tmp_path: Path) -> None:
    for rows in ([], ROWS[:2]):
        with pytest.raises(DataError, match=r"expected (rows with source and target|at least 3 different rows)"):
            loaded(Pairs, made(tmp_path / "few.csv", rows)).split("train")
    with pytest.raises(DataError, match=r"notes\.txt: expected a file named \*\.jsonl"):
        loaded(Pairs, write(tmp_path / "notes.txt", ["a"])).split("train")
    with pytest.raises(MissingError, match=r"gone\.csv is not there"):
        loaded(Pairs, tmp_path / "gone.csv").split("train")
    for options in ({"test_path": "x"}, {"source": "a", "target": "a"}, {"source": ""}):
        with pytest.raises(UsageError, match=r"task\.(valid_path and task\.test_path need|source and task\.target)"):
            Pairs(**options)
