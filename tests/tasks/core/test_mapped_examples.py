"""Mapped examples: rows come back as they went in, share a file, and small splits and tables stay in memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import DataError, StoreError
from bench.tasks.core import mapped_examples as module
from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.mapped_examples import MappedExamples, held
from bench.tasks.encode.codec import Codec
from bench.tasks.fetch.sources import Source
from bench.tasks.gigaword import Gigaword
from tests.bench.forks import full_disk

TEXT = st.text(max_size=9)
EXAMPLE = st.builds(Example, TEXT, TEXT, TEXT, st.lists(TEXT, max_size=3).map(tuple))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "MOST_IN_MEMORY", 10)
    monkeypatch.setattr(module, "CHUNK", 3)
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "examples"


def some(n: int) -> Iterator[Example]:
    return (Example(f"r/{i}", f"source {i} é", "세계" * (i % 3), ("a", "") * (i % 2)) for i in range(n))


def manifest(examples: object) -> object:
    return Split("train", examples, "own", "").manifest()  # type: ignore[arg-type]


@given(rows=st.lists(EXAMPLE, min_size=1, max_size=8))
def test_any_rows_come_back(rows: list[Example], tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "MOST_IN_MEMORY", -1)
        patched.setenv("BENCH_CACHE", str(tmp_path_factory.getbasetemp() / "any"))
        examples = held(iter(rows))
    assert isinstance(examples, MappedExamples)
    assert list(examples) == rows
    assert [examples[at] for at in range(len(rows))] == rows


def test_they_behave_as_a_list_does(cache: Path) -> None:
    rows, examples = list(some(11)), held(some(11))
    assert isinstance(examples, MappedExamples)
    assert (len(examples), examples[-1], list(reversed(examples))) == (11, rows[-1], rows[::-1])
    for part in (slice(None), slice(2, 9), slice(0, 0), slice(8, 99)):
        assert list(examples[part]) == rows[part]
        assert list(examples[part][1:3]) == rows[part][1:3]
    assert list(examples[::3]) == rows[::3]
    with pytest.raises(IndexError):
        examples[11]
    assert manifest(examples) == manifest(rows)


def test_equal_rows_share_one_file_and_others_do_not(cache: Path) -> None:
    held(some(11))
    (path,) = cache.iterdir()
    inode = path.stat().st_ino
    assert list(held(some(11))) == list(some(11))
    assert [(one, one.stat().st_ino) for one in cache.iterdir()] == [(path, inode)]
    held(some(12))
    assert len(list(cache.iterdir())) == 2


@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_a_damaged_file_is_made_again(cache: Path, damage: str) -> None:
    held(some(11))
    (path,) = cache.iterdir()
    content = path.read_bytes()
    if damage == "cut":
        path.write_bytes(content[:-1])
    elif damage == "changed":
        path.write_bytes(b"X" + content[1:])
    else:
        path.unlink()
    assert list(held(some(11))) == list(some(11))
    assert path.read_bytes() == content


def test_few_rows_and_rows_with_tables_stay_in_memory(cache: Path) -> None:
    assert held(some(1)) == list(some(1))
    table = Example("t", "source", "a target", fields={"table": ("a",)})
    assert held([table] * 5) == [table] * 5
    with pytest.raises(DataError, match="row 't' has fields and rows before it have none"):
        held([*some(5), table, *some(5)])
    assert not cache.exists() or not list(cache.iterdir())


def test_a_full_disk_is_one_line(cache: Path) -> None:
    answer = full_disk(100, lambda: len(held(some(100))))
    assert answer["raised"] == StoreError.__name__
    assert answer["text"].startswith(f"cannot keep rows in '{cache}' (")
    assert list(cache.iterdir()) == []


def write(folder: Path, n: int, word: str = "tova") -> Path:
    folder.mkdir()
    for name, text in (("article", "the town of {} has {} rivers ."), ("title", "rivers of {} : {}")):
        (folder / f"train.{name}.txt").write_text("".join(text.format(word, i) + "\n" for i in range(n)))
    return folder


def test_a_task_has_the_same_rows_hashes_and_tokens(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, tasks = write(tmp_path / "files", 300), []
    for limit in (10, 10**9):
        monkeypatch.setattr(module, "MOST_IN_MEMORY", limit)
        tasks.append(Gigaword())
        tasks[-1].load(Source(folder, "test"))
        tasks[-1].split("train")
    mapped, listed = tasks
    assert isinstance(mapped.split("train").examples, MappedExamples)
    assert isinstance(listed.split("train").examples, list)
    assert mapped.manifest("train") == listed.manifest("train")
    assert list(mapped.training_texts()) == list(listed.training_texts())
    tokenizers = [task.tokenizer(300) for task in tasks]
    assert tokenizers[0].get_vocab() == tokenizers[1].get_vocab()
    encoded = []
    for task, tokenizer in zip(tasks, tokenizers, strict=True):
        rows = task.encoded("train", Codec(tokenizer, "encoder-decoder", 20, 10))
        encoded.append([(row.id, list(row.source), list(row.target)) for row in rows])
    assert encoded[0] == encoded[1]
    assert mapped.evaluation_examples("train", 7) == listed.evaluation_examples("train", 7)
