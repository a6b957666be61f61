"""Text files: a user's own plain text or jsonl to documents, and a stable choice of documents to hold out."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

from bench.errors import DataError, MissingError

__all__ = ["Document", "Unit", "expanded", "files_of", "has_words", "held_out", "pieces", "read_documents"]

Unit = Literal["line", "blank_line", "file"]

SPLIT_NAMES = {"train": "train", "valid": "valid|validation|val|dev", "test": "test"}
"""How a file name of a folder says which split it is, e.g. `kjv.train.txt.gz`."""

HELD_OUT = {"test": (0.00, 0.05), "valid": (0.05, 0.10)}
"""Where the hash of a held-out document lies between 0 and 1."""

LONGEST_LINE = 1 << 29  # bytes after unpacking: an archive that promises more is broken or hostile
_ENDING = r"\.(?:txt|jsonl)(?:\.gz)?"
_JSON = re.compile(r"\.(?:jsonl|ndjson|json)(?:\.gz)?", re.IGNORECASE)
_FILES = "files named *.txt or *.jsonl, or those with .gz"


class Document(NamedTuple):
    """One document: its file, where it stands in it, and its text, in which any white space separates words."""

    file: Path
    row: str
    text: str

    @property
    def where(self) -> str:
        """For messages."""
        return f"{self.file}, {self.row}"


# Which files ------------------------------------------------------------------------------------------------------


def files_of(path: Path, valid: str = "", test: str = "") -> dict[str, tuple[Path, ...]]:
    """Return the files of each split; a split that is not in it takes its share of `train`.

    Args:
        path: a file, a folder with one file for `train` (and for the other splits), or a folder of files that together
            are one text.
        valid: a file or a folder of files for the validation split.
        test: the same for the test split.

    Raises:
        MissingError: something is not there.
        DataError: a folder has two files for one split.
    """
    found: dict[str, tuple[Path, ...]] = _folder(path) if _is_folder(path) else {"train": (path,)}
    for split, named in (("valid", valid), ("test", test)):
        if named:
            place = expanded(named)
            found[split] = tuple(_texts_in(place)) if _is_folder(place) else (place,)
    return found


def expanded(path: str) -> Path:
    """Return a typed path with `~` replaced by the home folder."""
    try:
        return Path(path).expanduser()
    except RuntimeError as problem:
        raise MissingError(f"{path:.200}: {problem}") from None


def _is_folder(path: Path) -> bool:
    """Say whether a path is a folder; what is neither folder nor file is an error."""
    try:
        if path.is_dir():
            return True
        there = path.is_file()
    except OSError as problem:  # e.g. a name that is too long
        raise MissingError(f"{str(path)!r:.200} cannot be opened: {problem.strerror}") from None
    if not there:
        raise MissingError(f"{path} is not there: expected a text file, or a folder with {_FILES}")
    return False


def _folder(folder: Path) -> dict[str, tuple[Path, ...]]:
    named: dict[str, tuple[Path, ...]] = {}
    files = _texts_in(folder)
    for split, names in SPLIT_NAMES.items():
        pattern = re.compile(rf"(?:.*[^a-z])?(?:{names})(?:[^a-z].*)?", re.IGNORECASE)
        mine = [file for file in files if pattern.fullmatch(re.sub(_ENDING + "$", "", file.name, flags=re.IGNORECASE))]
        if len(mine) > 1:
            listed = ", ".join(file.name for file in mine[:4])
            raise DataError(f"{folder}: expected one file for {split}, found {len(mine)}: {listed}; keep one of them, "
                            "or name files with task.path, task.valid_path and task.test_path")  # fmt: skip
        if mine:
            named[split] = (mine[0],)
    if named and "train" not in named:
        raise MissingError(f"{folder}: has a file for {' and '.join(named)}, but none named like 'train.txt'")
    return named or {"train": tuple(files)}


def _texts_in(folder: Path) -> list[Path]:
    pattern = re.compile(rf"[^.].*{_ENDING}", re.IGNORECASE)  # no hidden files
    try:
        files = sorted(file for file in folder.iterdir() if pattern.fullmatch(file.name) and file.is_file())
    except OSError as problem:
        raise MissingError(f"{folder}: cannot be listed: {problem.strerror}") from None
    if not files:
        raise MissingError(f"{folder}: expected {_FILES}, found none")
    return files


# From files to documents ------------------------------------------------------------------------------------------


def read_documents(files: Sequence[Path], field: str = "text", unit: Unit = "line") -> Iterator[Document]:
    """Read documents one after another, in the order of the files; at most one is in memory.

    Args:
        files: plain text or jsonl (by name), UTF-8, packed with gzip or not (by content).
        field: which field of a jsonl record holds its text; a record is always one document.
        unit: what is a document in plain text: a line that is not blank, lines up to a blank one, or a whole file.

    Raises:
        MissingError: a file cannot be opened.
        DataError: a file cannot be read as text; the message names file and line.
    """
    empty = True
    for path in files:
        for document in _records(path, field) if _JSON.search(path.name) else _plain(path, unit):
            empty = False
            yield document
    if empty:
        raise DataError(f"{files[0] if len(files) == 1 else files[0].parent}: expected text, found none")


def _plain(path: Path, unit: Unit) -> Iterator[Document]:
    """Lines are joined where a document has several; a blank one ends a document for `blank_line`."""
    held: list[str] = []
    first = 0
    for number, line in _lines(path):
        blank = not line.strip()
        if unit == "line" and not blank:
            yield Document(path, f"line {number}", line)
        elif unit == "blank_line" and blank and held:
            yield Document(path, f"line {first}", "".join(held))
            held = []
        elif unit != "line" and not blank:
            first = first if held else number
            held.append(line)
    if held:
        yield Document(path, f"line {first}", "".join(held))


def _records(path: Path, field: str) -> Iterator[Document]:
    """Records of a jsonl file; one with an empty text is a document without words."""
    for number, line in _lines(path):
        if line.strip():
            try:
                text = _field(line, field)
            except ValueError as problem:
                raise DataError(f"{path}, line {number}: {problem}") from None
            yield Document(path, f"line {number}", text)


def _field(line: str, field: str) -> str:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as problem:
        raise ValueError(f"expected a JSON object, found: {problem.msg} at column {problem.colno}") from None
    except (ValueError, RecursionError) as problem:  # a number of thousands of digits, thousands of brackets
        raise ValueError(f"expected a JSON object, found: {problem!s:.100}") from None
    if not isinstance(record, dict):
        raise ValueError(f"expected a JSON object with the field '{field}', found {_kind(record)}")
    if field not in record:
        names = ", ".join(f"'{name:.40}'" for name in islice(record, 10)) or "none"
        raise ValueError(f"has no field '{field:.40}'; set task.field to one of its fields: {names}")
    text = record[field]
    if not isinstance(text, str):
        raise ValueError(f"expected text in the field '{field}', found {_kind(text)}")
    if bad := re.search("[\0\ud800-\udfff]", text):
        raise ValueError(f"the field '{field}' has the character {bad[0]!r}, which is no text")
    return text


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a file with their numbers from 1, decoded one by one, so that a bad one can be named."""
    number = 0
    try:
        with _open(path) as stream:
            while line := stream.readline(LONGEST_LINE + 1):
                number += 1
                yield number, _decoded(line, f"{path}, line {number}", first=number == 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise DataError(f"{path}, line {number + 1}: the packed file is damaged or cut ({problem!s:.100}); get it "
                        "again") from None  # fmt: skip
    except OSError as problem:
        raise MissingError(f"{path}, line {number + 1}: cannot be read ({problem.strerror or problem})") from None


def _open(path: Path) -> IO[bytes] | gzip.GzipFile:
    with path.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    return gzip.open(path) if packed else path.open("rb")


def _decoded(line: bytes, where: str, first: bool) -> str:
    if len(line) > LONGEST_LINE:
        raise DataError(f"{where}: is longer than {LONGEST_LINE:,} bytes; break it into several")
    try:
        text = line.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError as problem:
        raise DataError(f"{where}: byte {problem.start + 1} is not UTF-8 ({problem.reason}); save the file as "
                        "UTF-8") from None  # fmt: skip
    if "\0" in text:
        raise DataError(f"{where}: has a NUL character, which is no text; save the file as UTF-8 text")
    return text


def _kind(value: Any) -> str:
    """Name a JSON value for a message without printing a megabyte.

    >>> _kind([1, 2]), _kind(None)
    ('list [1, 2]', 'nothing (null)')
    """
    return "nothing (null)" if value is None else f"{type(value).__name__} {repr(value)[:60]}"


# Words and shares -------------------------------------------------------------------------------------------------


def pieces(text: str, words: int) -> Iterator[str]:
    """Cut a text into runs of so many words, the last one maybe shorter, with one space between words.

    The time is linear and the memory that of one piece, also for a line of 100 MB.

    >>> list(pieces(" to be\\tor  not\\nto be ", 4))
    ['to be or not', 'to be']
    """
    windows = re.finditer(r"(?s).{1,65536}\S*", text)  # each ends where a word does
    rest = chain.from_iterable(window[0].split() for window in windows)
    while piece := list(islice(rest, words)):
        yield " ".join(piece)


def has_words(text: str, least: int) -> bool:
    """Return whether a text has at least so many words.

    >>> has_words("to be or not", 4), has_words("to be or not", 5)
    (True, False)
    """
    return next(pieces(text, least), "").count(" ") + 1 >= least


def held_out(documents: Iterable[Document], splits: Sequence[str], least: int) -> Mapping[int, str]:
    """Choose documents for splits that have no file of their own: 5 % for each, the rest is for training.

    A hash of its words decides where a document goes, so that equal documents go together, and a document stays where
    it is when others come or go. Documents too short to be evaluated are for training. A split that no document falls
    to takes one of the largest split, so that a handful of documents is enough.

    Args:
        documents: all of them, in order.
        splits: of `valid` and `test`, those to choose for.
        least: words that a document needs to be held out.

    Returns:
        The split of each document that is held out, by its number from 0.

    Raises:
        DataError: there are too few different documents.
    """
    numbers: dict[float, list[int]] = {}
    example = None
    for number, document in enumerate(documents):
        example = example or document
        if has_words(document.text, least):
            numbers.setdefault(_place(document.text), []).append(number)
    if len(numbers) <= len(splits):
        raise DataError(
            f"{example.file if example else 'the text'}: expected at least {len(splits) + 1} different documents of "
            f"{least} words or more, to hold out one for {' and one for '.join(splits)}; found {len(numbers)}; set "
            "task.document (line, blank_line or file), task.prompt_words, or task.valid_path and task.test_path"
        )
    ranges = {split: HELD_OUT[split] for split in splits}
    split_of = {at: next((s for s, (low, high) in ranges.items() if low <= at < high), "train") for at in numbers}
    for split in (*splits, "train"):
        if split not in split_of.values():
            largest = Counter(split_of.values()).most_common(1)[0][0]
            split_of[min(at for at, other in split_of.items() if other == largest)] = split
    return {number: split for at, split in split_of.items() if split != "train" for number in numbers[at]}


def _place(text: str) -> float:
    """Return the place of a text between 0 and 1; white space does not count.

    >>> 0 <= _place("to be") == _place(" to\\nbe ") < 1
    True
    """
    digest = hashlib.sha256()
    for piece in pieces(text, 4096):
        digest.update(piece.encode() + b" ")
    return int.from_bytes(digest.digest()[:6], "big") / 2**48
