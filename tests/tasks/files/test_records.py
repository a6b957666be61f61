"""Records and lines: a good row comes through whole, and every bad one is named with file, line and reason."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from bench.errors import DataError
from bench.tasks.files.lines import aligned, lines
from bench.tasks.files.records import FileRecord, read_records

COLUMNS = {"source": "source", "target": "target"}
ROWS = [{"source": f"a text {i}", "target": f"its end {i}"} for i in range(8)]


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def read(path: Path, content: bytes) -> list[FileRecord]:
    path.write_bytes(content)
    return list(read_records(path, columns=COLUMNS, optional={"id": "id"}))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"source": "a"}, "has no field 'target'; its fields: 'source'"),
        ({"source": "a", "target": None}, r"expected text in the field 'target', found nothing \(null\)"),
        ({"source": "a", "target": 3}, "expected text in the field 'target', found int 3"),
        ({"source": "a", "target": " \n"}, "the field 'target' is empty"),
        ({"source": "a", "target": "\ud800"}, "has the character"),
        (["a", "b"], "expected a JSON object with named fields, found list"),
    ],
)
def test_a_bad_row_is_refused(tmp_path: Path, row: Any, reason: str) -> None:
    with pytest.raises(DataError, match=rf"x\.jsonl, line 2: .*{reason}"):
        read(tmp_path / "x.jsonl", jsonl([ROWS[0], row, ROWS[1]]))


def test_quoted_cells_may_have_line_ends_and_rows_are_named_by_their_first_line(tmp_path: Path) -> None:
    content = b'source,target\n"a\nb",c\n"e ""f""",g\n'
    found = read(tmp_path / "x.csv", content)
    assert [(r.row, r.texts["source"]) for r in found] == [("line 2", "a\nb"), ("line 4", 'e "f"')]
    with pytest.raises(DataError, match=r"x\.csv, line 5: expected 2 cells, as the header has, found 1"):
        read(tmp_path / "x.csv", content + b"d\n")
    (row,) = read(tmp_path / "x.csv", b"source,target,,\na,b,,\n")  # columns without a name are left alone
    assert row.texts == {"source": "a", "target": "b", "id": ""}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "found nothing"),
        (b"a,a\n1,2\n", "found one name twice"),
        (b"b,,a,,a\n", "found one name twice: 'a'"),
        (b"a,b\r1,2\r", r"found: new-line .*; save the file .* line feeds"),
        (b'"a"x,b\n', "found: ',' expected after '\"'$"),
    ],
)
def test_a_table_needs_a_header(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(DataError, match=rf"x\.csv, line 1: expected the names of columns, {reason}"):
        read(tmp_path / "x.csv", content)


@pytest.mark.parametrize("indent", [None, 1])
def test_an_array_in_place_of_lines_is_refused_with_what_to_do(tmp_path: Path, indent: int | None) -> None:
    with pytest.raises(DataError, match=r"x\.json, line 1: expected a JSON object.*; write one object a line$"):
        read(tmp_path / "x.json", json.dumps(ROWS, indent=indent).encode())


def test_files_that_go_together_line_by_line(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two.gz"
    one.write_text("a\nb\n")
    two.write_bytes(gzip.compress(b"1\n2\n"))
    assert list(aligned(one, two)) == [(1, "a", "1"), (2, "b", "2")]
    one.write_text("a\nb\n \n")
    with pytest.raises(DataError, match="expected as many lines in both; one ends after line 2"):
        list(aligned(one, two))
    two.write_bytes(gzip.compress(b"1\n2\n3\n"))
    with pytest.raises(DataError, match="one, line 3: is empty; expected a text"):
        list(aligned(one, two))


def test_lines_keep_their_ends_and_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xef\xbb\xbfa\r\n\nb\n\xff")
    found = lines(tmp_path / "x")
    assert [next(found) for _ in range(3)] == [(1, "a\r\n"), (2, "\n"), (3, "b\n")]
    with pytest.raises(DataError, match=r"x, line 4: byte 1 is not UTF-8 .*; save the file as UTF-8"):
        next(found)
