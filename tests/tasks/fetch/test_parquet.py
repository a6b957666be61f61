"""Parquet files as rows: what is read, what is refused, and how little is in memory at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.errors import DataError
from bench.tasks.fetch.hub import rows_of
from tests.resident import resident
from tests.tasks.fake_hub import parquet
from tests.tasks.large_parquet import NEEDS_PROC, write_large
from tests.tasks.large_parquet import ROWS as LARGE

ROWS = [{"text": f"é {i}", "box": {"head": [f"{i}", "ß\t"][: i % 3], "n": i, "who": f"w{i}"}} for i in range(1200)]
ROWS[7] = {"text": None, "box": None}
BODY = parquet(ROWS, row_group=500)


def read(tmp_path: Path, body: bytes, *columns: str) -> list[dict[str, Any]]:
    (tmp_path / "a.parquet").write_bytes(body)
    return list(rows_of(tmp_path / "a.parquet", columns, "owner/rows, a.parquet"))


@pytest.mark.parametrize("row_group", [1, 700, 5000])
def test_rows_keep_order_nulls_lists_and_records(row_group: int, tmp_path: Path) -> None:
    expected: list[dict[str, Any]] = []
    for row in ROWS:
        box: Any = row["box"]
        expected.append({"text": row["text"], "box": box and {"head": box["head"], "who": box["who"]}})
    assert read(tmp_path, parquet(ROWS, row_group), "text", "box.head[]", "box.who") == expected


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_every_kind_of_text_is_text(kind: pa.DataType, tmp_path: Path) -> None:
    body = parquet(pa.table({"text": pa.array(["x", None, "x"]).cast(kind)}))
    assert read(tmp_path, body, "text") == [{"text": "x"}, {"text": None}, {"text": "x"}]


@pytest.mark.parametrize(("column", "expected"), [
    ("body", "no column 'body'; there is text, box"),
    ("box", "column 'box' holds struct<.*>, expected text"),
    ("box.tail", "no column 'box.tail'; there is head, n, who"),
    ("box.n", "column 'box.n' holds int64, expected text"),
    ("box.head", "column 'box.head' holds list<.*>, expected text"),
    ("text[]", "holds string, expected a list of texts"),
    ("box.n[]", "holds int64, expected a list of texts"),
    ("text.deeper", "no column 'text.deeper'; there is nothing"),
])  # fmt: skip
def test_a_schema_of_another_kind_is_refused(column: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"^owner/rows, a.parquet: .*{expected}"):
        read(tmp_path, BODY, column)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    wrong = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe"))
    with pytest.raises(DataError, match="cannot be read as parquet"):
        read(tmp_path, parquet(pa.table({"text": wrong})), "text")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(BODY) - 1), st.integers(0, 255)), max_size=3), st.integers(0, len(BODY)))
def test_a_damaged_file_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]], length: int
) -> None:
    body = bytearray(BODY)
    for at, value in changes:
        body[at] = value
    complaint = ""
    try:
        rows = read(tmp_path_factory.getbasetemp(), bytes(body if changes else body[:length]), "text", "box.head[]")
    except DataError as error:
        complaint = str(error)
    assert "\n" not in complaint
    assert complaint or all(set(row) == {"text", "box"} for row in rows)


@NEEDS_PROC
@pytest.mark.parametrize("row_group", [1000, pytest.param(LARGE, marks=pytest.mark.slow)])
def test_a_large_file_is_read_in_little_memory(row_group: int, tmp_path: Path) -> None:
    path = tmp_path / "large.parquet"
    write_large(path, row_group)
    rows = rows_of(path, ["text"], "rows")
    next(rows)
    before, most = resident(), 0.0
    for number, _ in enumerate(rows):
        if number % 500 == 0:
            most = max(most, resident() - before)
    assert number == LARGE - 2
    assert most < 40, "MiB more than after the first row; the text has 150"
