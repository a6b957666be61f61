"""NYT's files: articles of LDC2008T19 by day, unpacked or in the archives of a month, and which split each is in.

Of an article are read the day (`pubdata`), the summary (`abstract`) and the paragraphs of the block `full_text`, in the
News Industry Text Format 3.3 as LDC2008T19 uses it. Nothing outside a file is ever loaded.
"""

from __future__ import annotations

import hashlib
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from bench.errors import DataError, MissingError
from bench.tasks.files.bad_rows import BadRow
from bench.tasks.files.expected_files import find
from bench.tasks.files.lines import lines

__all__ = ["Article", "File", "Rule", "files_of", "parse", "read_rule"]

FIRST_TEST_DAY = "20070101"
VALID = 9000
"""Training articles that are for validation (Peng et al. 2019 section 4.2)."""
TRAIN_AND_VALID = 100_834
"""91,834 + 9,000."""

ARCHIVE = re.compile(r"(\d\d)\.(?:tgz|tar\.gz)")
MEMBER = re.compile(r"(?:.*/)?(\d\d)/(\d\d)/([^/]+)\.xml")


class File(NamedTuple):
    """An article's file: where it lies, its day by the names of the folders, its name, and its content."""

    path: Path
    row: str
    day: str
    id: str
    content: bytes


@dataclass(frozen=True)
class Rule:
    """Which split an article is in, by its id and its day alone.

    Args:
        first_year: of training, by day.
        lists: ids of splits that are known; the other splits go by day. Where there is no list for validation, the
            9,000 of the training list with the smallest hash are it, or that share of the training days.
    """

    first_year: int = 2003
    lists: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def split_of(self, id: str, day: str) -> str:
        """Return the split, or nothing for an article that is in none.

        >>> [Rule().split_of("1", day) for day in ("19990101", "20070101")]
        ['', 'test']
        """
        for split, ids in self.lists.items():
            if id in ids:
                return split
        by_day = "train"
        if day >= FIRST_TEST_DAY:
            by_day = "test"
        elif int(day[:4]) < self.first_year:
            return ""
        if by_day in self.lists:
            return ""
        if by_day == "train" and "valid" not in self.lists and _place(id) < VALID / TRAIN_AND_VALID:
            return "valid"
        return by_day

    def may_have(self, split: str, year: int) -> bool:
        """Return whether articles of a year can be in a split."""
        if split in self.lists:
            return True
        if split == "test":
            return year >= 2007
        return self.first_year <= year < 2007


def _place(id: str) -> float:
    """Return a number between 0 and 1 that stays an article's own."""
    return int.from_bytes(hashlib.sha256(f"nyt {id}".encode()).digest()[:8], "big") / 2**64


def read_rule(folder: Path, first_year: int) -> Rule:
    """Read the lists of ids there are: `train_ids.txt`, `valid_ids.txt` and `test_ids.txt`, one id a line.

    Durrett et al. 2016 released ids as the names of files: `ls train_abstracts_standoff > train_ids.txt`.

    Raises:
        DataError: a list is empty, or an id is in two.
    """
    lists: dict[str, frozenset[str]] = {}
    for split in ("train", "valid", "test"):
        path = find(folder, [f"{split}_ids.txt"])
        if path is None:
            continue
        ids = frozenset(line.strip().removesuffix(".xml") for _, line in lines(path) if line.strip())
        both = sorted(ids.intersection(frozenset().union(*lists.values())))
        if not ids or both:
            raise DataError(f"{path}: expected ids of articles, each in one split, found {both[:3] or 'none'}")
        lists[split] = ids
    if "train" in lists and "valid" not in lists:
        held = frozenset(sorted(lists["train"], key=_place)[: round(len(lists["train"]) * VALID / TRAIN_AND_VALID)])
        lists |= {"valid": held, "train": lists["train"] - held}
    return Rule(first_year, lists)


def files_of(folder: Path, split: str, rule: Rule) -> Iterator[File]:
    """Yield the articles of a split in the order of their names.

    `data/2006/01/02/1728123.xml`, or the same in `data/2006/01.tgz` as `01/02/1728123.xml`; a month that is unpacked is
    not read from its archive. `data` may be left out.

    Raises:
        MissingError: there is no year.
        DataError: an archive is damaged.
    """
    root = folder
    if (folder / "data").is_dir():
        root = folder / "data"
    years = sorted(path for path in root.iterdir() if path.is_dir() and re.fullmatch(r"\d{4}", path.name))
    if not years:
        raise MissingError(
            f"{root}: expected folders of years, e.g. {root / '2006' / '01.tgz'}, found none; get LDC2008T19 from "
            "https://catalog.ldc.upenn.edu/LDC2008T19"
        )
    for year in years:
        if not rule.may_have(split, int(year.name)):
            continue
        for month in sorted(year.iterdir()):
            packed = ARCHIVE.fullmatch(month.name)
            if packed and not (year / packed[1]).is_dir():
                yield from _packed(month, year.name, split, rule)
            elif month.is_dir() and re.fullmatch(r"\d\d", month.name):
                yield from _unpacked(month, year.name, split, rule)


def _unpacked(month: Path, year: str, split: str, rule: Rule) -> Iterator[File]:
    for path in sorted(month.glob("[0-9][0-9]/*.xml")):
        day = f"{year}{month.name}{path.parent.name}"
        if rule.split_of(path.stem, day) == split:
            yield File(path, f"article {path.stem}", day, path.stem, path.read_bytes())


def _packed(archive: Path, year: str, split: str, rule: Rule) -> Iterator[File]:
    """Read the members of a month; nothing is unpacked to the disk."""
    try:
        with tarfile.open(archive) as members:
            for member in members:
                name = MEMBER.fullmatch(member.name)
                if name is None or not member.isreg():
                    continue
                id, day = name[3], f"{year}{name[1]}{name[2]}"
                if rule.split_of(id, day) == split and (data := members.extractfile(member)) is not None:
                    yield File(archive, f"article {id}", day, id, data.read())
    except (tarfile.TarError, EOFError, zlib.error, OSError, ValueError) as problem:
        raise DataError(f"{archive}: is damaged or cut short ({problem!s:.100}); get it again") from None


class Article(NamedTuple):
    """What an article says of itself: its day as `YYYYMMDD` (empty if it does not), summary and paragraphs."""

    day: str
    abstract: str
    paragraphs: tuple[str, ...]


def parse(content: bytes) -> Article:
    """Read one file. White space becomes one space; summary and paragraphs are empty where there are none.

    Raises:
        BadRow: it is no XML, or no article.

    >>> parse(b'<nitf><head><pubdata date.publication="20060102T000000"/></head><body><body.head><abstract><p>Bridge'
    ... b' closes (S)</p></abstract></body.head><body.content><block class="full_text"><p>The  bridge</p><p>It</p>'
    ... b'</block></body.content></body></nitf>')
    Article(day='20060102', abstract='Bridge closes (S)', paragraphs=('The bridge', 'It'))
    """
    if b"<!ENTITY" in content:
        raise BadRow("declares entities, which no article of the corpus does")
    try:
        root = ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError, LookupError, RecursionError) as problem:
        raise BadRow(f"is no well-formed XML ({problem!s:.100}); get it again") from None
    if root.tag != "nitf":
        raise BadRow(f"expected an article, <nitf>, found <{root.tag!s:.40}>")
    abstract = ""
    if (element := root.find("./body/body.head/abstract")) is not None:
        abstract = _text(element)
    paragraphs: list[str] = []
    if (block := root.find("./body/body.content/block[@class='full_text']")) is not None:
        paragraphs = [_text(paragraph) for paragraph in block.iter("p")]
    return Article(_day(root), abstract, tuple(filter(None, paragraphs)))


def _day(root: ElementTree.Element) -> str:
    published = root.find("./head/pubdata")
    if published is None:
        return ""
    match = re.match(r"\d{8}", published.get("date.publication", ""))
    return match[0] if match else ""


def _text(element: ElementTree.Element) -> str:
    """Return the words of an element; paragraphs in it are apart."""
    parts = element.findall("p") or [element]
    words = " ".join("".join(part.itertext()) for part in parts).split()
    return " ".join(words)
