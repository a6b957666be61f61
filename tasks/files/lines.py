"""Lines of a text file with their numbers, decoded one by one, so that the error of a bad row names file and row."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, NamedTuple

from bench.errors import DataError, MissingError
from bench.tasks.core.pieces import is_blank

LONGEST_LINE = 1 << 29
"""Bytes after unpacking, of a line or of a JSON file: a longer one is damaged or hostile, and would fill the memory."""


class BadRow(ValueError):
    """What is wrong with one row; `Checking` adds the file and the place of the row."""


class Checking(NamedTuple):
    """The context in which a row is checked: a BadRow in its block becomes a DataError with file and row.

    A class, because `contextlib.contextmanager` takes more than twice as long.

    Args:
        file: where the row is.
        row: which one, e.g. `line 3`.
    """

    file: Path
    row: str

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, BadRow):
            raise DataError(f"{self.file}, {self.row}: {problem}") from None


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file, numbered from 1, with their line ends.

    Args:
        path: UTF-8 with or without a byte order mark, packed with gzip or not (by content).

    Raises:
        MissingError: the file cannot be opened.
        DataError: it is damaged, or a line is no text; the message names file and line.
    """
    for number, line in numbered(path):
        try:  # not `Checking`, which takes longer than the rest of the loop
            text = decoded(line, first=number == 1)
        except BadRow as problem:
            raise DataError(f"{path}, line {number}: {problem}") from None
        yield number, text


def aligned(sources: Path, targets: Path) -> Iterator[tuple[int, str, str]]:
    """Yield number, source and target of two files that go together line by line, without white space around.

    Raises:
        DataError: one file has more lines than the other, or a line is empty or no text.
    """
    for number, (source, target) in enumerate(zip_longest(numbered(sources), numbered(targets)), 1):
        if source is None or target is None:
            raise DataError(
                f"{sources} and {targets}: expected as many lines in both; one ends after line {number - 1}; get them "
                "again"
            )
        texts = []
        for path, line in ((sources, source), (targets, target)):
            with Checking(path, f"line {number}"):
                texts.append(decoded(line[1], first=number == 1).strip())
                if is_blank(texts[-1]):
                    raise BadRow("is empty; expected a text")
        yield number, texts[0], texts[1]


def numbered(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file as bytes, numbered from 1.

    Raises:
        MissingError: the file cannot be opened.
        DataError: it is damaged, or a line is longer than `LONGEST_LINE`; the message names file and line.
    """
    number = 0
    try:
        with unpacked(path) as stream:
            for number, line in enumerate(iter(partial(stream.readline, LONGEST_LINE + 1), b""), 1):
                if len(line) > LONGEST_LINE:
                    raise DataError(
                        f"{path}, line {number}: is longer than {LONGEST_LINE:,} bytes; break it into several"
                    )
                yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise DataError(
            f"{path}, line {number + 1}: the packed file is damaged or cut ({problem!s:.100}); get it again"
        ) from None
    except OSError as problem:
        raise MissingError(f"{path}, line {number + 1}: cannot be read ({problem.strerror or problem})") from None


def read_json(path: Path, object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Return the content of a JSON file, packed with gzip or not; `json.loads` explains the hook.

    Raises:
        MissingError: the file cannot be opened.
        DataError: it is damaged, or no JSON in UTF-8.
    """
    try:
        with unpacked(path) as stream:
            content = stream.read(LONGEST_LINE + 1)
        if len(content) > LONGEST_LINE:
            raise ValueError(f"more than {LONGEST_LINE:,} bytes")
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=object_pairs_hook)
    except (EOFError, zlib.error, gzip.BadGzipFile, ValueError, RecursionError) as problem:
        raise DataError(f"{path}: expected JSON in UTF-8, found: {problem!s:.150}; get it again") from None
    except OSError as problem:
        raise MissingError(f"{path}: cannot be read ({problem.strerror or problem})") from None


def unpacked(path: Path) -> IO[bytes] | gzip.GzipFile:
    """Open a file, unpacking it if its content says so."""
    with path.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    if packed:
        return gzip.open(path)
    return path.open("rb")


def decoded(line: bytes, *, first: bool) -> str:
    """Return a line as text.

    Args:
        line: with its line end.
        first: whether a byte order mark may stand before it.

    Raises:
        BadRow: what is wrong with it.
    """
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise BadRow(f"byte {problem.start + 1} is not UTF-8 ({problem.reason}); save the file as UTF-8") from None
    if "\0" in text:
        raise BadRow("has a NUL character, which is no text; save the file as UTF-8 text")
    if first:
        return text.removeprefix("\ufeff")
    return text
