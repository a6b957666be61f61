"""Bad rows: every reader names file, line and reason."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from bench.errors import DataError
from bench.tasks import TASKS
from tests.tasks.files.test_mutated_files import FILES, WORDS, N, lines, rows
from tests.tasks.news_files import loaded

BOX = {"column_header": ["name"], "content": ["ann"]}
FORMS: Mapping[str, Mapping[str, bytes]] = {
    **FILES,
    "wikibio, hub": {"train.jsonl": rows(target_text=WORDS, input_text=[{"table": BOX, "context": "c"}] * N)},
    "pairs, jsonl": {"train.jsonl": rows(source=WORDS, target=WORDS[::-1])},
    "pairs, tsv": {"train.tsv": b"source\ttarget\n" + lines([f"{text}\tb" for text in WORDS])},
    "writingprompts, hub": {"train.jsonl": rows(prompt=WORDS, story=[text * 9 for text in WORDS])},
}
BAD = [
    ("lyrics", "train.jsonl", b'{"text": " "}', "the field 'text' is empty"),
    ("wikibio", "train.box", b"name tova", "expected field_1:word between tabs, found 'name tova'"),
    ("wikibio", "train.summary", b" ", "is empty; expected a text"),
    ("wikibio", "train.summary", b"a\0", "has a NUL character"),
    ("wikibio, hub", "train.jsonl", b'{"target_text": "a"}', "expected input_text.table with column_header"),
    ("wikibio, hub", "train.jsonl", b'{"target_text": "a", "input_text": {"table": {"column_header": [], "content": '
     b'["a"]}}}', "two lists of texts, equally long"),
    ("pairs, jsonl", "train.jsonl", b'{"source": "a"}', "set task.target to one of its fields: 'source'"),
    ("pairs, jsonl", "train.jsonl", b"[" * 99_999, "expected a JSON object"),
    ("pairs, jsonl", "train.jsonl", b'{"source": ' + b"9" * 9_999 + b"}", "expected a JSON object"),
    ("pairs, jsonl", "train.jsonl", b'{"source": "\xff", "target": "b"}', "byte 13 is not UTF-8"),
    ("pairs", "train.csv", b'"a"b,c', "expected csv cells, found"),
    ("pairs, tsv", "train.tsv", b"a\0\tb", "has a NUL character"),
    ("writingprompts", "train.wp_target", b"a\0b", "has a NUL character"),
    ("writingprompts, hub", "train.jsonl", b'{"prompt": "a"}', "has no field 'story'"),
    ("gigaword", "train.title.txt", b"t\xff", "byte 2 is not UTF-8"),
]  # fmt: skip


@pytest.mark.parametrize(("form", "name", "bad", "says"), BAD)
def test_a_bad_row_is_named(tmp_path: Path, form: str, name: str, bad: bytes, says: str) -> None:
    for file, content in FORMS[form].items():
        changed = content.splitlines(keepends=True)
        if file == name:
            changed[2] = bad + b"\n"
        (tmp_path / file).write_bytes(b"".join(changed))
    with pytest.raises(DataError, match=rf"{re.escape(name)}, line 3: .*{re.escape(says)}") as found:
        loaded(TASKS[form.partition(",")[0]].load(), tmp_path).split("train")
    assert "\n" not in str(found.value)
