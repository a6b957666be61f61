"""NYT: write the summary of a newspaper article (Sandhaus 2008; the split of Durrett et al. 2016).

Source: https://catalog.ldc.upenn.edu/LDC2008T19 (licensed by the LDC). One instance, in the published form and in our
own words, shortened; a file for each article:

    data/2006/01/02/1728000.xml
    <nitf><head><docdata><doc-id id-string="1728000"/></docdata>
      <pubdata date.publication="20060102T000000"/></head>
      <body><body.head><abstract><p>Bridge over Orrin is closed after cracks are found; repairs will take month (S)</p>
      </abstract></body.head><body.content><block class="full_text"><p>The bridge over the river Orrin was closed ...
"""

from __future__ import annotations

import hashlib
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple
from xml.etree import ElementTree

from bench.errors import DataError, MissingError
from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.pieces import is_blank
from bench.tasks.core.recipes import PENG, SMALL
from bench.tasks.core.task import Task, TaskInfo
from bench.tasks.files.expected_files import find
from bench.tasks.files.gigaword_form import gigaword_form
from bench.tasks.files.lines import BadRow, Checking, lines, unpacked
from bench.tasks.samples import sample_rows

LONG = 50
"""Tokens that a summary of the smaller test split has more than (Peng et al. 2019 section 4.2)."""
LONG_TEST = 3452
FIRST_TEST_DAY = "20070101"
VALID = 9000
"""Training articles that are for validation (Peng et al. 2019 section 4.2)."""
TRAIN_AND_VALID = 100_834
"""91,834 + 9,000."""
ARCHIVE = re.compile(r"\d\d\.(?:tgz|tar\.gz)")
MEMBER = re.compile(r"(?:.*/)?(\d\d)/(\d\d)/([^/]+)\.xml")


class NYT(Task):
    """Article to summary.

    An article is a row if it has a summary and a text; the others, most of the corpus, are left out and counted. What
    is no article is an error. Paragraphs are lines; a summary stays as it is, with marks like "(S)" for its length.

    Peng et al. 2019 give: the split and preprocessing of Durrett et al. 2016, 91,834 training articles and 9,000 drawn
    from the same for validation, 9,706 test articles (Table 1) of which the 3,452 with summaries of more than 50 tokens
    are evaluated, sources cut after 1,000 BPE units. Durrett et al. released the ids with their annotations
    (berkeley-doc-summarizer: articles of 2003 to 2007, those of 2007 for test). Unknown: which 9,000 were drawn; by
    what rule Durrett et al. chose among the articles that have summaries, so without their ids a split has other rows,
    and is a subset by status; how tokens were counted: here as Gigaword's are.

    Their recall at the length of the reference (Table 3) is the metric `rouge_limited`; the other ROUGE is F1.

    Files: `data/YYYY/MM.tgz` as published. The folder of `data` may have lists of ids too, as `read_rule` explains.

    Args:
        test: `all` test articles, or the `long` ones, whose summaries have more than 50 tokens.
        first_year: of training articles, where no ids say which they are.
    """

    name: str = "nyt"
    may_be_empty: ClassVar[bool] = True
    info: ClassVar[TaskInfo] = TaskInfo(
        source="https://catalog.ldc.upenn.edu/LDC2008T19",
        licence="LDC user agreement",
        sizes={"train": 91834, "valid": 9000, "test": 9706},
        evaluations=("likelihood", "generation"),
        metrics=("rouge", "rouge_limited", "copying", "perplexity"),
        folders=("nyt_corpus", "LDC2008T19"),
    )
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "small": {**SMALL, "trainer.max_target": 60},
        "paper": {
            **PENG,
            "backbone.vocabulary": 10_000,
            "bilstm:backbone.width": 300,
            "bilstm:backbone.layers": 2,
            "bilstm:backbone.exemplar_width": 50,
            "trainer.max_source": 1000,
            "trainer.max_target": 300,
            "task.test": "long",
        },
    }

    def __init__(self, *, test: Literal["all", "long"] = "all", first_year: int = 2003) -> None:
        super().__init__()
        self.test_rows, self.first_year = test, first_year

    def read(self, folder: Path, split: str) -> Split:
        """Read the articles of a split from the corpus."""
        rule = read_rule(folder, self.first_year)
        rows: dict[str, Example] = {}
        left_out: list[tuple[str, str, str]] = []
        for file in files_of(folder, split, rule):
            with Checking(file.path, file.row):
                article = parse(file.content)
                if file.id in rows:
                    raise BadRow("is there twice; expected each article once")
                if reason := self.missing(article, split):
                    left_out.append((file.path.name, file.row, reason))
                else:
                    text = "\n".join(article.paragraphs)
                    rows[file.id] = Example(file.id, text, article.abstract, (article.abstract,))
        status, by = "subset", "day"
        if split in rule.lists:
            status, by = self.status_of(split, len(rows)), "ids"
        origin = f"{folder}; by {by}; {len(left_out):,} articles are no rows"
        return Split(split, list(rows.values()), status, origin, tuple(left_out))

    def status_of(self, split: str, rows: int) -> str:
        """Return `official` when a split has as many rows as the paper evaluates or trains on, else `subset`."""
        if split == "test" and self.test_rows == "long":
            return "official" if rows == LONG_TEST else "subset"
        return super().status_of(split, rows)

    def missing(self, article: Article, split: str) -> str:
        """Say why an article is no row, or nothing."""
        if is_blank(article.abstract):
            return "has no summary"
        if all(map(is_blank, article.paragraphs)):
            return "has no text"
        if split == "test" and self.test_rows == "long" and len(gigaword_form(article.abstract).split()) <= LONG:
            return f"its summary has no more than {LONG} tokens"
        return ""

    def sample(self, split: str) -> Sequence[Example]:
        """Generated articles about invented events; a summary is their highlights in one line."""
        made = []
        for article in sample_rows("news", split):
            first, *others = [point.removesuffix(".") for point in article["highlights"]]
            summary = "; ".join([first, *(re.sub("^The ", "the ", point) for point in others)])
            made.append(Example(article["id"], "\n".join(article["body"]), summary, (summary,)))
        return made


class File(NamedTuple):
    """An article's file: where it is, its place in the file as text, its name, and its content."""

    path: Path
    row: str
    id: str
    content: bytes


@dataclass(frozen=True)
class Rule:
    """Which split an article is in, by its id and its day alone.

    Args:
        first_year: of training, by day.
        lists: ids of the splits that have a list; the other splits go by day. Without a list for validation, the share
            9,000 / 100,834 of the training list with the smallest hashes is held out, or of the training days.
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
        by_day = "test" if day >= FIRST_TEST_DAY else "train"
        if by_day == "train" and int(day[:4]) < self.first_year:
            return ""
        if by_day in self.lists:
            return ""
        if by_day == "train" and "valid" not in self.lists and _place(id) < VALID / TRAIN_AND_VALID:
            return "valid"
        return by_day

    def may_have(self, split: str, year: int) -> bool:
        """Return whether articles of a year can be in a split."""
        return split in self.lists or (year >= 2007 if split == "test" else self.first_year <= year < 2007)


def _place(id: str) -> float:
    """Return a number between 0 and 1 that depends on an article's id alone."""
    return int.from_bytes(hashlib.sha256(f"nyt {id}".encode()).digest()[:8], "big") / 2**64


def read_rule(folder: Path, first_year: int) -> Rule:
    """Read the lists of ids that the folder has: `train_ids.txt`, `valid_ids.txt` and `test_ids.txt`, one id a line.

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
    """Yield the articles of a split, month by month: `01/02/1728123.xml` in `data/2006/01.tgz`; `data` may be left out.

    Raises:
        MissingError: there is no archive of a month.
        DataError: an archive is damaged, or a month is there without its archive.
    """
    root = folder / "data" if (folder / "data").is_dir() else folder
    archives = [path for path in sorted(root.glob("[0-9][0-9][0-9][0-9]/*")) if ARCHIVE.fullmatch(path.name)]
    if not archives:
        raise MissingError(
            f"{root}: expected archives of months, e.g. {root / '2006' / '01.tgz'}, found none; get LDC2008T19 from "
            "https://catalog.ldc.upenn.edu/LDC2008T19, and do not unpack it"
        )
    packed = {path.parent / path.name[:2] for path in archives}
    unpacked = [path for path in sorted(root.glob("[0-9][0-9][0-9][0-9]/[0-9][0-9]")) if path.is_dir()]
    if missing := [path for path in unpacked if path not in packed]:
        raise DataError(
            f"{missing[0]}: expected the archive of this month, found its folder; leave months as published"
        )
    for archive in archives:
        if rule.may_have(split, int(archive.parent.name)):
            yield from _packed(archive, archive.parent.name, split, rule)


def _packed(archive: Path, year: str, split: str, rule: Rule) -> Iterator[File]:
    """Read the members of a month; nothing is unpacked to the disk."""
    try:
        with unpacked(archive) as stream, tarfile.open(fileobj=stream) as members:
            for member in members:
                name = MEMBER.fullmatch(member.name)
                if name and rule.split_of(name[3], f"{year}{name[1]}{name[2]}") == split and member.isreg():
                    data: Any = members.extractfile(member)
                    yield File(archive, f"article {name[3]}", name[3], data.read())
            while stream.read(1 << 20):  # to the check sum, which tells damaged letters
                pass
    except (tarfile.TarError, EOFError, zlib.error, OSError, ValueError) as problem:
        raise DataError(f"{archive}: is damaged or cut short ({problem!s:.100}); get it again") from None


class Article(NamedTuple):
    """The content of an article: its summary and its paragraphs."""

    abstract: str
    paragraphs: tuple[str, ...]


def parse(content: bytes) -> Article:
    """Read one file. White space becomes one space; summary and paragraphs are empty where there are none.

    Raises:
        BadRow: it is no XML, or no article.

    >>> parse(b'<nitf><body><body.head><abstract><p>Bridge closes (S)</p></abstract></body.head><body.content>'
    ... b'<block class="full_text"><p>The  bridge</p><p>It</p></block></body.content></body></nitf>')
    Article(abstract='Bridge closes (S)', paragraphs=('The bridge', 'It'))
    """
    try:
        root = ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError, LookupError, RecursionError) as problem:
        raise BadRow(f"is no well-formed XML ({problem!s:.100}); get it again") from None
    if root.tag != "nitf":
        raise BadRow(f"expected an article, <nitf>, found <{root.tag!s:.40}>")
    abstract = root.find("./body/body.head/abstract")
    block = root.find("./body/body.content/block[@class='full_text']")
    paragraphs = [] if block is None else [_text(paragraph) for paragraph in block.iter("p")]
    return Article("" if abstract is None else _text(abstract), tuple(filter(None, paragraphs)))


def _text(element: ElementTree.Element) -> str:
    """Return the words of an element; paragraphs in it are apart."""
    parts = element.findall("p") or [element]
    return " ".join(" ".join("".join(part.itertext()) for part in parts).split())
