"""Gigaword and DUC-2004: lines that belong together, every layout, one unknown word, four references."""

from pathlib import Path
from typing import Any

import pytest

from bench.errors import DataError
from bench.tasks.duc2004 import Duc2004
from bench.tasks.fetch.sources import resolve
from bench.tasks.gigaword import Gigaword
from tests.tasks.news_files import contents, loaded, write

FILES = {
    "train": ("train.article.txt", "train.title.txt"),
    "valid": ("valid.article.filter.txt", "valid.title.filter.txt"),
    "test": ("input.txt", "task1_ref0.txt"),
}
LAYOUTS = {"sumdata": ("sumdata/train", "sumdata/Giga"), "apart": ("train", "giga"), "beside": (".", ".")}
DUC: list[Any] = [{"id": "A.1", "text": 'He said "Go" (U.S.).', "summaries": ["One A", "2", "Three", "Four"]},
                  {"id": "A.1", "text": "Rain.", "summaries": ["Five", "Six", "Seven", "Eight"]}]  # fmt: skip


def folder(place: Path, layout: str = "apart", packed: bool = False, n: int = 3) -> Path:
    for split, names in FILES.items():
        for name, words in zip(names, ("sentence UNK", "title <unk>"), strict=True):
            where = place / LAYOUTS[layout][split == "test"] / (name + ".gz" * packed)
            write(where, [f"{split} {words} {i} ." for i in range(n)])
    return place


def duc(place: Path, rows: list[Any] = DUC) -> Path:
    write(place / "duc2004.jsonl", rows)
    return place


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_every_layout_gives_the_same_rows(tmp_path: Path, layout: str, packed: bool) -> None:
    task = loaded(Gigaword, folder(tmp_path, layout, packed))
    for split in FILES:
        assert contents(task, split)[2] == (f"{split}/2", f"{split} sentence <unk> 2 .", f"{split} title <unk> 2 .")
    assert [task.split(split).examples[0].references for split in FILES] == [
        (), ("valid title <unk> 0 .",), ("test title <unk> 0 .",),
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["{}.jsonl.gz", "{}.parquet", "data/{}-00000-of-00001.parquet"])
def test_rows_of_the_hub_are_read_too(tmp_path: Path, form: str) -> None:
    for split in ("train", "validation", "test"):
        write(tmp_path / form.format(split), [{"document": f"{split} UNK {i}", "summary": f"t {i}"} for i in range(2)])
    assert contents(loaded(Gigaword, tmp_path), "valid") == [
        ("valid/0", "validation <unk> 0", "t 0"), ("valid/1", "validation <unk> 1", "t 1"),
    ]  # fmt: skip


# DUC-2004 ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["gigaword/duc2004", "gigaword/DUC2004", "gigaword", "duc2004"])
def test_rows_of_both_sets_are_found(tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder(tmp_path / "gigaword")
    duc(tmp_path / where)
    monkeypatch.setenv("BENCH_DATA", str(tmp_path))
    task = Duc2004()
    task.load(resolve("duc2004", folders=Duc2004.info.folders))
    assert contents(task, "train")[0] == ("train/0", "train sentence <unk> 0 .", "train title <unk> 0 .")
    first, second = task.split("test").examples
    assert (first.id, first.source) == ("000/A.1", "he said `` go '' -lrb- u.s. -rrb- .")
    assert (first.target, first.references) == ("One A", ("One A", "2", "Three", "Four"))
    assert second.id == "001/A.1"
    assert [task.split(split).status for split in FILES] == ["subset"] * 3


def test_the_files_of_lines_are_read_too(tmp_path: Path) -> None:
    for at in range(4):
        write(tmp_path / "DUC2004" / f"task1_ref{at}.txt", [f"Ref {at} a", f"Ref {at} b"])
    write(tmp_path / "DUC2004" / "input.txt", ["A UNK .", "b"])
    first, second = loaded(Duc2004, tmp_path).split("test").examples
    assert (first.id, first.source, first.references) == ("000", "a <unk> .", tuple(f"Ref {at} a" for at in range(4)))
    assert second.references[3] == "Ref 3 b"
    write(tmp_path / "DUC2004" / "task1_ref3.txt", ["Ref 3 a"])
    with pytest.raises(DataError, match="expected as many lines in both"):
        loaded(Duc2004, tmp_path).split("test")


def test_an_article_of_two_sets_is_one_example_of_a_test_over_items(tmp_path: Path) -> None:
    task, names = loaded(Duc2004, duc(tmp_path, [*DUC, DUC[0]])), ["000/A.1", "001/A.1", "002/A.1"]
    assert task.clusters("test", names) == [*names[:2], names[0]]


@pytest.mark.parametrize("titles", [None, [], ["a"] * 3, ["a"] * 5, ["a", "b", "c", ""], ["a", "b", "c", 4], "abcd"])
def test_four_references_or_none(tmp_path: Path, titles: Any) -> None:
    duc(tmp_path, [DUC[0], {**DUC[1], "summaries": titles}])
    with pytest.raises(DataError, match=r"duc2004\.jsonl, line 2: expected 4 texts in the field 'summaries'"):
        loaded(Duc2004, tmp_path).split("test")
