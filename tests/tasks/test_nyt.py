"""NYT: made articles in the corpus's layouts, the split by day and by ids, what is no row and what is no article."""

import gzip
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from bench.errors import DataError, MissingError
from bench.tasks.nyt import NYT, Rule, read_rule
from tests.tasks.news_files import contents, loaded

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE nitf SYSTEM "http://nowhere.invalid/nitf-3-3.dtd">\n'
Files = dict[str, bytes]


def article(
    day: str, abstract: str | None = "A bridge closes (S)", text: str | None = "One.|Two &amp; é.", **_: Any
) -> bytes:
    """An article of our own in the corpus's form; `|` parts paragraphs."""
    summary = "" if abstract is None else f"<abstract>\n<p>{abstract}</p>\n</abstract>"
    paragraphs = "".join(f"\n<p>{one}</p>" for one in (text or "").split("|") if one)
    block = "" if text is None else f'<block class="full_text">{paragraphs}</block>'
    return (
        f'{HEAD}<nitf version="-//IPTC//DTD NITF 3.3//EN"><head><title>Bridge</title>'
        f'<pubdata date.publication="{day}T000000" name="A newspaper"/></head><body><body.head><hedline><hl1>Bridge'
        f'</hl1></hedline>{summary}</body.head><body.content><block class="lead_paragraph"><p>Lead.</p></block>'
        f"{block}</body.content></body></nitf>"
    ).encode()


def corpus(**changed: bytes) -> Files:
    """One article of each kind of day, by its path below `data`."""
    files = {
        "2002/12/31/10.xml": article("20021231"),
        "2003/01/01/11.xml": article("20030101"),
        "2006/12/31/12.xml": article("20061231", "Another (M)"),
        "2006/12/31/13.xml": article("20061231", None),
        "2007/01/01/14.xml": article("20070101", "Long " * 51),
        "2007/06/19/15.xml": article("20070619", text=None),
        "2007/06/19/16.xml": article("20070619", "Short ; one"),
    }
    names = {Path(name).stem: name for name in files}
    return {**files, **{names.get(id.strip("_"), id): content for id, content in changed.items()}}


def laid(place: Path, files: Files) -> Path:
    """Write the files as archives of months."""
    archives: dict[Path, Files] = {}
    for name, content in files.items():
        year, month, rest = name.split("/", 2)
        archives.setdefault(place / year / f"{month}.tgz", {})[f"{month}/{rest}"] = content
    for path, members in archives.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(tar(members)))
    return place


def tar(members: Files, extra: tuple[tarfile.TarInfo, ...] = ()) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for info in extra:
            archive.addfile(info)
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def ids(task: Any, split: str) -> list[str]:
    return [row.id for row in task.split(split).examples]


@pytest.fixture(autouse=True)
def none_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """By day no article of the made corpus is for validation."""
    monkeypatch.setattr("bench.tasks.nyt._place", lambda id: float(f"0.{id}"))


@pytest.mark.parametrize("place", ["", "data"])
def test_articles_of_archives_are_rows(tmp_path: Path, place: str) -> None:
    laid(tmp_path / place, corpus())
    task = loaded(NYT, tmp_path)
    assert contents(task, "train") == [
        ("11", "One.\nTwo & é.", "A bridge closes (S)"), ("12", "One.\nTwo & é.", "Another (M)"),
    ]  # fmt: skip
    assert ids(task, "valid") == []
    assert ids(task, "test") == ["14", "16"]
    train = task.split("train")
    assert (train.status, train.examples[0].references) == ("subset", ("A bridge closes (S)",))
    assert [(one[1], one[2]) for one in train.skipped] == [("article 13", "has no summary")]
    assert [(one[1], one[2]) for one in task.split("test").skipped] == [("article 15", "has no text")]
    assert task.manifest("test").skipped == 1


def test_the_long_test_split_is_the_one_that_is_published(tmp_path: Path) -> None:
    task = loaded(NYT, laid(tmp_path, corpus(_16=article("20070619", "word " * 50))), test="long")
    assert ids(task, "test") == ["14"]
    assert [one[2] for one in task.split("test").skipped] == ["has no text", "its summary has no more than 50 tokens"]


def test_the_first_year_of_training_is_an_option(tmp_path: Path) -> None:
    assert ids(loaded(NYT, laid(tmp_path, corpus()), first_year=2002), "train") == ["10", "11", "12"]


def test_an_unpacked_month_beside_archives_is_refused(tmp_path: Path) -> None:
    place = laid(tmp_path, corpus())
    archive = next(place.rglob("12.tgz"))
    archive.rename(archive.with_name("11.tgz"))
    archive.with_suffix("").mkdir()
    with pytest.raises(DataError, match="expected the archive of this month, found its folder"):
        loaded(NYT, place).split("train")


# The split --------------------------------------------------------------------------------------------------------


def test_without_ids_the_day_decides() -> None:
    rule = Rule()
    days = ["19870101", "20021231", "20030101", "20061231", "20070101", "20070619"]
    assert [rule.split_of("99", day) for day in days] == ["", "", "train", "train", "test", "test"]
    assert rule.split_of("05", "20040101") == "valid", "the share of the days that is held out"


def test_lists_of_ids_decide_where_there_are_any(tmp_path: Path) -> None:
    laid(tmp_path, corpus())
    (tmp_path / "train_ids.txt").write_text("12\n")
    (tmp_path / "valid_ids.txt").write_text("11.xml\n\n")
    (tmp_path / "test_ids.txt").write_text("16\n")
    task = loaded(NYT, tmp_path)
    assert [ids(task, split) for split in ("train", "valid", "test")] == [["12"], ["11"], ["16"]]
    assert "by ids" in task.split("test").origin


def test_without_a_list_for_validation_a_share_of_the_training_ids_is_held_out(tmp_path: Path) -> None:
    (tmp_path / "train_ids.txt").write_text("".join(f"{id}\n" for id in range(100, 200)))
    rule = read_rule(tmp_path, 2003)
    assert rule.lists["valid"] == {str(id) for id in range(100, 109)}, "those with the smallest hash"
    assert len(rule.lists["train"]) == 91
    assert rule.split_of("16", "20040101") == "", "the day does not matter then"


def test_a_split_with_all_listed_rows_is_official(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.tasks.nyt.LONG_TEST", 1)
    laid(tmp_path, corpus())
    assert loaded(NYT, tmp_path, test="long").split("test").status == "subset", "by day it is not known to be"
    (tmp_path / "test_ids.txt").write_text("14\n16\n")
    assert loaded(NYT, tmp_path, test="long").split("test").status == "official"


# Bad data ---------------------------------------------------------------------------------------------------------

BAD = {
    "cut": (article("20030101")[:-20], "is no well-formed XML"),
    "empty": (b"", "is no well-formed XML"),
    "binary": (b"\x00\xff\x1f", "is no well-formed XML"),
    "bytes": (article("20030101").replace("é".encode(), b"\xff"), "is no well-formed XML"),
    "coding": (article("20030101").replace(b"UTF-8", b"UTF-99"), "is no well-formed XML"),
    "other": (b"<html/>", "expected an article, <nitf>, found <html>"),
}


@pytest.mark.parametrize("kind", list(BAD))
def test_what_is_no_article_is_named(tmp_path: Path, kind: str) -> None:
    content, says = BAD[kind]
    with pytest.raises(DataError, match=rf"01\.tgz, article 11: {says}"):
        loaded(NYT, laid(tmp_path, corpus(_11=content))).split("train")


def packed(place: Path, content: bytes) -> Path:
    path = place / "data" / "2006" / "12.tgz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return place


def test_a_damaged_archive_is_told(tmp_path: Path) -> None:
    whole = tar({f"12/31/{n}.xml": article("20061231") for n in range(20, 30)})
    damaged = [gzip.compress(whole)[:300], gzip.compress(whole[: 1536 * 4 + 1000]), gzip.compress(b"no archive"), b"x",
               gzip.compress(whole)[:-8] + b"12345678"]  # fmt: skip
    for content in damaged:
        with pytest.raises(DataError, match=r"12\.tgz: is damaged or cut short|12\.tgz, article"):
            loaded(NYT, packed(tmp_path, content)).split("train")


def test_nothing_but_articles_is_taken_from_an_archive(tmp_path: Path) -> None:
    link = tarfile.TarInfo("12/31/30.xml")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    content = tar({"12/31/32.xml": article("20061231"), "../../33.txt": b"x", "12/31/index.html": b"x"}, (link,))
    assert ids(loaded(NYT, packed(tmp_path, gzip.compress(content))), "train") == ["32"]


def test_no_corpus_says_where_it_is_from(tmp_path: Path) -> None:
    with pytest.raises(
        MissingError, match=r"expected archives of months, e\.g\. .*01\.tgz, found none; get LDC2008T19"
    ):
        loaded(NYT, tmp_path).split("train")
