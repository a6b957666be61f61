"""Published: which files a split has, and that every row has one id of its own."""

from pathlib import Path

import pytest

from bench.errors import DataError, MissingError
from bench.tasks.core.example import Example
from bench.tasks.files.published import evaluated_too, published_rows, split_files
from tests.tasks.news_files import write

A, B = {"id": "1", "text": "long a", "short": "a"}, {"id": "2", "text": "long b", "short": "b"}


def rows_of(path: Path, **options: bool) -> list[Example]:
    return list(published_rows([path], source="text", target="short", **options))


@pytest.mark.parametrize(
    ("names", "split", "wanted"),
    [
        (["train.jsonl", "test.jsonl"], "train", ["train.jsonl"]),
        (["validation.jsonl.gz"], "valid", ["validation.jsonl.gz"]),
        (["val.parquet"], "valid", ["val.parquet"]),
        (["data/train-00000-of-00001-16503b0c.parquet"], "train", ["data/train-00000-of-00001-16503b0c.parquet"]),
        (["train-00001-of-00002.parquet", "train-00000-of-00002.parquet"], "train",
         ["train-00000-of-00002.parquet", "train-00001-of-00002.parquet"]),
        (["other_train.jsonl.gz"], "train", ["other_train.jsonl.gz"]),
        (["other_train.jsonl", "train.parquet"], "train", ["train.parquet"]),
    ],
)  # fmt: skip
def test_the_files_of_a_split_are_known_by_name(
    tmp_path: Path, names: list[str], split: str, wanted: list[str]
) -> None:
    for name in names:
        write(tmp_path / name, [A])
    found = split_files(tmp_path, split, "get it", also=["other_train.jsonl"])
    assert [str(path.relative_to(tmp_path)) for path in found] == wanted


@pytest.mark.parametrize(
    "names",
    [
        ["train-00000-of-00002.parquet"],
        ["train-00001-of-00002.parquet"],
        ["train-00000-of-00001.parquet", "train-00001-of-00002.parquet"],
        ["train-a-of-b.parquet"],
    ],
)
def test_a_part_that_is_missing_is_told(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        write(tmp_path / name, [A])
    with pytest.raises(MissingError, match=r"expected every part N of M .*found train-.*; get it"):
        split_files(tmp_path, "train", "get it")


def test_a_split_without_a_file_says_what_it_may_be_called(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"valid\.jsonl, validation\.jsonl, .*mine\.txt \(\.gz too\).*none; get it"):
        split_files(tmp_path, "valid", "get it", also=["mine.txt"])


def test_a_row_without_an_id_gets_one_of_its_content(tmp_path: Path) -> None:
    bare = [{key: value for key, value in A.items() if key != "id"}, {**B, "id": None}, {**A, "id": "  "}]
    found = rows_of(write(tmp_path / "train.jsonl", bare))
    turned = rows_of(write(tmp_path / "turned.parquet", [{**B, "id": None}, {**A, "id": None}]))
    assert [row.source for row in found] == ["long a", "long b", "long a"]
    assert found[0].id.startswith("content-")
    assert found[2].id == f"{found[0].id}-2"
    assert [row.id for row in turned] == [found[1].id, found[0].id]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({**B, "id": "1"}, "has the id '1' that line 1 has"),
        ({**B, "id": ["2"]}, "expected text in the field 'id', found list"),
        ({**B, "short": " "}, "the field 'short' is empty"),
        ({**B, "short": "\u00a0\u200b\n\u2060\ufeff"}, "the field 'short' is empty"),
        ({**B, "text": ""}, "the field 'text' is empty"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, row: object, says: str) -> None:
    path = write(tmp_path / "train.jsonl", [A, row, {**B, "id": "3"}])  # type: ignore[list-item]
    with pytest.raises(DataError, match=rf"train\.jsonl, line 2: {says}"):
        rows_of(path)


def test_a_source_may_be_empty_where_publishers_have_such_rows_but_no_target(tmp_path: Path) -> None:
    (found,) = rows_of(write(tmp_path / "train.jsonl", [{**A, "text": ""}]), empty_sources=True)
    assert found.source == ""
    with pytest.raises(DataError, match="the field 'short' is empty"):
        rows_of(write(tmp_path / "train.jsonl", [{**A, "short": ""}]), empty_sources=True)


def test_rows_of_both_splits_are_counted_by_id_and_by_source() -> None:
    train = [Example("1", "a", ""), Example("2", "b", ""), Example("3", "c", ""), Example("4", "", "")]
    assert evaluated_too(train, [Example("1", "x", ""), Example("x", "b", ""), Example("y", "", "")]) == (
        "2 of 4 rows are rows of the test file too"
    )
    assert evaluated_too(train, []) == ""
