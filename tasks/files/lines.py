"""Lines of a text file with their numbers, decoded one by one, so that a bad one can be named and skipped."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import IO

from bench.errors import DataError, MissingError
from bench.tasks.core.pieces import is_blank
from bench.tasks.files.bad_rows import BadRow, BadRows

__all__ = ["LONGEST_LINE", "aligned", "line_feeds", "lines"]

LONGEST_LINE = 1 << 26  # bytes after unpacking: an archive that promises more is broken or hostile
CHUNK = 1 << 20
REFUSING = BadRows("test")
"""For files of which no row may be left out; no option can say otherwise, and so none is named."""


def lines(path: Path, bad_rows: BadRows = REFUSING, *, longest: int = LONGEST_LINE) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that can be used, numbered from 1, with their line ends.

    A line feed ends a line, or in a file without any a carriage return. At most one line is in memory, and of one that
    is too long only its beginning; a file of carriage returns is in memory whole, and may be as long as a line.

    Args:
        path: UTF-8 with or without a byte order mark, packed with gzip or not (by content).
        bad_rows: told about lines that are no text or too long; refuses them by default.
        longest: most bytes of a line.

    Raises:
        MissingError: the file cannot be opened.
        DataError: it is damaged, or a line may not be skipped; the message names file and line.
    """
    for number, line in numbered(path, longest):
        bad_rows.reached(number)
        try:
            text = decoded(line, longest, first=number == 1)
        except BadRow as problem:
            bad_rows.add(path, f"line {number}", str(problem))
            continue
        yield number, text


def aligned(sources: Path, targets: Path, bad_rows: BadRows = REFUSING) -> Iterator[tuple[int, str, str]]:
    """Yield number, source and target of two files that go together line by line, without white space around.

    Raises:
        DataError: one file has more lines than the other, or a line may not be skipped.
    """
    for number, pair in enumerate(_line_pairs(sources, targets), 1):
        bad_rows.reached(number)
        texts = []
        for path, line in zip((sources, targets), pair, strict=True):
            try:
                texts.append(decoded(line, LONGEST_LINE, first=number == 1).strip())
                if is_blank(texts[-1]):
                    raise BadRow("is empty; expected a text")
            except BadRow as problem:
                bad_rows.add(path, f"line {number}", str(problem))
                break
        else:
            yield number, texts[0], texts[1]


def _line_pairs(sources: Path, targets: Path) -> Iterator[tuple[bytes, bytes]]:
    both = zip_longest(numbered(sources, LONGEST_LINE), numbered(targets, LONGEST_LINE))
    for row, (source, target) in enumerate(both):
        if source is None or target is None:
            raise DataError(
                f"{sources} and {targets}: expected as many lines in both; one ends after line {row}; get them again"
            )
        yield source[1], target[1]


def numbered(path: Path, longest: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file as bytes; one that is too long is cut to one byte more than allowed."""
    number = 0
    try:
        with unpacked(path) as stream:
            while line := stream.readline(longest + 1):
                if number == 0 and b"\n" not in line and len(line) <= longest:  # the whole file
                    yield from enumerate(line_feeds(line).splitlines(keepends=True), 1)
                    return
                number += 1
                yield number, line
                if len(line) > longest and not line.endswith(b"\n"):
                    while (rest := stream.readline(CHUNK)) and not rest.endswith(b"\n"):
                        pass
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise DataError(
            f"{path}, line {number + 1}: the packed file is damaged or cut ({problem!s:.100}); get it again"
        ) from None
    except OSError as problem:
        raise MissingError(f"{path}, line {number + 1}: cannot be read ({problem.strerror or problem})") from None


def line_feeds(content: bytes) -> bytes:
    r"""Return the content of a file in which line feeds end lines: where there is none, carriage returns may.

    >>> line_feeds(b"a\rb\r"), line_feeds(b"a\rb\r\n")
    (b'a\nb\n', b'a\rb\r\n')
    """
    if b"\n" in content:
        return content
    return content.replace(b"\r", b"\n")


def unpacked(path: Path) -> IO[bytes] | gzip.GzipFile:
    """Open a file, unpacking it if its content says so."""
    with path.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    if packed:
        return gzip.open(path)
    return path.open("rb")


def decoded(line: bytes, longest: int, *, first: bool) -> str:
    """Return a line as text.

    Args:
        line: with its line end.
        longest: most bytes.
        first: whether a byte order mark may stand before it.

    Raises:
        BadRow: what is wrong with it.
    """
    if len(line) > longest:
        advice = "break it into several"
        if b"\r" in line:
            advice += ", each ended by a line feed"
        raise BadRow(f"is longer than {longest:,} bytes; {advice}")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise BadRow(f"byte {problem.start + 1} is not UTF-8 ({problem.reason}); save the file as UTF-8") from None
    if "\0" in text:
        raise BadRow("has a NUL character, which is no text; save the file as UTF-8 text")
    if first:
        return text.removeprefix("\ufeff")
    return text
