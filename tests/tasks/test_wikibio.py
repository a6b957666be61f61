"""Wikibio: boxes of every form, first sentences, linear boxes that fit, words between spaces, bad rows, the sample."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.errors import DataError
from bench.tasks.core.example import Example
from bench.tasks.core.task import Task
from bench.tasks.encode.codec import Codec
from bench.tasks.wikibio import Wikibio, fields_of
from tests.tasks.news_files import loaded, write

NAMES = ["tova lind", "rolf berg", "oona quist"]
BOX = (
    "name_1:{0}\tname_2:{1}\timage:<none>\tbirth_date_1:3\tbirth_date_2:may\thome_page_1:http://x\tarticle_title_1:{0}"
)
FIELDS = "name : {0} {1} | birth_date : 3 may | home_page : http://x | article_title : {0}"
SENTENCE = "{0} {1} -lrb- born 3 may -rrb- is a baker ."


def folder(place: Path, form: str) -> Path:
    boxes = [BOX.format(*name.split()) for name in NAMES]
    sentences = [SENTENCE.format(*name.split()) for name in NAMES]
    for split in ("train", "valid", "test"):
        if form in ("summary", "summary.gz"):
            write(place / f"{split}.box{form[7:]}", boxes)
            write(place / f"{split}.summary{form[7:]}", sentences)
        else:
            table = [("name", "image", "birth_date", "home_page", "article_title")]
            cells = [(name, "<none>", "3 may", "http://x", name.split()[0]) for name in NAMES]
            rows = [
                {
                    "input_text": {"table": {"column_header": list(table[0]), "content": list(cell)}},
                    "target_text": f"{sentence}\nmore .\n",
                }
                for cell, sentence in zip(cells, sentences, strict=True)
            ]
            write(place / f"{'validation' if split == 'valid' else split}.{form}", rows)
    return place


def read(task: Task, split: str) -> list[tuple[str, str, str]]:
    codec = Codec(None, "encoder-decoder", 10**6, 10**6)
    return [(e.id, task.source_text(e, codec)[0], e.target) for e in task.split(split).examples]


@pytest.mark.parametrize("form", ["summary", "summary.gz", "jsonl", "jsonl.gz", "parquet"])
def test_every_form_gives_the_same_rows(tmp_path: Path, form: str) -> None:
    task = loaded(Wikibio, folder(tmp_path, form))
    for split in ("train", "valid", "test"):
        assert read(task, split) == [
            (f"{split}/{at}", FIELDS.format(*name.split()), SENTENCE.format(*name.split()))
            for at, name in enumerate(NAMES)
        ]
    assert all(e.references == (e.target,) and not e.source for e in task.split("test").examples)


@pytest.mark.parametrize(
    ("box", "fields"),
    [
        ("a_1:x\tb:<none>\tc_1:<none>\td_1:", (("a", "x"),)),
        ("goals_2_1:5\tgoals_2_2:6", (("goals_2", "5 6"),)),
        ("a_1:x\tb_1:y\ta_2:z", (("a", "x z"), ("b", "y"))),
        ("time_1:12:30\ticon_1::", (("time", "12:30"), ("icon", ":"))),
        ("single:x\t_1:y", (("single", "x"), ("_1", "y"))),
        ("b:<none>", ()),
    ],
)
def test_tokens_of_a_box(box: str, fields: Any) -> None:
    assert fields_of(box) == fields


def test_fields_that_do_not_fit_are_left_out_whole_and_counted() -> None:
    task = loaded(Wikibio, None)
    box = (("name", "tova lind"), ("clubs", " ".join(["club"] * 50)), ("birth_date", "1951"))
    example = Example("a", "", "tova .", fields={"box": box})
    codec = Codec(task.word_tokenizer(100), "encoder-decoder", 12, 40)
    assert task.source_text(example, codec) == ("name : tova lind | birth_date : 1951", 1)
    assert task.encode([example], codec)[0].truncated == 1
    assert len(task.encode([example], codec)[0].source) <= 12 + sum(map(len, codec.frame))
    assert task.source_text(example, replace(codec, max_source=4)) == ("name : tova lind", 2)
    assert task.source_text(example, replace(codec, max_source=3)) == ("", 3)
    without = task.source_text(replace(example, fields={"box": box[1:]}), codec)
    assert without == ("birth_date : 1951", 1), "no bar before the first field that is kept"


def test_words_are_what_stands_between_spaces() -> None:
    task = loaded(Wikibio, None)
    tokenizer = task.word_tokenizer(50_000)
    for example in task.split("train").examples[:50]:
        ids = tokenizer(example.target, add_special_tokens=False)["input_ids"]
        assert len(ids) == len(example.target.split())
        assert tokenizer.unk_token_id not in ids
        assert tokenizer.decode(ids) == example.target
    assert len(task.word_tokenizer(60)) == 60


def test_files_that_do_not_go_together(tmp_path: Path) -> None:
    write(folder(tmp_path, "summary") / "train.box", ["name_1:a"])
    with pytest.raises(DataError, match=r"train\.box and .*train\.summary: expected as many lines in both"):
        loaded(Wikibio, tmp_path).split("train")
