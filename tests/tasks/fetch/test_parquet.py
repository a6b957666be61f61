"""Parquet files as rows: what is read, what is refused, and how little is in memory at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.errors import DataError
from bench.tasks.fetch.parquet import rows_of
from tests.resident import resident
from tests.tasks.fake_hub import parquet
from tests.tasks.fetch.copied_rows import COLUMNS, digest, table
from tests.tasks.large_parquet import NEEDS_PROC, write_large
from tests.tasks.large_parquet import ROWS as LARGE

ROWS = [{"text": f"é {i}", "box": {"head": [f"{i}"], "n": i}} for i in range(1200)]
BODY = parquet(ROWS, row_group=500)


def read(tmp_path: Path, body: bytes, columns: dict[str, str]) -> list[dict[str, Any]]:
    (tmp_path / "a.parquet").write_bytes(body)
    return list(rows_of(tmp_path / "a.parquet", columns, "owner/rows, a.parquet"))


def test_rows_keep_their_order_over_batches_and_row_groups(tmp_path: Path) -> None:
    assert read(tmp_path, BODY, {"a": "text", "b.c": "box.head[]"}) == [
        {"a": row["text"], "b": {"c": row["box"]["head"]}}  # type: ignore[index]
        for row in ROWS
    ]


@pytest.mark.parametrize("row_group", [1, 700, 5000])
def test_rows_are_those_that_were_read_without_the_library(row_group: int, tmp_path: Path) -> None:
    """The hash is of the rows that `pyarrow.parquet` alone gave, before `datasets` read them."""
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(table(), path, row_group_size=row_group)
    found = digest(rows_of(path, COLUMNS, "rows"))
    assert found == "6c9913b960e9d154d44c824180bb06ac67f28c6c27f3893e65b368ef87fc1d0e"


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_every_kind_of_text_is_text(kind: pa.DataType, tmp_path: Path) -> None:
    body = parquet(pa.table({"text": pa.array(["x", None, "x"]).cast(kind)}))
    assert read(tmp_path, body, {"text": "text"}) == [{"text": "x"}, {"text": None}, {"text": "x"}]


@pytest.mark.parametrize(("column", "expected"), [
    ("body", "no column 'body'; there is text, box"),
    ("box", "column 'box' holds struct<.*>, expected text"),
    ("box.tail", "no column 'box.tail'; there is head, n"),
    ("box.n", "column 'box.n' holds int64, expected text"),
    ("box.head", "column 'box.head' holds list<.*>, expected text"),
    ("text[]", "expected a list of texts"),
    ("box.n[]", "expected a list of texts"),
    ("text.deeper", "expected the column 'text.deeper', found string where 'deeper' should be"),
])  # fmt: skip
def test_a_schema_of_another_kind_is_refused(column: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"^owner/rows, a.parquet: .*{expected}"):
        read(tmp_path, BODY, {"field": column})


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    wrong = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe"))
    with pytest.raises(DataError, match="cannot be read as parquet"):
        read(tmp_path, parquet(pa.table({"text": wrong})), {"text": "text"})


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(BODY) - 1), st.integers(0, 255)), max_size=3), st.integers(0, len(BODY)))
def test_a_damaged_file_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]], length: int
) -> None:
    body = bytearray(BODY)
    for at, value in changes:
        body[at] = value
    damaged = tmp_path_factory.getbasetemp() / "damaged.parquet"
    damaged.write_bytes(bytes(body if changes else body[:length]))
    complaint = ""
    try:
        rows = list(rows_of(damaged, {"a": "text", "b": "box.head[]"}, "rows"))
    except DataError as error:
        complaint = str(error)
    assert "\n" not in complaint
    assert complaint or all(set(row) == {"a", "b"} for row in rows)


@NEEDS_PROC
@pytest.mark.parametrize("row_group", [1000, pytest.param(LARGE, marks=pytest.mark.slow)])
def test_a_large_file_is_read_in_little_memory(row_group: int, tmp_path: Path) -> None:
    path = tmp_path / "large.parquet"
    write_large(path, row_group)
    rows = rows_of(path, {"a": "text"}, "rows")
    next(rows)
    before, most = resident(), 0.0
    for number, _ in enumerate(rows):
        if number % 500 == 0:
            most = max(most, resident() - before)
    assert number == LARGE - 2
    assert most < 40, "MiB more than after the first row; the text has 150"
