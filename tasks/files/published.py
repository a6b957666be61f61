"""Published: a split's files as publishers and the hub name them, and their rows, each with an id."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.errors import MissingError
from bench.tasks.core.example import Example
from bench.tasks.core.pieces import is_blank
from bench.tasks.files.expected_files import find
from bench.tasks.files.lines import BadRow, Checking
from bench.tasks.files.records import FileRecord, read_records

NAMES: Mapping[str, tuple[str, ...]] = {
    "train": ("train",),
    "valid": ("valid", "validation", "val", "dev"),
    "test": ("test",),
}
"""How a file name may begin, for each split."""

MADE = "content-"
"""How the id begins that a row without one gets."""

PART = re.compile(r"-(\d+)-of-(\d+)[^/]*\.parquet")


def split_files(
    folder: Path, split: str, advice: str, *, also: Sequence[str] = (), places: Sequence[str] = ("", "data")
) -> tuple[Path, ...]:
    """Return the files of a split: one, or all parts of a parquet file as the hub cuts it.

    Args:
        folder: the task's.
        split: `train`, `valid` or `test`.
        advice: where to get them.
        also: other names, looked for last.
        places: folders below it.

    Raises:
        MissingError: there is none, or a part is missing.
    """
    for place in places:
        for stem in NAMES[split]:
            whole = find(folder / place, [f"{stem}.jsonl", f"{stem}.parquet"])
            if whole is not None:
                return (whole,)
            if parts := sorted((folder / place).glob(f"{stem}-*-of-*.parquet")):
                return _complete(parts, advice)
    if (path := find(folder, also)) is not None:
        return (path,)
    stems = [f"{name}.jsonl" for name in NAMES[split]]
    raise MissingError(
        f"{folder}: expected {', '.join([*stems, *also])} (.gz too), or parquet files so named, found none; {advice}"
    )


def _complete(parts: Sequence[Path], advice: str) -> tuple[Path, ...]:
    """Return the parts if they are all there and of one cutting."""
    found = [(int(match[1]), int(match[2])) for part in parts if (match := PART.search(part.name))]
    if found != [(number, len(parts)) for number in range(len(parts))]:
        names = ", ".join(part.name for part in parts[:4])
        raise MissingError(
            f"{parts[0].parent}: expected every part N of M as NAME-N-of-M.parquet, found {names}; {advice}"
        )
    return tuple(parts)


def published_rows(
    files: Sequence[Path], *, source: str, target: str, empty_sources: bool = False
) -> Iterator[Example]:
    """Yield the rows of a split with their ids, which are unique, and without references.

    A row without an id, or with null, gets one made of its content, so that it does not depend on the place of the row.

    Args:
        files: of the split, in order.
        source: the column that is read.
        target: the column that is written.
        empty_sources: whether there may be nothing to read.

    Raises:
        DataError: a row cannot be used, or has the id of another one; the message names file and row.
    """
    seen: dict[str, str] = {}
    columns = {"source": source, "target": target}
    for record in read_records(files, columns=columns, optional={"id": "id"}, may_be_empty=empty_sources):
        with Checking(record.file, record.row):
            if is_blank(record.texts["target"]):
                raise BadRow(f"the field '{target}' is empty; expected a text")
            name = _name(record, seen)
            seen[name] = record.row
            yield Example(name, record.texts["source"], record.texts["target"])


def _name(record: FileRecord, seen: Mapping[str, str]) -> str:
    """Return a row's own id, or one made of its content; the second row of that content gets a number too."""
    given = record.texts["id"].strip()
    if given in seen:
        raise BadRow(f"has the id '{given}' that {seen[given]} has; expected each id once")
    if given:
        return given
    content = f"{record.texts['source']}\0{record.texts['target']}"
    made = MADE + hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    name, times = made, 1
    while name in seen:
        times += 1
        name = f"{made}-{times}"
    return name


def evaluated_too(train: Sequence[Example], test: Sequence[Example]) -> str:
    """Return how many training rows are in a test split too, by id or by source, as text; nothing for none of them.

    >>> evaluated_too([Example("1", "a", ""), Example("2", "b", "")], [Example("1", "c", "")])
    '1 of 2 rows are rows of the test file too'
    """
    known = {row.id for row in test} | {row.source for row in test if row.source}
    shared = sum(row.id in known or row.source in known for row in train)
    return f"{shared:,} of {len(train):,} rows are rows of the test file too" if shared else ""
