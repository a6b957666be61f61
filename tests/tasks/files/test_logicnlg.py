"""LogicNLG's files: small folders made here, damaged in many ways, and the published ones where they are."""

import gzip
import json
import os
import random
import time
import zipfile
from pathlib import Path

import pytest

from bench.errors import DataError, MissingError
from bench.tasks.files import logicnlg as logicnlg_files
from bench.tasks.files.bad_rows import BadRows
from bench.tasks.files.logicnlg import linked_columns, missing_files, read_split
from bench.tasks.files.tables import Table, read_table

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


def test_the_plain_file_wins_over_the_packed_one(folder):
    write(folder / "test_lm.json.gz", {})
    assert len(read_split(folder, "test")) == 3


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
    assert read_split(folder, "train", lower_case=True)[0].target == "osterby has the most points"
    assert read_split(folder, "valid", "proxy", lower_case=False)[0].target == "Osterby has the most Points"


def test_guessing_columns():
    table = Table(("player", "goals", "club name"), (("ada lund", "7", "vale"), ("ines holt", "12", "-")))
    assert linked_columns(table, "Lund scored 7 goal") == (0, 1)
    assert linked_columns(table, "the Club Names are short") == (2,)
    assert linked_columns(table, "nothing to see") == ()
    assert linked_columns(table, "she scored 17 - 1 , a record") == ()
    assert linked_columns(Table(("", "x"), (("", "-"),)), "a - b") == ()


# What is missing


def test_says_which_files_each_split_needs(folder, tmp_path_factory):
    assert missing_files(folder) == missing_files(folder, "proxy") == {"train": [], "valid": [], "test": []}
    empty = tmp_path_factory.mktemp("empty")
    assert missing_files(empty)["test"] == ["test_lm.json", "all_csv.zip"]
    assert missing_files(empty)["train"] == ["train_lm.json", "all_csv.zip"]
    assert missing_files(empty, "proxy")["train"] == [
        "train_proxy_tabfact_pairs.json", "table_to_page.json", "all_csv.zip",
    ]  # fmt: skip


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
    "sentence is empty": (change(ROWS, 0, "  "), "empty text"),
    "sentence is a number": (change(ROWS, 0, 7), "found int 7"),
    "sentence has a NUL": (change(ROWS, 0, "a\0"), "x00"),
    "sentence has half a pair": (change(ROWS, 0, "a\ud800"), "ud800"),
    "column too large": (change(ROWS, 1, [0, 2]), r"from 0 to 1, found \[0, 2\]"),
    "column negative": (change(ROWS, 1, [-1]), r"from 0 to 1, found \[-1\]"),
    "column twice": (change(ROWS, 1, [0, 0]), r"different column numbers"),
    "column is true": (change(ROWS, 1, [True]), r"list of column numbers, found list \[True\]"),
    "columns are a text": (change(ROWS, 1, "01"), "list of column numbers"),
    "title is null": (change(ROWS, 2, None), r"title.*nothing \(null\)"),
    "row is a text": ({**ROWS, "1-1.html.csv": ["abcd"]}, "expected .sentence, columns, title, template"),
    "row is short": ({**ROWS, "1-1.html.csv": [["a", [0]]]}, "expected .sentence, columns, title, template"),
    "table is not there": ({**ROWS, "9-9.html.csv": ROWS["1-1.html.csv"]}, "'9-9.html.csv' is not in all_csv.zip"),
    "table id is a path": ({**ROWS, "../x.csv": ROWS["1-1.html.csv"]}, "file name"),
    "table id is empty": ({**ROWS, "": ROWS["1-1.html.csv"]}, "empty text"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
@pytest.mark.parametrize("split", ["test", "valid"])
def test_valid_and_test_stop_at_a_bad_row_even_when_skipping_is_allowed(folder, split, case):
    content, said = BAD_ROWS[case]
    file = {"test": "test_lm.json", "valid": "val_lm.json"}[split]
    write(folder / file, content)
    with pytest.raises(DataError, match=rf"{file}, table '.*', row 0: .*{said}"):
        read_split(folder, split, bad_rows=BadRows(split, "skip"))


@pytest.mark.parametrize("case", BAD_ROWS)
def test_train_leaves_a_bad_row_out_only_when_it_may_say_so(folder, case):
    content, said = BAD_ROWS[case]
    write(folder / "train_lm.json", content)
    with pytest.raises(DataError, match=said):
        read_split(folder, "train")
    bad_rows = BadRows("train", "skip")
    rows = read_split(folder, "train", bad_rows=bad_rows)
    assert bad_rows.skipped
    assert len(rows) + len(bad_rows.skipped) == sum(map(len, content.values()))
    assert all(file == "train_lm.json" and reason for file, _, reason in bad_rows.skipped)


def test_ids_do_not_move_when_a_row_is_left_out(folder):
    write(folder / "train_lm.json", change(ROWS, 0, ""))
    bad_rows = BadRows("train", "skip")
    assert [e.id for e in read_split(folder, "train", bad_rows=bad_rows)] == ["1-1.html.csv/1", "1-2.html.csv/0"]
    reason = "expected a sentence, found an empty text"
    assert bad_rows.skipped == [("train_lm.json", "table '1-1.html.csv', row 0", reason)]
    pairs = [["2-3.html.csv", "", "x"], *PAIRS]
    write(folder / "train_proxy_tabfact_pairs.json.gz", pairs)
    assert read_split(folder, "train", "proxy", bad_rows=bad_rows)[0].id == "2-3.html.csv/1"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("", "all_csv/1-1.html.csv', line 1"),
        ("team#points\n", "no rows"),
        ("team#points\nvale\n", "line 2: expected 2 cells"),
        (b"team#points\nv\xffle#1\n", "byte 13 is not UTF-8"),
    ],
)
@pytest.mark.parametrize("as_zip", [True, False])
def test_a_bad_table_is_named_with_the_row_that_needs_it(tmp_path, table, said, as_zip):
    write(tmp_path / "test_lm.json", ROWS)
    text = table if isinstance(table, str) else table.decode("latin-1")
    write_tables(tmp_path, TABLES, as_zip)
    if as_zip:
        with zipfile.ZipFile(tmp_path / "all_csv.zip", "w") as archive:
            archive.writestr("all_csv/1-2.html.csv", TABLES["1-2.html.csv"])
            archive.writestr("1-1.html.csv", text.encode("latin-1"))
    else:
        (tmp_path / "all_csv" / "1-1.html.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=rf"test_lm\.json, table '1-1\.html\.csv', row 0.*{said}"):
        read_split(tmp_path, "test")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "expected JSON"),
        (b"{", "expected JSON"),
        (b"[]", "found list"),
        (b"{}", "no usable one"),
        (b'{"1-1.html.csv": []}', "expected a list of rows"),
        (b'{"1-1.html.csv": 3}', "found int 3"),
        (b'{"a": [], "a": []}', "the key 'a' twice"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": ' + b"[" * 100_000, "expected JSON"),
        (b'{"a": ' + b"1" * 5000 + b"}", "expected JSON"),
        (b'{"a": "\xff"}', "byte 7 is not UTF-8"),
    ],
)
def test_a_bad_file_is_named(folder, content, said):
    (folder / "test_lm.json").write_bytes(content)
    with pytest.raises(DataError, match=rf"test_lm\.json.*{said}"):
        read_split(folder, "test", bad_rows=BadRows("test", "skip"))


def test_a_truncated_archive_is_named(folder):
    whole = (folder / "train_proxy_tabfact_pairs.json.gz").read_bytes()
    (folder / "train_proxy_tabfact_pairs.json.gz").write_bytes(whole[:-20])
    with pytest.raises(DataError, match=r"train_proxy_tabfact_pairs\.json\.gz: cannot be read"):
        read_split(folder, "train", "proxy")
    (folder / "all_csv.zip").write_bytes((folder / "all_csv.zip").read_bytes()[:-30])
    with pytest.raises(DataError, match=r"all_csv\.zip: expected a zip archive"):
        read_split(folder, "test")


@pytest.mark.parametrize(("split", "train"), [("test", "official"), ("train", "proxy")])
def test_a_file_that_unpacks_to_too_much_is_refused(folder, monkeypatch, split, train):
    monkeypatch.setattr(logicnlg_files, "_LARGEST_FILE", 60)
    with pytest.raises(DataError, match="larger than 60 bytes"):
        read_split(folder, split, train)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("train_proxy_tabfact_pairs.json.gz", [["2-3.html.csv", "x"]], "row 0: expected .table, true statement"),
        ("train_proxy_tabfact_pairs.json.gz", [[["t"], "x", "y"]], "row 0: expected a table's file name, found list"),
        ("train_proxy_tabfact_pairs.json.gz", {"a": 1}, "expected a JSON list"),
        ("table_to_page.json", [], "expected a JSON dict"),
        ("table_to_page.json", {}, "row 0: expected a title .proxy rows have theirs in table_to_page.json"),
        ("table_to_page.json", {"2-3.html.csv": []}, "row 0: expected a title .*found list"),
    ],
)
def test_bad_proxy_files_are_named(folder, name, content, said):
    write(folder / name, content)
    with pytest.raises(DataError, match=said):
        read_split(folder, "train", "proxy")


def test_tables_must_be_those_the_publisher_lists(folder):
    write(folder / "test_ids.json", [*ROWS, "7-7.html.csv"])
    with pytest.raises(DataError, match=r"1 in it were not read \['7-7\.html\.csv'\]"):
        read_split(folder, "test")
    write(folder / "test_ids.json", ["1-1.html.csv"])
    with pytest.raises(DataError, match=r"1 of those read are not in it \['1-2\.html\.csv'\]"):
        read_split(folder, "test")
    write(folder / "test_ids.json", list(ROWS))
    assert len(read_split(folder, "test")) == 3
    write(folder / "train_ids.json", ["1-1.html.csv", "2-3.html.csv", "7-7.html.csv"])
    assert len(read_split(folder, "train", "proxy")) == 3  # the proxy need not be complete
    write(folder / "train_ids.json", ["1-1.html.csv"])
    with pytest.raises(DataError, match="not in it"):  # but a table of another split would be a leak
        read_split(folder, "train", "proxy")


# Damage at random


def damaged(content, rng):
    """Flip, cut, repeat or insert bytes."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(data) + 1)
        kind = rng.choice(["flip", "cut", "insert", "drop", "repeat"])
        if kind == "flip" and place < len(data):
            data[place] ^= 1 << rng.randrange(8)
        elif kind == "cut":
            del data[place:]
        elif kind == "insert":
            data[place:place] = rng.choice([b"\0", b"\xff", b"[", b"}", b'"', b"#", b"\n", b"null", b"-1", b"\\ud800"])
        elif kind == "drop":
            del data[place : place + rng.randint(1, 9)]
        else:
            data[place:place] = data[max(0, place - rng.randint(1, 30)) : place]
    return bytes(data)


READ_FROM = {
    "test_lm.json": ("test", "official"),
    "train_lm.json": ("train", "official"),
    "all_csv.zip": ("valid", "official"),
    "all_csv/1-1.html.csv": ("valid", "official"),
    "table_to_page.json": ("train", "proxy"),
    "train_proxy_tabfact_pairs.json.gz": ("train", "proxy"),
    "test_ids.json": ("test", "official"),
}


@pytest.mark.parametrize("name", READ_FROM)
def test_damaged_files_give_rows_or_one_of_our_errors(folder, name):
    write(folder / "test_ids.json", list(ROWS))
    if name.startswith("all_csv/"):
        write_tables(folder, as_zip=False)
    split, train = READ_FROM[name]
    whole = (folder / name).read_bytes()
    n_rows = len(read_split(folder, split, train))
    rng, refused, longest = random.Random(name), 0, 0
    for _ in range(150):
        (folder / name).write_bytes(damaged(whole, rng))
        bad_rows = BadRows(split, "skip")
        try:
            rows = read_split(folder, split, train, bad_rows=bad_rows)
        except MissingError as problem:  # DataError is one
            refused += 1
            longest = max(longest, len(str(problem)))
            continue
        assert rows
        assert not bad_rows.skipped or split == "train"
        assert all(e.target.strip() and e.target in e.references for e in rows)
        assert split == "train" or name.endswith("_lm.json") or len(rows) == n_rows
    assert refused > 20
    assert longest < 1000


# The published files


@published
def test_published_splits_are_whole_and_fast():
    start = time.process_time()
    valid, test, train = (read_split(DATA, split, "proxy") for split in ("valid", "test", "train"))
    assert time.process_time() - start < 6
    assert (len(valid), len(test), len(train)) == (4260, 4305, 4111)
    assert [len({e.fields["table_id"] for e in rows}) for rows in (valid, test, train)] == [848, 862, 4099]
    assert len({e.id for e in (*valid, *test, *train)}) == 4260 + 4305 + 4111
    assert all(e.target == e.target.lower() for e in train)
    assert not any("borries-ileigh" in e.target for e in train)


@published
def test_guessed_columns_are_mostly_those_published():
    rows = read_split(DATA, "valid")[::4]
    pairs = [(set(e.fields["columns"]), set(linked_columns(e.fields["table"], e.target))) for e in rows]
    right = sum(len(true & found) for true, found in pairs)
    assert right / sum(len(found) for _, found in pairs) > 0.82
    assert right / sum(len(true) for true, _ in pairs) > 0.83
