"""The store: what is written comes back, what is damaged is refused by name, what was stored is never lost."""

import gzip
import json
import os
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.base.keys import canonical, sha256
from bench.errors import DamagedError, StoreError
from bench.store.checkpoints import load_verified
from bench.store.store import CellFolder, Store
from tests.bench.example_cells import KEY, OF, PROVENANCE, ROWS, SCORES, TRAINED, everything, full_cell
from tests.bench.forks import full_disk

TEXTS = st.text(st.characters(codec=None), max_size=20)  # lone surrogates too
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
FILES = {
    "trained.json": lambda cell: cell.trained(),
    "rows-aa.jsonl.gz": lambda cell: cell.rows("aa"),
    "scores-bb.json": lambda cell: cell.content("scores-bb.json"),
}


@pytest.fixture
def cell(tmp_path):
    return full_cell(tmp_path)


# What is written comes back ---------------------------------------------------------------------------------------


def test_every_kind_of_file_comes_back(cell):
    assert cell.trained() == TRAINED
    assert cell.content("scores-bb.json") == SCORES
    assert cell.all_scores() == [SCORES]
    found = cell.rows("aa")
    assert (found.key, found.content, found.rows) == ("aa", OF, ROWS)
    assert cell.all_rows() == [found]


def test_what_is_not_there_is_none(tmp_path):
    cell = CellFolder(tmp_path / "nowhere")
    assert [cell.trained(), cell.content("failed.json"), cell.rows("aa"), cell.content("scores-bb.json")] == [None] * 4
    assert [*cell.all_rows(), *cell.all_scores(), *Store(tmp_path / "nowhere").cells()] == []


@settings(max_examples=30, deadline=None)  # it waits for the disk
@given(content=st.dictionaries(TEXTS, VALUES, max_size=4), rows=st.lists(st.dictionaries(TEXTS, VALUES), max_size=4))
def test_any_json_comes_back_to_the_last_bit(tmp_path_factory, content, rows):
    cell = CellFolder(tmp_path_factory.mktemp("cell"))
    cell.write_record("scores-s.json", content, PROVENANCE)
    cell.write_rows("r", content, rows, PROVENANCE)
    assert canonical(cell.content("scores-s.json")) == canonical(content)
    assert canonical(cell.rows("r").content) == canonical(content)
    assert canonical(cell.rows("r").rows) == canonical(rows)


def test_files_are_plain_json_for_other_programs(cell):
    record = json.loads((cell.path / "trained.json").read_text())
    assert record["content"] == TRAINED
    assert record["provenance"] == PROVENANCE
    lines = gzip.decompress((cell.path / "rows-aa.jsonl.gz").read_bytes()).split(b"\n")
    assert json.loads(lines[0])["content"] == OF
    assert [json.loads(line) for line in lines[1:-2]] == ROWS


def test_the_hash_is_of_the_content_and_not_of_the_circumstances(tmp_path):
    one, two = CellFolder(tmp_path / "one"), CellFolder(tmp_path / "two")
    for cell, host in ((one, "here"), (two, "there")):
        cell.write_rows("aa", OF, ROWS, {"host": host})
        cell.write_record("scores-bb.json", SCORES, {"host": host})
    assert one.rows("aa").sha256 == two.rows("aa").sha256
    hashes = [json.loads((c.path / "scores-bb.json").read_text())["sha256"] for c in (one, two)]
    assert hashes == [sha256(canonical(SCORES))] * 2


def test_equal_rows_make_equal_bytes_at_any_time(tmp_path):
    for name in ("one", "two"):
        CellFolder(tmp_path / name).write_rows("aa", OF, ROWS, PROVENANCE)
    one, two = ((tmp_path / name / "rows-aa.jsonl.gz").read_bytes() for name in ("one", "two"))
    assert one == two


def test_a_stored_file_never_changes(cell):
    before = everything(cell)
    cell.write_trained({**TRAINED, "status": "diverged"}, PROVENANCE)
    cell.write_rows("aa", OF, [], PROVENANCE)
    cell.write_record("scores-bb.json", {**SCORES, "values": []}, PROVENANCE)
    assert everything(cell) == before


def test_what_is_no_number_is_refused(tmp_path):
    cell, bad = CellFolder(tmp_path / "cell"), float("nan")
    for write in (
        lambda: cell.write_trained({**TRAINED, "loss": bad}, PROVENANCE),
        lambda: cell.write_rows("aa", OF, [{"id": "r0", "nll_sum": bad}], PROVENANCE),
        lambda: cell.write_record("scores-bb.json", {"values": [{"value": bad}]}, PROVENANCE),
    ):
        with pytest.raises(ValueError, match="not JSON compliant"):
            write()
    assert not cell.path.exists()


def test_the_last_failure_replaces_the_one_before_and_can_be_forgotten(tmp_path):
    cell = CellFolder(tmp_path)
    for number in (1, 2):
        cell.write_record("failed.json", {"status": "failed", "error": f"error {number}"}, PROVENANCE, replace=True)
    assert cell.content("failed.json")["error"] == "error 2"
    cell.clear_failed()
    cell.clear_failed()
    assert cell.content("failed.json") is None


def test_cells_come_in_name_order_and_strangers_are_passed_over(tmp_path):
    store = Store(tmp_path)
    for task, method in (("b", "mle"), ("a", "trime"), ("a", "mle")):
        store.cell(task, method, KEY).write_record("failed.json", {"status": "failed"}, PROVENANCE)
    (tmp_path / ".work" / "x" / "y").mkdir(parents=True)
    (tmp_path / "a" / "mle" / "empty").mkdir()
    (tmp_path / "a" / "notes.txt").write_text("mine")
    (tmp_path / "a" / "mle" / "notes.txt").write_text("mine")
    found = [str(cell.path.relative_to(tmp_path)) for cell in store.cells()]
    assert found == [f"a/mle/{KEY}", f"a/trime/{KEY}", f"b/mle/{KEY}"]


# What is damaged is refused ---------------------------------------------------------------------------------------


def refused(read, path):
    """Assert that reading raises one clear line, and return it."""
    with pytest.raises(StoreError) as found:
        read()
    text = str(found.value)
    assert text.startswith(f"stored file '{path}' cannot be read (")
    assert "; remove it, then bench " in text
    return text


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_anywhere_is_refused(cell, name):
    path, read = cell.path / name, FILES[name]
    whole = path.read_bytes()
    for length in range(len(whole) - (name != "rows-aa.jsonl.gz")):  # the last byte of a record is a line break
        path.write_bytes(whole[:length])
        refused(lambda: read(cell), path)


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_is_refused_or_changes_nothing(cell, name):
    path, read = cell.path / name, FILES[name]
    whole, right = path.read_bytes(), read(cell)
    bits = range(0, 8 * len(whole), 11 if name.endswith("gz") else 25)  # each of the eight bits of a byte in turn
    refusals = 0
    for bit in bits:
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        try:
            found = read(cell)
        except StoreError as error:
            found, refusals = right, refusals + (str(path) in str(error))
        assert found == right, f"bit {bit} changed what is read"
    assert refusals > 0.6 * len(bits)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("junk", [b"", b"\0" * 4096, b"\xff\xfe", b"null", b"[]", b"{}", b"<html>", b"[" * 100_000])
def test_junk_is_refused(cell, name, junk):
    for content in (junk, gzip.compress(junk)):
        (cell.path / name).write_bytes(content)
        refused(lambda: FILES[name](cell), cell.path / name)


def rewrite(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_record_of_another_kind_schema_or_shape_is_refused(cell):
    path = cell.path / "trained.json"
    right = path.read_text()
    for changes in ({"kind": "scores"}, {"content": {**TRAINED, "status": "diverged"}},
                    {"content": [1], "sha256": sha256(b"[1]")}):  # fmt: skip
        path.write_text(right)
        rewrite(path, **changes)
        refused(cell.trained, path)
    for schema in ("1", 0, None, 1.5):
        path.write_text(right)
        rewrite(path, schema=schema)
        assert "its schema is" in refused(cell.trained, path)


def test_a_row_changed_or_dropped_is_noticed(cell):
    path = cell.path / "rows-aa.jsonl.gz"
    lines = gzip.decompress(path.read_bytes()).split(b"\n")
    for changed in ([*lines[:1], *lines[2:]], [lines[0], lines[2], lines[1], *lines[3:]],
                    [lines[0], lines[1].replace(b'"a"', b'"b"'), *lines[2:]]):  # fmt: skip
        path.write_bytes(gzip.compress(b"\n".join(changed)))
        assert "do not have the hash" in refused(lambda: cell.rows("aa"), path)


def test_rows_under_the_name_of_others_are_refused(cell):
    os.rename(cell.path / "rows-aa.jsonl.gz", cell.path / "rows-bb.jsonl.gz")
    assert "key aa" in refused(lambda: cell.rows("bb"), cell.path / "rows-bb.jsonl.gz")


# Checkpoints ------------------------------------------------------------------------------------------------------


def test_every_way_of_damaging_a_checkpoint_is_noticed(tmp_path):
    draw, whole = random.Random(0), os.urandom(20_000)
    cell = CellFolder(tmp_path)
    content = {"model": {"checkpoint_sha256": sha256(whole)}}
    for _ in range(300):
        at = draw.randrange(len(whole))
        flipped = whole[:at] + bytes([whole[at] ^ 1 << draw.randrange(8)]) + whole[at + 1 :]
        page = 4096 * (at // 4096)
        for damaged in (flipped, whole[:at], whole[:page] + bytes(4096) + whole[page + 4096 :]):
            cell.checkpoint(sha256(whole)).write_bytes(damaged)
            with pytest.raises(StoreError, match="does not have the hash"):
                load_verified(cell, content)


def test_a_checkpoint_of_another_model_is_not_loaded(tmp_path):
    cell = CellFolder(tmp_path)
    data = b"this is no safetensors file"
    cell.checkpoint(sha256(data)).write_bytes(data)
    for _ in range(2):
        with pytest.raises(StoreError, match=r"^checkpoint '.*' cannot be read .* to train it again$"):
            load_verified(cell, {"model": {"checkpoint_sha256": sha256(data)}})
        cell.checkpoint(sha256(data)).unlink(missing_ok=True)


# Full disks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("free", [0, 1, 100, 250, 400, 600, 1000, 2000, 4000, 20_000])
def test_a_full_disk_loses_nothing_that_was_stored(cell, tmp_path, free):
    before = everything(cell)
    more = [{**row, "text": os.urandom(200).hex()} for row in ROWS]

    def write():
        new, said = Store(tmp_path).cell("toy", "trime", KEY), []
        for act in (lambda: new.write_trained(TRAINED, PROVENANCE), lambda: new.write_rows("aa", OF, more, PROVENANCE),
                    lambda: new.write_record("scores-bb.json", SCORES, PROVENANCE),
                    lambda: cell.write_rows("cc", OF, more, PROVENANCE)):  # fmt: skip
            try:
                act()
            except StoreError as error:
                said.append(str(error))
        return said

    said = full_disk(free, write)
    assert all(line.startswith("no space left to write '") for line in said)
    assert len(said) == 4 or free > 100
    assert not said or free < 6000
    assert everything(cell) == before
    for found in Store(tmp_path).cells():
        everything(found)
        found.all_rows()
    assert not list(tmp_path.rglob("*.tmp"))


# Later schemas ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["scores-bb.json", "rows-aa.jsonl.gz"])
def test_a_record_of_a_later_schema_is_to_be_kept(cell, name, monkeypatch):
    with monkeypatch.context() as later:
        for module in ("files", "store"):
            later.setattr(f"bench.store.{module}.SCHEMA", 7)
        full_cell(cell.path / "later")
    with pytest.raises(DamagedError, match="schema 7; .*install a later version .* the file is good, keep it") as found:
        FILES[name](CellFolder(next((cell.path / "later").rglob(name)).parent))
    assert "remove" not in str(found.value)
