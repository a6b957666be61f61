"""CNN/DM: highlights keep their lines, the agency mark stays unless asked, every published layout is read."""

from pathlib import Path
from typing import Any

import pytest

from bench.tasks.cnndm import CNNDM, without_mark
from tests.tasks.news_files import contents, loaded, write


def row(name: str, article: str = "") -> dict[str, Any]:
    return {"id": name, "article": article or f"(CNN)Article {name}.", "highlights": f"First of {name} .\nSecond ."}


def folder(place: Path, form: str = "{}.jsonl", **rows: Any) -> Path:
    wanted = {"train": [row("1"), row("2")], "validation": [row("3")], "test": [row("4")], **rows}
    for split, found in wanted.items():
        write(place / form.format(split), found)
    return place


@pytest.mark.parametrize(
    "form",
    ["{}.jsonl", "{}.jsonl.gz", "{}.parquet", "3.0.0/{}-00000-of-00001.parquet", "data/{}-00000-of-00001.parquet"],
)
def test_every_form_gives_the_same_rows(tmp_path: Path, form: str) -> None:
    task = loaded(CNNDM, folder(tmp_path, form))
    assert contents(task, "train")[1] == ("2", "(CNN)Article 2.", "First of 2 .\nSecond .")
    assert task.split("valid").examples[0].references == ("First of 3 .\nSecond .",)
    assert task.split("test").status == "subset"


def test_copies_in_one_line_are_taken_and_told(tmp_path: Path) -> None:
    write(tmp_path / "ctrlsum_train.jsonl.gz", [{"article": "a", "highlights": "One. Two."}])
    write(tmp_path / "validation_subset.jsonl.gz", [row("3")])
    write(tmp_path / "ctrlsum_test.jsonl.gz", [{"article": "b", "highlights": "One. Two."}])
    task = loaded(CNNDM, tmp_path)
    assert "no highlights have a line break, so ROUGE-Lsum is ROUGE-L" in task.split("train").origin
    assert "line break" not in task.split("valid").origin
    assert task.split("test").examples[0].id.startswith("content-")


def test_training_rows_that_are_test_rows_make_a_proxy(tmp_path: Path) -> None:
    split = loaded(CNNDM, folder(tmp_path, train=[row("1"), row("4"), row("5", "(CNN)Article 4.")])).split("train")
    assert (split.status, split.origin.split("; ")[-1]) == ("proxy", "2 of 3 rows are rows of the test file too")


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        ("(CNN)Share, and", "Share, and"),
        ("(CNN) -- The ninth", "The ninth"),
        ("MIAMI, Florida (CNN) -- The ninth", "The ninth"),
        ("NEW YORK (CNN) The", "The"),
        ("Editor's note: MIAMI (CNN) -- The", "Editor's note: MIAMI (CNN) -- The"),
        ("He told (CNN) that", "He told (CNN) that"),
        ("(CNNMoney)The", "(CNNMoney)The"),
        ("", ""),
    ],
)
def test_only_a_mark_at_the_start_is_stripped(text: str, stripped: str) -> None:
    assert without_mark(text) == stripped


def test_the_mark_stays_unless_asked(tmp_path: Path) -> None:
    place = folder(tmp_path)
    assert loaded(CNNDM, place).split("test").examples[0].source == "(CNN)Article 4."
    assert loaded(CNNDM, place, strip_cnn=True).split("test").examples[0].source == "Article 4."
