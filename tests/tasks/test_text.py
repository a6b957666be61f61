"""Text as a task: which words make a row, what a prompt is, and what is held out."""

import gzip
import json
import random
import tracemalloc
from pathlib import Path

import pytest

from bench.cells.cell import Cell
from bench.cells.plan import make_plan
from bench.cells.record import about
from bench.config.arguments import RunArguments
from bench.errors import BenchError, DataError, MissingError, UsageError
from bench.tasks.encode.codec import IGNORED, Codec
from bench.tasks.fetch.sources import Source
from bench.tasks.text import Text, Unit, read_documents


def numbered(start: int, n: int) -> str:
    return " ".join(f"w{i}" for i in range(start, start + n))


def loaded(folder: Path | None = None, **options: object) -> Text:
    task = Text(**options)  # type: ignore[arg-type]
    task.load(Source(folder, "test"))
    return task


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """300 documents of 40 words, 50 short ones, and ten of the long ones twice."""
    lines = [numbered(1000 * i, 40) for i in range(300)] + [numbered(10**6 + 100 * i, 5) for i in range(50)]
    lines += lines[:10]
    path = tmp_path / "my.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


# Passages ---------------------------------------------------------------------------------------------------------


def test_a_document_is_cut_into_passages_of_consecutive_words(tmp_path: Path) -> None:
    both = numbered(0, 25) + "\n" + numbered(100, 12) + "\n"
    task = loaded(write(tmp_path, train=both, valid=both, test=both), words=10, prompt_words=2)
    assert {e.id: e.target for e in task.split("test").examples} == {
        "test/0/0": numbered(0, 10),
        "test/0/1": numbered(10, 10),
        "test/1/0": numbered(100, 10),
    }
    assert all((e.source, e.references, e.fields) == ("", (), {}) for e in task.split("test").examples)


def test_the_end_of_a_document_is_a_row_if_it_is_long_enough_and_is_counted_if_not(tmp_path: Path) -> None:
    for rest, rows in ((9, 1), (10, 2)):  # a prompt of 2 and 8 more
        both = numbered(0, 20 + rest)
        task = loaded(write(tmp_path, train=both, valid=both, test=both), words=20, prompt_words=2)
        for split in ("train", "test"):
            found = task.split(split)
            assert len(found.examples) == rows
            expected = () if rows == 2 else ((f"{split}.txt", "line 1, passage 1", "9 words are too few for a row; it "
                                              "needs 10"),)  # fmt: skip
            assert found.skipped == expected
            assert task.manifest(split).skipped == len(expected)


def test_a_short_document_is_learned_from_and_not_evaluated(tmp_path: Path) -> None:
    both = f"{numbered(0, 5)}\n{numbered(50, 12)}\n"
    task = loaded(write(tmp_path, train=both, valid=both, test=both), words=10, prompt_words=2)
    assert [e.id for e in task.split("train").examples] == ["train/0/0", "train/1/0"]
    assert [e.id for e in task.split("test").examples] == ["test/1/0"]
    assert [row for _, row, _ in task.split("test").skipped] == ["line 1, passage 0", "line 2, passage 1"]


def test_only_the_end_of_a_name_makes_records_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "notes.json.txt"
    path.write_text("\n".join(f"line {number}" + " of some notes" * 12 for number in range(40)))
    assert loaded(path=str(path)).split("train").examples[0].target.endswith("of some notes")


@pytest.mark.parametrize(("name", "delimiter"), [("x.csv", ","), ("X.TSV.gz", "\t")])
def test_a_table_is_records_and_no_plain_text(tmp_path: Path, name: str, delimiter: str) -> None:
    content = 'id,body\n1,"a b\nc"\n2,d\n'.replace(",", delimiter).encode()
    assert read(tmp_path / name, content, field="body") == [("line 2", "a b c"), ("line 4", "d")]
    with pytest.raises(DataError, match=r"line 2: has no field 'text'; set task\.field to one of its fields"):
        read(tmp_path / name, content)


# Prompts ----------------------------------------------------------------------------------------------------------


def test_a_prompt_and_its_continuation_are_the_tokens_of_the_passage() -> None:
    task = Text()
    codec = Codec(task.tokenizer(800), "decoder-only", 200, 400)
    examples = task.split("test").examples[:40]
    whole, parts = task.encode(examples, codec), task.encode(examples, codec, prompts=True)
    for one, two in zip(whole, parts, strict=True):
        assert [*one.source, *one.target] == [*two.source, *two.target]
        assert (one.truncated, two.truncated) == (0, 0)
        assert len(one.source) == 1, "the start token alone: all of the passage carries loss"
    assert codec.tokenizer.eos_token_id not in {i for row in whole for i in row.target}
    labels = codec.train_batch(parts)["labels"]
    assert (labels[0] != IGNORED).sum() == len(parts[0].target)


# Which rows are held out ------------------------------------------------------------------------------------------


def documents_of(task: Text) -> dict[str, set[str]]:
    return {split: {e.target for e in task.split(split).examples} for split in ("train", "valid", "test")}


def test_one_file_is_split_without_a_leak(corpus: Path) -> None:
    task = loaded(path=str(corpus))
    found = documents_of(task)
    assert not found["train"] & found["test"]
    assert not found["train"] & found["valid"]
    assert not found["valid"] & found["test"]
    assert sum(len(task.split(split).examples) for split in found) == 360, "doubles and short documents are kept"
    assert all(5 <= len(found[split]) <= 30 for split in ("valid", "test"))
    assert all(len(text.split()) == 40 for split in ("valid", "test") for text in found[split])
    assert task.split("test").skipped == ()


def test_splits_without_a_file_take_their_share_of_the_training_text(corpus: Path, tmp_path: Path) -> None:
    every = documents_of(loaded(path=str(corpus)))
    (tmp_path / "held.jsonl").write_text(json.dumps({"body": numbered(5 * 10**6, 40)}), encoding="utf-8")
    found = documents_of(loaded(path=str(corpus), test_path=str(tmp_path / "held.jsonl"), field="body"))
    assert found["test"] == {numbered(5 * 10**6, 40)}
    assert found["valid"] == every["valid"]
    assert found["train"] == every["train"] | every["test"]
    same = loaded(path=str(corpus), valid_path=str(corpus), test_path=str(corpus))
    assert documents_of(same)["test"] == set().union(*every.values()) - {t for t in every["train"] if len(t) < 100}


# What cannot be used ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"words": 31}, "task.words must be at least 8 more than task.prompt_words, not 31 and 24"),
        ({"test_path": "a.txt"}, "need task.path"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        loaded(**options)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (" \n\t\n\n", "expected text, found none"),
        ("one line\n" * 50, "expected at least 3 different rows.*found 0 of 32 words or more"),
        (numbered(0, 500), r"found 1 of 32 words or more; set task\.document"),
        ("\n".join(numbered(1000 * i, 40) for i in range(3)) + "\n" + "x" * 10_001, r"line 4: has 10,001 characters"),
    ],
)
def test_text_that_gives_no_rows_is_one_clear_line(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "my.txt").write_text(text, encoding="utf-8")
    task = loaded(path=str(tmp_path / "my.txt"))
    with pytest.raises(DataError, match=rf"my\.txt.*{says}") as found:
        task.split("train")
    assert "\n" not in str(found.value)


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    for path, says in ((str(tmp_path / "no.txt"), "is not there"), ("~nobody-of-this-name/x", "~nobody-of-this-name")):
        with pytest.raises(MissingError, match=says) as found:
            loaded(path=path).split("train")
        assert "\n" not in str(found.value)
    (tmp_path / "my.txt").write_text(numbered(0, 40))
    with pytest.raises(BenchError, match="is not there"):
        loaded(path=str(tmp_path / "my.txt"), test_path=str(tmp_path / "no.txt")).split("train")


# The real text ----------------------------------------------------------------------------------------------------


def test_a_title_is_in_the_record_and_in_no_key(tmp_path: Path, corpus: Path) -> None:
    def planned(*sets: str) -> Cell:
        arguments = RunArguments(("text",), ("mle",), sets=(f"task.path={corpus}", *sets), results=str(tmp_path))
        (cell,) = make_plan(arguments).cells
        return cell

    plain, named = planned(), planned("task.title=King James Bible")
    assert plain.key == named.key
    assert about(named) == {**about(plain), "title": "King James Bible"}


# Documents of files ---------------------------------------------------------------------------------------------


def read(path: Path, content: bytes, field: str = "text", unit: Unit = "line") -> list[tuple[str, str]]:
    path.write_bytes(content)
    return [(d.row, " ".join(d.text.split())) for d in read_documents([path], field, unit)]


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("line", [("line 2", "a b"), ("line 3", "c"), ("line 6", "d")]),
        ("blank_line", [("line 2", "a b c"), ("line 6", "d")]),
        ("file", [("line 2", "a b c d")]),
    ],
)
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_units_of_plain_text(tmp_path: Path, unit: Unit, expected: list[tuple[str, str]], newline: bytes) -> None:
    content = b"\n a b\nc\n \t\n\nd".replace(b"\n", newline)
    assert read(tmp_path / "x.txt", content, unit=unit) == expected
    assert read(tmp_path / "x.txt", b"\xef\xbb\xbf" + content, unit=unit) == expected
    assert read(tmp_path / "no-ending", gzip.compress(content, mtime=0), unit=unit) == expected


PACKED = gzip.compress(
    "\n".join(f"line {i} " + random.Random(i).randbytes(40).hex() for i in range(2000)).encode(), mtime=0
)


@pytest.mark.parametrize("content", [PACKED[: len(PACKED) // 2], PACKED[:-4] + b"oops", PACKED + b"tail"])
def test_a_damaged_text_is_named_with_its_line(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DataError, match=r"^[^\n]*x\.txt, line \d{3,4}: the packed file is damaged or cut[^\n]*$"):
        read(tmp_path / "x.txt", content)


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"gone\.txt, line 1: cannot be read \(No such file"):
        list(read_documents([tmp_path / "gone.txt"]))


def test_a_line_beyond_all_bounds_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.tasks.files.lines.LONGEST_LINE", 1000)
    assert read(tmp_path / "x.txt", b"a" * 999 + b"\nb") == [("line 1", "a" * 999), ("line 2", "b")]
    bomb = gzip.compress(b"a\n" + b"b" * 2 * 10**7, mtime=0)
    tracemalloc.start()
    with pytest.raises(DataError, match=r"line 2: is longer than 1,000 bytes"):
        read(tmp_path / "x.txt", bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**6
