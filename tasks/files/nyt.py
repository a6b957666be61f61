"""NYT's files: articles of LDC2008T19 by day, unpacked or in the archives of a month, and which split each is in."""

from __future__ import annotations

import gzip
import hashlib
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple, cast

from bench.errors import DataError, MissingError
from bench.tasks.files.expected_files import find
from bench.tasks.files.lines import CHUNK, lines, unpacked
from bench.tasks.files.nitf import LARGEST

__all__ = ["File", "Rule", "files_of", "read_rule"]

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
    """Read the lists of ids there are: `train_ids.txt`, `valid_ids.txt`, `test_ids.txt`, one id a line; or the folders
    `train_abstracts_standoff` and `eval_abstracts_standoff` of Durrett et al., whose files are named by ids.

    Raises:
        DataError: a list is empty, or an id is in two.
    """
    lists: dict[str, frozenset[str]] = {}
    for split, standoff in (("train", "train_abstracts_standoff"), ("valid", ""), ("test", "eval_abstracts_standoff")):
        path = find(folder, [f"{split}_ids.txt"])
        if path is not None:
            ids = frozenset(line.strip().removesuffix(".xml") for _, line in lines(path) if line.strip())
        elif standoff and (folder / standoff).is_dir():
            path = folder / standoff
            ids = frozenset(file.name for file in path.iterdir())
        else:
            continue
        if not ids:
            raise DataError(f"{path}: expected ids of articles, found none")
        for other_split, other_ids in lists.items():
            if both := sorted(ids & other_ids):
                raise DataError(
                    f"{path}: expected each id in one split, found {both[0]:.40} in the {other_split} split too, "
                    f"{len(both):,} such ids; correct the lists"
                )
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
        if rule.split_of(path.stem, day) != split:
            continue
        try:
            with path.open("rb") as stream:
                content = stream.read(LARGEST + 1)
        except OSError as problem:
            raise MissingError(f"{path}: cannot be read ({problem.strerror or problem})") from None
        yield File(path, f"article {path.stem}", day, path.stem, content)


def _packed(archive: Path, year: str, split: str, rule: Rule) -> Iterator[File]:
    """Read the members of a month, forward only; nothing is unpacked to the disk."""
    try:
        with unpacked(archive) as stream, tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|") as members:
            for member in members:
                name = MEMBER.fullmatch(member.name)
                if name is None or not member.isreg() or member.issparse():
                    continue
                id, day = name[3], f"{year}{name[1]}{name[2]}"
                if rule.split_of(id, day) == split and (data := members.extractfile(member)) is not None:
                    content = data.read(LARGEST + 1)
                    if len(content) < min(member.size, LARGEST):
                        raise EOFError(f"member {name[3]} is cut short")
                    yield File(archive, f"article {id}", day, id, content)
            rest = cast("IO[bytes]", members.fileobj)
            while block := rest.read(CHUNK):  # to the check sum
                if block.strip(b"\0"):
                    raise EOFError("what follows is neither a member nor the end")
            if stream.tell() < members.offset + tarfile.BLOCKSIZE:  # tarfile takes a cut for the end
                raise EOFError("it has no end")
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, ValueError, OverflowError) as problem:
        raise DataError(f"{archive}: is damaged or cut short ({problem!s:.100}); get it again") from None
    except OSError as problem:
        raise MissingError(f"{archive}: cannot be read ({problem.strerror or problem})") from None
