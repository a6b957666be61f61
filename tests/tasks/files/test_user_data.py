"""User data: the split that a file's name stands for, and rows that are held out for a split without a file."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import DataError, MissingError
from bench.tasks.fetch.sources import Source
from bench.tasks.files.user_data import RANGES, UserData, held_out, place
from bench.tasks.text import TEXTS

BOTH = ("valid", "test")


def files_of(folder: Path, forms: Sequence[str] = TEXTS, valid: str = "") -> dict[str, tuple[Path, ...]]:
    return UserData(forms, valid_path=valid).files(folder)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["train.txt", "valid.txt.gz", "test.jsonl"], {"train": 0, "valid": 1, "test": 2}),
        (["kjv.train.txt.gz", "kjv.valid.txt.gz", "kjv.test.txt.gz"], {"train": 0, "valid": 1, "test": 2}),
        (["train.en.txt", "dev_1.txt", "my-test-set.txt"], {"train": 0, "valid": 1, "test": 2}),
        (["training.txt", "testing.txt"], {"train": 0, "test": 1}),
        (["TRAIN.TXT", "contest.txt", ".train.txt", "train.csv"], {"train": 0}),
    ],
)
def test_a_folder_says_by_names_which_file_is_which(tmp_path: Path, names: list[str], expected: dict[str, int]) -> None:
    for name in names:
        (tmp_path / name).write_text("words")
    assert files_of(tmp_path) == {split: (tmp_path / names[at],) for split, at in expected.items()}


def test_a_path_goes_before_the_data_folder_and_may_start_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder, file = Source(tmp_path / "data", "BENCH_DATA"), tmp_path / "my.txt"
    assert UserData(TEXTS, "~/my.txt").source(folder) == Source(file, f"task.path: {file}")
    assert UserData(TEXTS).source(folder) == folder


def test_files_that_stand_for_no_split_are_named(tmp_path: Path) -> None:
    folder, path, unread = Source(tmp_path, "BENCH_DATA"), str(tmp_path), "not read: more.txt"
    (tmp_path / "more.txt").write_text("words")
    assert UserData(TEXTS).source(folder) == folder
    (tmp_path / "train.txt").write_text("words")
    assert UserData(TEXTS).source(folder).why == f"BENCH_DATA; {unread}"
    assert UserData(TEXTS, path).source(Source(None, "")) == Source(tmp_path, f"task.path: {path}; {unread}")
    held = UserData(TEXTS, path, valid_path=str(tmp_path / "more.txt"))
    assert held.source(Source(None, "")) == Source(tmp_path, f"task.path: {path}")
    for number in range(5):
        (tmp_path / f"n{number}.txt").write_text("words")
    assert UserData(TEXTS).source(folder).why.endswith("not read: more.txt, n0.txt, n1.txt, n2.txt, 2 more")


@pytest.mark.parametrize("name", ["train_val.txt", "test_train.txt", "dev.test.txt"])
def test_a_name_that_stands_for_two_splits_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("words")
    with pytest.raises(DataError, match=f"expected a file for each split, found {name} for .* and .*; rename it"):
        files_of(tmp_path)


def test_a_folder_without_splits_is_one_text_in_order_of_names(tmp_path: Path) -> None:
    for name in ("b.txt", "a.jsonl.gz", "c.png", "trained.txt"):
        (tmp_path / name).write_text("words")
    assert files_of(tmp_path) == {"train": tuple(tmp_path / name for name in ("a.jsonl.gz", "b.txt", "trained.txt"))}
    other = files_of(tmp_path / "b.txt", valid=str(tmp_path))
    assert list(map(len, other.values())) == [1, 3]


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"expected files named \*\.txt or \*\.jsonl, .*found none"):
        files_of(tmp_path)
    (tmp_path / "a.test.txt").write_text("words")
    with pytest.raises(MissingError, match=r"has a file for test, but none named like 'train\.txt'"):
        files_of(tmp_path)
    for name in ("train.txt", "train.txt.gz"):
        (tmp_path / name).write_text("words")
    with pytest.raises(DataError, match=r"expected one file for train, found 2: train\.txt, train\.txt\.gz; keep one"):
        files_of(tmp_path)


# Held-out rows


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=40))
def test_every_split_has_a_row_and_rows_of_one_place_go_together(places: list[float | None]) -> None:
    known = set(places) - {None}
    if len(known) < 3:
        with pytest.raises(DataError, match=f"^x: expected at least 3 different rows, .*; found {len(known)}; do y$"):
            held_out(places, BOTH, "x", "; do y")
        return
    found = held_out(places, BOTH)
    assert set(found.values()) == set(BOTH)
    assert not [number for number in found if places[number] is None]
    split_of = {at: {found.get(n, "train") for n, other in enumerate(places) if other == at} for at in known}
    assert all(len(splits) == 1 for splits in split_of.values())
    assert {"train"} in split_of.values()


def test_rows_stay_where_they_are_when_others_come_or_a_split_has_a_file() -> None:
    places = [place(f"row {number}") for number in range(2000)]
    both, test = held_out(places, BOTH), held_out(places, ["test"])
    assert test == {number: split for number, split in both.items() if split == "test"}
    again = held_out([0.5, *places], BOTH)
    assert again == {number + 1: split for number, split in both.items()}
    shares = [list(both.values()).count(split) / 2000 for split in BOTH]
    assert all(0.03 < share < 0.07 for share in shares), shares


def test_places_are_spread_and_known() -> None:
    places = sorted(place(f"row {number}") for number in range(1000))
    assert all(abs(at - number / 1000) < 0.06 for number, at in enumerate(places))
    assert round(place("to be or not to be"), 6) == 0.83548
    assert set(RANGES) == set(BOTH)
