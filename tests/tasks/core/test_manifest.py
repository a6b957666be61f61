"""Manifests: any change of any row is another hash."""

from dataclasses import replace
from types import MappingProxyType

import pytest

from bench.base.keys import canonical, sha256
from bench.errors import DataError
from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split, as_published, refuse_repeated_ids
from bench.tasks.files.tables import Table

ROWS = [Example(f"r{i}", f"source {i}", f"target {i}", (f"target {i}", "other"),
                {"pair": ("a", "b"), "table": Table(("h",), ((str(i),),))}) for i in range(4)]  # fmt: skip


def manifest(rows, **others):
    return Split("test", rows, "official", "somewhere", **others).manifest()


def test_a_manifest_counts_and_hashes():
    found = manifest(ROWS, skipped=(("file", "3", "empty"),))
    assert (found.split, found.status, found.rows, found.skipped, len(found.sha256)) == ("test", "official", 4, 1, 64)
    assert found.sha256 == manifest([replace(row) for row in ROWS]).sha256
    assert manifest([]).rows == 0


def test_the_hash_of_a_row_is_that_of_its_plain_json():
    counts = {2: None, 10: [1.5, {True: "é"}]}  # keys that are no text, which `json` would sort and write otherwise
    fields = {"pair": ("a", "b"), "table": Table(("h",), (("1",),)), "counts": counts, "n": 3}
    found = manifest([Example("r", "source", "target", ("target",), fields)])
    assert (found.bytes, found.sha256[:16]) == (190, "aa79eaf2416201be")
    fields = {"pair": ("a", "b"), "table": Table(("h",), (("1",),)), "counts": {"10": [1.5, {"é": True}], "2": None}}
    found = manifest([Example("r", "source", "target", ("target",), MappingProxyType(fields))])
    counts, table = '{"10":[1.5,{"é":true}],"2":null}', '{"header":["h"],"rows":[["1"]]}'
    row = (
        f'{{"fields":{{"counts":{counts},"pair":["a","b"],"table":{table}}},"id":"r","references":["target"],'
        f'"source":"source","target":"target"}}\n'
    )
    assert (found.bytes, found.sha256) == (len(row.encode()), sha256(row.encode()))


CHARACTERS = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
ONLY_TEXTS = {
    "every character": Example(CHARACTERS, CHARACTERS, CHARACTERS, (CHARACTERS,), {CHARACTERS: "", "é": "", "z": ()}),
    "half of a surrogate pair": Example("r", "\ud800", "b", (), {"a": ("\udfff",)}),
    "fields in a mapping": Example("r", "a", "b", (), MappingProxyType({"z": "1", "a": ("2",)})),
    "numbers among texts": Example("r", "a", "b", (), {"x": 1e-5, "n": (None, True)}),
    "a number in a tuple": Example("r", "a", "b", (), {"y": ("a", 1e-5)}),
    "a number among references": Example("r", "a", "b", (1e-5,)),
}  # fmt: skip


@pytest.mark.parametrize("name", ONLY_TEXTS)
def test_rows_of_texts_have_the_same_json_as_all_others(name):
    row = ONLY_TEXTS[name]
    parts = {part: getattr(row, part) for part in ("id", "source", "target", "references")}
    text = canonical({**parts, "fields": dict(row.fields)}) + b"\n"
    assert (manifest([row]).bytes, manifest([row]).sha256) == (len(text), sha256(text))


CHANGED = {
    "id": {"id": "x"}, "source": {"source": "source  1"}, "target": {"target": "Target 1"},
    "reference": {"references": ("target 1",)}, "order of references": {"references": ("other", "target 1")},
    "field": {"fields": {"pair": ("b", "a")}},
    "table": {"fields": {"pair": ("a", "b"), "table": Table(("h",), (("1 ",),))}},
    "surrogate": {"target": "target \ud800"},
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGED)
def test_every_part_of_a_row_counts(name):
    changed = [ROWS[0], replace(ROWS[1], **CHANGED[name]), *ROWS[2:]]
    assert manifest(changed).sha256 != manifest(ROWS).sha256


def test_rows_dropped_repeated_or_in_another_order_count():
    found = [manifest(rows).sha256 for rows in (ROWS, ROWS[1:], [*ROWS, ROWS[0]], ROWS[::-1])]
    assert len(set(found)) == 4


def test_two_rows_of_one_id_are_refused():
    split = Split("train", [*ROWS, ROWS[1]], "own", "my file")
    with pytest.raises(
        DataError, match=f"^toy, train: rows 2 and {len(ROWS) + 1} of my file have the id 'r1'; expected"
    ):
        refuse_repeated_ids("toy", split)
    refuse_repeated_ids("toy", replace(split, examples=ROWS))


# The published rows


def test_other_rows_of_the_right_number_are_a_proxy() -> None:
    rows = [Example(f"test/{i}", "", "words") for i in range(60)]
    split = as_published("wikitext103", Split("test", rows, "official", "file"))
    assert (split.status, split.origin) == ("proxy", "file; as many rows as published, but others")
    assert as_published("wikitext103", Split("test", rows, "subset", "file")).status == "subset"
    assert as_published("xsum", Split("test", rows, "official", "file")).status == "official"
