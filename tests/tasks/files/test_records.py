"""Records and lines: a good row comes through whole, and every bad one is named with file, line and reason."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from bench.errors import DataError
from bench.tasks.files.bad_rows import BadRows
from bench.tasks.files.lines import aligned, lines
from bench.tasks.files.records import FileRecord, read_records

COLUMNS = {"source": "source", "target": "target"}
ROWS = [{"source": f"a text {i}", "target": f"its end {i}"} for i in range(8)]


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def read(path: Path, content: bytes, policy: str = "fail", split: str = "train") -> tuple[list[FileRecord], BadRows]:
    path.write_bytes(content)
    bad_rows = BadRows(split, policy)  # type: ignore[arg-type]
    return list(read_records(path, bad_rows, columns=COLUMNS, optional={"id": "id"})), bad_rows


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
def test_a_bad_row_is_refused_or_counted(tmp_path: Path, row: Any, reason: str) -> None:
    content = jsonl([ROWS[0], row, ROWS[1]])
    with pytest.raises(DataError, match=rf"x\.jsonl, line 2: .*{reason}.*--on-bad-row skip"):
        read(tmp_path / "x.jsonl", content)
    found, bad_rows = read(tmp_path / "x.jsonl", content, "skip")
    assert [record.number for record in found] == [0, 2]
    assert [(skip.file, skip.row) for skip in bad_rows.skipped] == [("x.jsonl", "line 2")]
    for split in ("valid", "test"):
        with pytest.raises(DataError, match=f"a {split} split never skips rows"):
            read(tmp_path / "x.jsonl", content, "skip", split)


def test_quoted_cells_may_have_line_ends_and_rows_are_named_by_their_first_line(tmp_path: Path) -> None:
    content = b'source,target\n"a\nb",c\nd\n"e ""f""",g\n'
    found, bad_rows = read(tmp_path / "x.csv", content, "skip")
    assert [(r.row, r.texts["source"]) for r in found] == [("line 2", "a\nb"), ("line 5", 'e "f"')]
    assert bad_rows.skipped[0][1:] == ("line 4", "expected 2 cells, as the header has, found 1")


@pytest.mark.parametrize(("content", "reason"), [(b"", "found nothing"), (b"a,a\n1,2\n", "found one name twice")])
def test_a_table_needs_a_header(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(DataError, match=rf"x\.csv, line 1: expected the names of columns, {reason}"):
        read(tmp_path / "x.csv", content)


def test_files_that_go_together_line_by_line(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two.gz"
    one.write_text("a\nb\n \nd\n")
    two.write_bytes(gzip.compress(b"1\n2\n3\n4\n"))
    bad_rows = BadRows("train", "skip")
    assert list(aligned(one, two, bad_rows)) == [(1, "a", "1"), (2, "b", "2"), (4, "d", "4")]
    assert bad_rows.skipped == [("one", "line 3", "is empty; expected a text")]
    two.write_bytes(gzip.compress(b"1\n2\n"))
    with pytest.raises(DataError, match="expected as many lines in both; one ends after line 2"):
        list(aligned(one, two, bad_rows))


def test_lines_keep_their_ends_and_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xef\xbb\xbfa\r\n\xff\n\nb")
    bad_rows = BadRows("train", "skip")
    assert list(lines(tmp_path / "x", bad_rows)) == [(1, "a\r\n"), (3, "\n"), (4, "b")]
    assert bad_rows.skipped == [("x", "line 2", "byte 1 is not UTF-8 (invalid start byte); save the file as UTF-8")]
