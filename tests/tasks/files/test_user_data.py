"""User data: the split that a file's name stands for, in both sets of forms."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.errors import DataError, MissingError
from bench.tasks.fetch.sources import Source
from bench.tasks.files.user_data import UserData
from bench.tasks.text import TEXTS


def files_of(folder: Path, forms: Sequence[str] = TEXTS, valid: str = "") -> dict[str, tuple[Path, ...]]:
    return UserData(forms, valid_path=valid).files(folder)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["train.txt", "valid.txt.gz", "test.jsonl"], {"train": 0, "valid": 1, "test": 2}),
        (["kjv.train.txt.gz", "kjv.valid.txt.gz", "kjv.test.txt.gz"], {"train": 0, "valid": 1, "test": 2}),
        (["train.en.txt", "dev_1.txt", "my-test-set.txt"], {"train": 0, "valid": 1, "test": 2}),
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
