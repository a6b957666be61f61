"""Documents of text files: formats, and files damaged in every way one meets."""

from __future__ import annotations

import gzip
import random
import tracemalloc
from pathlib import Path

import pytest

from bench.errors import DataError, MissingError
from bench.tasks.text import Unit, read_documents


def read(path: Path, content: bytes, field: str = "text", unit: Unit = "line") -> list[tuple[str, str]]:
    path.write_bytes(content)
    return [(d.row, " ".join(d.text.split())) for d in read_documents([path], field, unit)]


# Documents --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("line", [("line 2", "a b"), ("line 3", "c"), ("line 6", "d")]),
        ("blank_line", [("line 2", "a b c"), ("line 6", "d")]),
        ("file", [("line 2", "a b c d")]),
    ],
)
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_units_of_plain_text(tmp_path: Path, unit: Unit, expected: list[tuple[str, str]], newline: bytes) -> None:
    content = b"\n a b\nc\n \t\n\nd".replace(b"\n", newline)
    assert read(tmp_path / "x.txt", content, unit=unit) == expected
    assert read(tmp_path / "x.txt", b"\xef\xbb\xbf" + content, unit=unit) == expected
    assert read(tmp_path / "no-ending", gzip.compress(content, mtime=0), unit=unit) == expected


def test_records_of_a_jsonl(tmp_path: Path) -> None:
    content = b'{"text": "a\\nb", "n": 1}\r\n\r\n{"text": ""}\n{"text": "caf\xc3\xa9 \\u00e9"}'
    expected = [("line 1", "a b"), ("line 3", ""), ("line 4", "café é")]
    for name in ("x.jsonl", "x.json", "x.NDJSON", "x.jsonl.gz"):
        assert read(tmp_path / name, content, unit="file") == expected
    assert read(tmp_path / "x.jsonl", b'\xef\xbb\xbf{"text": "b", "body": "a"}', field="body") == [("line 1", "a")]


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        (b'{"text": "a"}\n{"body": "b", "title": "c"}', 2, r"has no field 'text'; set task\.field .*: 'body', 'title'"),
        (b"{}", 1, "has no field 'text'.*none"),
        (b'{"text": null}', 1, r"found nothing \(null\)"),
        (b'{"text": ["a", "b"]}', 1, r"found list \['a', 'b'\]"),
        (b'{"text": 3}', 1, "found int 3"),
        (b'\n["a"]', 2, r"expected a JSON object with named fields, found list \['a'\]"),
        (b'{"text": "a"', 1, r"expected a JSON object, found: .* at column 13"),
        (b"plain words", 1, "expected a JSON object, found: Expecting value at column 1"),
        (b'{"text": ' + b"9" * 9999 + b"}", 1, "expected a JSON object"),
        (b"[" * 99_999, 1, "expected a JSON object"),
        (b'{"text": "a\\u0000b"}', 1, "has the character '.x00'"),
        (b'{"text": "a\\ud800"}', 1, "has the character '.ud800'"),
        (b'{"text": "\xff"}', 1, "byte 11 is not UTF-8"),
    ],
)
def test_a_bad_record_is_named(tmp_path: Path, content: bytes, line: int, says: str) -> None:
    with pytest.raises(DataError, match=rf"x\.jsonl, line {line}: .*{says}") as found:
        read(tmp_path / "x.jsonl", content)
    assert len(str(found.value)) < 400 + len(str(tmp_path))
    assert "\n" not in str(found.value)


PACKED = gzip.compress(
    "\n".join(f"line {i} " + random.Random(i).randbytes(40).hex() for i in range(2000)).encode(), mtime=0
)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"ok\nbad \xff byte\n", r"line 2: byte 5 is not UTF-8 \(invalid start byte\); save the file as UTF-8"),
        (b"ok\ncut \xc3", r"line 2: byte 5 is not UTF-8"),
        ("wörter".encode("latin-1"), "line 1: byte 2 is not UTF-8"),
        ("words".encode("utf-16"), "line 1: byte 1 is not UTF-8"),
        ("words".encode("utf-16-le"), "line 1: has a NUL character"),
        (b"ok\n\nnul \0 byte", "line 3: has a NUL character"),
        (b"", "expected text, found none"),
        (b"\xef\xbb\xbf\n", "expected text, found none"),
        (PACKED[: len(PACKED) // 2], r"line \d{3}: the packed file is damaged or cut"),
        (PACKED[:12], "line 1: the packed file is damaged or cut"),
        (PACKED[:5000] + b"\0" * 9 + PACKED[5009:], r"line \d+: the packed file is damaged or cut"),
        (PACKED[:-4] + b"oops", "the packed file is damaged or cut"),
        (PACKED + b"tail", "the packed file is damaged or cut"),
        (b"PK\x03\x04\x14\0\0\0", "line 1: has a NUL character"),
    ],
)
def test_a_damaged_text_is_named_with_its_line(tmp_path: Path, content: bytes, says: str) -> None:
    with pytest.raises(DataError, match=rf"x\.txt.*{says}") as found:
        read(tmp_path / "x.txt", content)
    assert "\n" not in str(found.value)


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"gone\.txt, line 1: cannot be read \(No such file"):
        list(read_documents([tmp_path / "gone.txt"]))


def test_a_line_beyond_all_bounds_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.tasks.files.lines.LONGEST_LINE", 1000)
    assert read(tmp_path / "x.txt", b"a" * 999 + b"\nb") == [("line 1", "a" * 999), ("line 2", "b")]
    bomb = gzip.compress(b"a\n" + b"b" * 2 * 10**7, mtime=0)
    tracemalloc.start()
    with pytest.raises(DataError, match=r"line 2: is longer than 1,000 bytes"):
        read(tmp_path / "x.txt", bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**6
