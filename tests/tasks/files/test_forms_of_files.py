"""Forms of files: line ends, a byte order mark, packing and parquet change no row; nothing that shows is no row."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.errors import BenchError, DataError
from bench.tasks import TASKS
from bench.tasks.core.example import Example
from bench.tasks.fetch.sources import Source
from tests.tasks.files.test_mutated_files import FILES

LINE_ENDS = {"LF": b"\n", "CRLF": b"\r\n"}
MARK = b"\xef\xbb\xbf"
NOT_PACKED = ("questions-words.txt", "templates.json", "all_csv/1-1.csv", ".xml")
"""What publishers have plain or in an archive, and no reader takes packed by itself."""
INVISIBLE = "\u00a0\u200b \u2060\u00ad\ufe0f\u3164\u2800\U000e0020"


def rows(folder: Path, task: str, split: str = "train") -> list[Example]:
    found = TASKS[task].load()()
    found.load(Source(folder, "test"))
    return list(found.split(split).examples)


def written(folder: Path, files: Iterable[tuple[str, bytes]]) -> Path:
    for name, content in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


@pytest.mark.parametrize("task", FILES)
def test_no_form_of_a_file_changes_a_row(tmp_path: Path, task: str) -> None:
    expected = rows(written(tmp_path / "plain", FILES[task].items()), task)
    for end, marked, packed in product(LINE_ENDS, (False, True), (False, True)):
        files = []
        for name, content in FILES[task].items():
            content = MARK * marked + content.replace(b"\n", LINE_ENDS[end])
            if packed and not name.endswith(NOT_PACKED):
                name, content = f"{name}.gz", gzip.compress(content)
            files.append((name, content))
        folder = written(tmp_path / f"{end}-{marked}-{packed}", files)
        assert rows(folder, task) == expected, (end, marked, packed)


def table_of(content: bytes) -> pa.Table:
    return pa.Table.from_pylist([json.loads(line) for line in content.splitlines()])


@pytest.mark.parametrize("task", ["xsum", "cnndm", "nsmc", "lyrics"])
def test_rows_of_parquet_are_those_of_json_lines(tmp_path: Path, task: str) -> None:
    expected = rows(written(tmp_path / "jsonl", FILES[task].items()), task)
    folder = tmp_path / "parquet"
    folder.mkdir()
    for name, content in FILES[task].items():
        pq.write_table(table_of(content), folder / name.replace(".jsonl", ".parquet"))
    assert rows(folder, task) == expected


@pytest.mark.parametrize("task", FILES)
@pytest.mark.parametrize(
    "content", [b"", b"\n\n", MARK, f"{INVISIBLE}\n".encode()], ids=["0", "blank", "BOM", "hidden"]
)
def test_a_file_without_rows_is_named(tmp_path: Path, task: str, content: bytes) -> None:
    first = next(iter(FILES[task]))
    files = dict(FILES[task])
    for name in files:
        if name.startswith(("data/", first.split(".")[0])):
            files[name] = content
    folder = written(tmp_path / task, files.items())
    with pytest.raises(BenchError) as raised:
        rows(folder, task)
    assert task in str(raised.value)


@pytest.mark.parametrize("task", ["xsum", "cnndm", "nsmc"])
def test_an_id_that_is_there_twice_is_named_with_file_and_row(tmp_path: Path, task: str) -> None:
    name, content = next(iter(FILES[task].items()))
    first, second, *others = content.splitlines(keepends=True)
    field = "id"
    if task == "nsmc":
        field = "movie_id"
    row = {**json.loads(second), field: json.loads(first)[field]}
    changed = b"".join([first, json.dumps(row).encode() + b"\n", *others])
    folder = written(tmp_path, {**FILES[task], name: changed}.items())
    with pytest.raises(DataError, match=r"train\.jsonl, line 2: has the id '0'.*expected each id once"):
        rows(folder, task)
