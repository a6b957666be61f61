"""Outputs of other systems: every form gives the same texts, and anything but exactly the split is refused by row."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.errors import BenchError, DataError, MissingError
from bench.imported import read_outputs
from tests.tasks.files.test_mutated_files import MUTATIONS

IDS = ["a/0", "a/1", "b/0"]
TEXTS = ["one text", "", "größer\u2028als eins"]
BY_ID = dict(zip(IDS, TEXTS, strict=True))


def jsonl(*rows: dict[str, Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


NAMED = [{"id": name, "text": text} for name, text in BY_ID.items()]
FORMS = {
    "x.txt": "\n".join([*TEXTS, ""]).encode(),
    "without-last-end": "\n".join(TEXTS).encode(),
    "crlf.txt": "\r\n".join([*TEXTS, ""]).encode(),
    "marked.txt": "\n".join(["\ufeff" + TEXTS[0], *TEXTS[1:]]).encode(),
    "x.jsonl": jsonl(*NAMED[::-1]),
    "in-order.jsonl": jsonl(*[{"text": text} for text in TEXTS]),
    "x.json": json.dumps(BY_ID).encode(),
    "groups.json": json.dumps({"a": TEXTS[:2], "b": TEXTS[2:]}).encode(),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("packed", [False, True])
def test_every_form_gives_the_texts_in_the_order_of_the_split(tmp_path: Path, name: str, packed: bool) -> None:
    content, path = FORMS[name], tmp_path / name
    if packed:
        content, path = gzip.compress(content), tmp_path / f"{name}.gz"
    path.write_bytes(content)
    assert list(read_outputs(path, IDS).items()) == list(BY_ID.items())


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("x.txt", b"a\nb\n", "found 2; the first row without one is 'b/0'"),
        ("x.txt", b"a\nb\nc\nd\ne\n", r"x\.txt, line 4: the split has no row 'number 4', only 3"),
        ("x.txt", b"", "found 0; the first row without one is 'a/0'"),
        ("x.txt", b"a\nb\xff\nc\n", r"x\.txt, line 2: byte 2 is not UTF-8"),
        ("x.jsonl", jsonl(NAMED[0], NAMED[2]), "found 2; the first row without one is 'a/1'"),
        ("x.jsonl", jsonl(*NAMED, NAMED[0]), r"x\.jsonl, line 4: the row 'a/0' is there twice"),
        ("x.jsonl", jsonl(NAMED[0], {"id": "c", "text": ""}), r"line 2: the split has no row 'c', only 3, such as"),
        ("x.jsonl", jsonl(NAMED[0], {"text": ""}), r"x\.jsonl, line 2: expected an id in every row or in none"),
        ("x.jsonl", jsonl({"id": "a/0"}), r"x\.jsonl, line 1: has no field 'text'"),
        ("x.json", json.dumps({"a": ["x"], "b": ["y"]}).encode(), "found 2; the first row without one is 'a/1'"),
        ("x.json", json.dumps({"a": ["x", "y", "z"], "b": ["y"]}).encode(), "'a/2'.*the split has no row 'a/2'"),
        ("x.json", b'{"a/0": "x", "a/0": "y"}', "the row 'a/0' is there twice"),
        ("x.json", b'{"a/0": 3}', "'a/0': expected a text, found int 3"),
        ("x.json", b"[]", "expected JSON with texts by the ids of rows"),
        ("x.txt", b"\xff\n", "line 1: byte 1 is not UTF-8"),
        ("x.jsonl", b"\xff\n", "line 1: byte 1 is not UTF-8"),
    ],
)
def test_anything_but_the_split_is_refused_by_its_first_row(
    tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=says):
        read_outputs(tmp_path / name, IDS)


@pytest.mark.parametrize("name", ["x.txt", "x.jsonl", "x.json"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(MissingError, match=name):
        read_outputs(tmp_path / name, IDS)


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(what=st.sampled_from(sorted(MUTATIONS)), place=st.floats(0, 1), packed=st.booleans())
def test_a_damaged_file_gives_the_split_or_one_line(
    tmp_path: Path, name: str, what: str, place: float, packed: bool
) -> None:
    content = FORMS[name]
    if packed:
        content = gzip.compress(content)
    (tmp_path / name).write_bytes(MUTATIONS[what](content, int(place * len(content))))
    found, said = list(IDS), name
    try:
        found = list(read_outputs(tmp_path / name, IDS))
    except BenchError as error:
        said = str(error)
    assert found == IDS
    assert name in said
    assert "\n" not in said
