"""NSMC: films from every form of files, shares by film, a stream of whole documents, bad rows, the sample."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.errors import DataError, MissingError
from bench.tasks.encode.codec import Codec
from bench.tasks.nsmc import NSMC
from tests.tasks.news_files import contents, loaded, write

FILMS = {str(100 + i): [f"{i}번째 영화", f"좋았다 {i}"] for i in range(60)}


def record(film: str, reviews: Sequence[Any], **more: Any) -> dict[str, Any]:
    return {"movie_id": film, "reviews": reviews, **more}


def review(text: str) -> dict[str, Any]:
    return {"id": "1", "rating": 10, "date": "15.08.23", "review": text}


def text(reviews: Sequence[str]) -> str:
    return "\n".join(reviews) + "\n\n"


@pytest.mark.parametrize("form", ["jsonl", "jsonl.gz", "parquet"])
def test_films_of_split_files(tmp_path: Path, form: str) -> None:
    rows = [record(film, [review(one) for one in reviews]) for film, reviews in FILMS.items()]
    for split, part in (("train", rows[:40]), ("validation", rows[40:50]), ("test", rows[50:])):
        write(tmp_path / f"{split}.{form}", part)
    task = loaded(NSMC, tmp_path)
    assert [len(contents(task, split)) for split in ("train", "valid", "test")] == [40, 10, 10]
    assert contents(task, "test")[0] == ("test/150", "", "50번째 영화\n좋았다 50\n\n")
    assert {task.split(split).status for split in ("train", "valid", "test")} == {"subset"}


def test_reviews_of_the_hub(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl.gz", [{"id": str(i), "document": f"{i % 30}번 좋다"} for i in range(60)])
    write(tmp_path / "test.jsonl.gz", [{"id": "1", "document": "굿"}, {"id": "2", "document": None}])
    task = loaded(NSMC, tmp_path)
    train, valid = contents(task, "train"), contents(task, "valid")
    assert len(train) + len(valid) == 60
    assert not {row for _, _, row in train} & {row for _, _, row in valid}, "equal reviews go together"
    assert contents(task, "test") == [("test/1", "", "굿\n\n")]
    assert task.split("test").skipped == (("test.jsonl.gz", "line 2", "has no word"),)


def test_documents_are_one_stream_and_words_are_counted_whole(tmp_path: Path) -> None:
    task = loaded(NSMC, None, columns=2)
    codec = Codec(task.tokenizer(1000), "decoder-only", 50, 128)
    every = "".join(row for _, _, row in contents(task, "test"))
    blocks = task.encoded("test", codec)
    assert codec.tokenizer.decode([token for row in blocks for token in row.target]) == every
    assert sum(row.n_words for row in blocks) == len(every.split())
    assert sum(row.n_bytes for row in blocks) == len(every.encode())
    prompts = task.encoded("test", codec, prompts=True)
    assert {len(row.source) for row in prompts} == {51}


def test_what_is_missing(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", [record("1", ["a"])])
    with pytest.raises(MissingError, match=r"has no file for the test split; bench list --data nsmc --fetch"):
        loaded(NSMC, tmp_path).split("test")
    with pytest.raises(DataError, match=r"train\.jsonl: expected at least 2 different rows, to hold out one"):
        loaded(NSMC, tmp_path).split("train")
