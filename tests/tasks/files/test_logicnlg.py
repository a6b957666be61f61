"""LogicNLG's files: small folders made here, damaged in many ways, and the published ones where they are."""

import gzip
import json
import os
import zipfile
from pathlib import Path

import pytest

from bench.errors import DataError, MissingError
from bench.tasks.files.logicnlg import has_only_the_proxy, linked_columns, read_split
from bench.tasks.files.tables import Table, read_table
from tests.tasks.fake_hub import parquet

DATA = Path(os.environ.get("BENCH_DATA") or Path(__file__).parents[3] / ".." / "shared" / "data") / "logicnlg"
published = pytest.mark.skipif(
    not DATA.is_dir(), reason="no published files: set BENCH_DATA to the folder that holds logicnlg/"
)

TABLES = {
    "1-1.html.csv": "team#points\r\nvale#12\r\nosterby#30\r\n",
    "1-2.html.csv": "river#length#mouth\nalda#12.5#grey sea\n",
    "2-3.html.csv": "film#year\nroad#1990\n",
}
ROWS = {
    "1-1.html.csv": [
        ["Osterby has the most Points", [0, 1], "Vale League", "[ENT] has the most"],
        ["2 Team played", [0], "Vale League", "2 [ENT] played"],
    ],
    "1-2.html.csv": [["the Alda flows into the Grey Sea", [0, 2], "rivers", "the [ENT]"]],
}
PAIRS = [
    ["2-3.html.csv", "road was released in 1990", "borries-ileigh"],
    ["1-1.html.csv", "vale has 12 points", "vale has 13 points"],
    ["2-3.html.csv", "there is one film", "there are two films"],
]
TITLES = {name: [f"title of {name}", "https://example.org"] for name in TABLES}


@pytest.fixture
def folder(tmp_path):
    write_tables(tmp_path)
    for name in ("train", "val", "test"):
        write(tmp_path / f"{name}_lm.json", ROWS)
    write(tmp_path / "train_proxy_tabfact_pairs.json.gz", PAIRS)
    write(tmp_path / "table_to_page.json", TITLES)
    return tmp_path


def write(path, content):
    text = json.dumps(content).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def write_tables(folder, tables=TABLES, as_zip=True):
    if as_zip:
        with zipfile.ZipFile(folder / "all_csv.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in tables.items():
                archive.writestr(f"all_csv/{name}", text)
        return
    (folder / "all_csv").mkdir()
    for name, text in tables.items():
        (folder / "all_csv" / name).write_bytes(text.encode())


# What is read


def test_an_example_holds_table_title_columns_and_all_sentences_of_its_table(folder):
    first, second, third = read_split(folder, "test")
    assert [e.id for e in (first, second, third)] == ["1-1.html.csv/0", "1-1.html.csv/1", "1-2.html.csv/0"]
    assert first.target == "Osterby has the most Points"
    assert first.references == second.references == ("Osterby has the most Points", "2 Team played")
    assert first.source == ""
    assert dict(first.fields) == {
        "table": read_table(TABLES["1-1.html.csv"], "t"),
        "title": "Vale League",
        "columns": (0, 1),
        "table_id": "1-1.html.csv",
    }
    assert third.fields["columns"] == (0, 2)
    assert third.fields["table"].rows == (("alda", "12.5", "grey sea"),)


def test_packed_and_plain_files_and_zip_and_folder_read_alike(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("unpacked")
    write_tables(other, as_zip=False)
    write(other / "val_lm.json.gz", ROWS)
    assert read_split(other, "valid") == read_split(folder, "valid")


def test_the_proxy_has_true_statements_titles_and_guessed_columns(folder):
    rows = read_split(folder, "train", "proxy")
    assert [(e.id, e.target) for e in rows] == [
        ("2-3.html.csv/0", "road was released in 1990"),
        ("1-1.html.csv/0", "vale has 12 points"),
        ("2-3.html.csv/1", "there is one film"),
    ]
    assert rows[0].references == rows[2].references == ("road was released in 1990", "there is one film")
    assert [e.fields["columns"] for e in rows] == [(0, 1), (0, 1), (0,)]
    assert rows[0].fields["title"] == "title of 2-3.html.csv"


def test_proxy_runs_are_lower_case_in_every_split_and_official_ones_in_none(folder):
    assert read_split(folder, "test", "proxy")[0].target == "osterby has the most points"
    assert read_split(folder, "test", "proxy")[0].references[1] == "2 team played"
    assert read_split(folder, "test", "proxy")[0].fields["title"] == "vale league"
    assert read_split(folder, "test")[0].target == "Osterby has the most Points"


def test_guessing_columns():
    table = Table(("player", "goals", "club name"), (("ada lund", "7", "vale"), ("ines holt", "12", "-")))
    assert linked_columns(table, "Lund scored 7 goal") == (0, 1)
    assert linked_columns(table, "the Club Names are short") == (2,)
    assert linked_columns(table, "nothing to see") == ()
    assert linked_columns(table, "she scored 17 - 1 , a record") == ()
    assert linked_columns(Table(("", "x"), (("", "-"),)), "a - b") == ()


def hub_rows(**changes):
    made = {
        "table_id": "a.csv",
        "table": str([["city", "area"], ["osterby", "12"], ["new # vale", "30"]]),
        "linked_columns": "[0, 1]",
        "title": "cities",
        "ref": "osterby is smaller than new vale",
        "template": "[ENT] is smaller than [ENT]",
    }
    return [made, {**made, "table_id": "b.csv", **changes}, {**made, "ref": "new vale is larger"}]


def test_rows_of_the_hub_are_those_of_the_publisher(tmp_path):
    for split in ("train", "validation", "test"):
        (tmp_path / f"{split}-00000-of-00001.parquet").write_bytes(parquet(hub_rows()))
    assert not has_only_the_proxy(tmp_path)
    for split in ("train", "valid", "test"):
        examples = read_split(tmp_path, split)
        assert [example.id for example in examples] == ["a.csv/0", "a.csv/1", "b.csv/0"], "those of a table together"
        assert examples[0].fields["table"].rows == (("osterby", "12"), ("new   vale", "30"))
        assert (examples[0].fields["columns"], examples[0].fields["title"]) == ((0, 1), "cities")
        assert examples[0].references == ("osterby is smaller than new vale", "new vale is larger")


@pytest.mark.parametrize(
    "changes", [{"table": "not a list"}, {"linked_columns": "x"}, {"table": "[" * 5000}, {"linked_columns": "[7]"}]
)
def test_a_malformed_row_of_the_hub_is_named(tmp_path, changes):
    (tmp_path / "test-00000-of-00001.parquet").write_bytes(parquet(hub_rows(**changes)))
    with pytest.raises(DataError, match=r"test-00000-of-00001\.parquet, row 2") as caught:
        read_split(tmp_path, "test")
    assert "\n" not in str(caught.value)


# What is missing


@pytest.mark.parametrize(
    ("name", "split", "train"),
    [
        ("test_lm.json", "test", "official"),
        ("train_lm.json", "train", "official"),
        ("all_csv.zip", "valid", "official"),
        ("table_to_page.json", "train", "proxy"),
        ("train_proxy_tabfact_pairs.json.gz", "train", "proxy"),
    ],
)
def test_a_missing_file_is_named_with_where_to_get_it(folder, name, split, train):
    (folder / name).unlink()
    with pytest.raises(MissingError, match=rf"{name.removesuffix('.gz')}.*github\.com/wenhuchen") as caught:
        read_split(folder, split, train)
    assert not isinstance(caught.value, DataError)


# What is wrong


def change(rows, place, value):
    """A copy of ROWS with one part of the first row of the first table changed."""
    copy = json.loads(json.dumps(rows))
    copy["1-1.html.csv"][0][place] = value
    return copy


BAD_ROWS = {
    "sentence is empty": (change(ROWS, 0, "  "), "'sentence' is empty"),
    "column too large": (change(ROWS, 1, [0, 2]), r"from 0 to 1, found \[0, 2\]"),
    "column twice": (change(ROWS, 1, [0, 0]), r"different column numbers"),
    "title is null": (change(ROWS, 2, None), r"title.*nothing \(null\)"),
    "row is short": ({**ROWS, "1-1.html.csv": [["a", [0]]]}, "'sentence', found list"),
    "table is not there": ({**ROWS, "9-9.html.csv": ROWS["1-1.html.csv"]}, "'9-9.html.csv' cannot be read"),
    "table id is a path": ({**ROWS, "../x.csv": ROWS["1-1.html.csv"]}, "file name"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_a_bad_row_is_named(folder, case):
    content, said = BAD_ROWS[case]
    for split in ("test", "train"):
        write(folder / f"{split}_lm.json", content)
        with pytest.raises(DataError, match=rf"{split}_lm\.json, table '.*', row 0: .*{said}"):
            read_split(folder, split)


NEEDED = r"test_lm\.json, table '1-1\.html\.csv', row 0.*"
DAMAGED = [
    ("test_lm.json", b"[]", r"test_lm\.json.*found list"),
    ("test_lm.json", b"{}", r"test_lm\.json.*no usable one"),
    ("test_lm.json", b'{"1-1.html.csv": 3}', r"test_lm\.json.*found int 3"),
    ("test_lm.json", b'{"a": ' + b"[" * 100_000, r"test_lm\.json.*expected JSON"),
    ("all_csv.zip", b"PK", r"all_csv\.zip: expected a zip archive"),
    ("all_csv/1-1.html.csv", b"", f"{NEEDED}all_csv/1-1.html.csv', line 1"),
    ("all_csv/1-1.html.csv", b"team#points\nvale\n", f"{NEEDED}line 2: expected 2 cells"),
    ("all_csv/1-1.html.csv", b"team#points\nv\xffle#1\n", f"{NEEDED}cannot be read from all_csv"),
    ("train_proxy_tabfact_pairs.json.gz", b'[["2-3.html.csv", "x"]]', "row 0: expected text in the field 'table'"),
    ("train_proxy_tabfact_pairs.json.gz", b'{"a": 1}', "expected a JSON list"),
    ("table_to_page.json", b"{}", "row 0: expected text in the field 'title', found nothing"),
]


@pytest.mark.parametrize(("name", "content", "says"), DAMAGED)
def test_a_damaged_file_is_named(folder, name, content, says):
    if name.startswith("all_csv/"):
        write_tables(folder, as_zip=False)
    (folder / name).write_bytes(content)
    split, train = ("test", "official") if name.startswith(("test", "all")) else ("train", "proxy")
    with pytest.raises(DataError, match=says):
        read_split(folder, split, train)


def test_a_file_that_unpacks_to_too_much_is_refused(folder, monkeypatch):
    monkeypatch.setattr("bench.tasks.files.lines.LONGEST_LINE", 60)
    with pytest.raises(DataError, match="found: more than 60 bytes"):
        read_split(folder, "train", "proxy")


# The published files


@published
def test_guessed_columns_are_mostly_those_published():
    rows = read_split(DATA, "valid")[::4]
    pairs = [(set(e.fields["columns"]), set(linked_columns(e.fields["table"], e.target))) for e in rows]
    right = sum(len(true & found) for true, found in pairs)
    assert right / sum(len(found) for _, found in pairs) > 0.82
    assert right / sum(len(true) for true, _ in pairs) > 0.83
