"""Text files: a user's own plain text or jsonl to documents, and a stable choice of documents to hold out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from bench.errors import DataError
from bench.tasks.core.held_out import held_out as choose
from bench.tasks.core.held_out import place
from bench.tasks.core.pieces import has_words, is_blank
from bench.tasks.files.bad_rows import BadRows
from bench.tasks.files.lines import REFUSING, lines
from bench.tasks.files.records import read_records

__all__ = ["Document", "Unit", "held_out", "read_documents"]

Unit = Literal["line", "blank_line", "file"]

_RECORDS = re.compile(r"\.(?:jsonl|ndjson|json)(?:\.gz)?|\.parquet$", re.IGNORECASE)


class Document(NamedTuple):
    """One document: its file, where it stands in it, and its text, in which any white space separates words."""

    file: Path
    row: str
    text: str

    @property
    def where(self) -> str:
        """For messages."""
        return f"{self.file}, {self.row}"


# From files to documents ------------------------------------------------------------------------------------------


def read_documents(
    files: Sequence[Path], field: str = "text", unit: Unit = "line", bad_rows: BadRows = REFUSING
) -> Iterator[Document]:
    """Read documents one after another, in the order of the files; at most one is in memory.

    Args:
        files: plain text, jsonl or parquet (by name), UTF-8, packed with gzip or not (by content); or the folder of a
            split of a saved data set.
        field: which field of a record holds its text; a record is always one document.
        unit: what is a document in plain text: a line that is not blank, lines up to a blank one, or a whole file.
        bad_rows: told about lines that cannot be used; refuses them by default.

    Raises:
        MissingError: a file cannot be opened.
        DataError: a file cannot be read as text; the message names file and line.
    """
    empty = True
    for path in files:
        for document in _documents(path, field, unit, bad_rows):
            empty = False
            yield document
    if empty:
        where = files[0] if len(files) == 1 else files[0].parent
        raise DataError(f"{where}: expected text, found none")


def _documents(path: Path, field: str, unit: Unit, bad_rows: BadRows) -> Iterator[Document]:
    if path.is_dir():
        return _records(path, field, bad_rows, "task.column")
    if _RECORDS.search(path.name):
        return _records(path, field, bad_rows, "task.field")
    return _plain(path, unit, bad_rows)


def _plain(path: Path, unit: Unit, bad_rows: BadRows) -> Iterator[Document]:
    """Join lines where a document has several; a blank one ends a document for `blank_line`."""
    held: list[str] = []
    first = 0
    for number, line in lines(path, bad_rows):
        blank = is_blank(line)
        if unit == "line" and not blank:
            yield Document(path, f"line {number}", line)
        elif unit == "blank_line" and blank and held:
            yield Document(path, f"line {first}", "".join(held))
            held = []
        elif unit != "line" and not blank:
            if not held:
                first = number
            held.append(line)
    if held:
        yield Document(path, f"line {first}", "".join(held))


def _records(path: Path, field: str, bad_rows: BadRows, option: str) -> Iterator[Document]:
    """Yield the records of a file or saved data set; one with an empty text is a document without words."""
    named = {"text": option}
    for record in read_records(path, bad_rows, columns={"text": field}, options=named, may_be_empty=True):
        yield Document(path, record.row, record.texts["text"])


# Shares -----------------------------------------------------------------------------------------------------------


def held_out(documents: Iterable[Document], splits: Sequence[str], least: int) -> Mapping[int, str]:
    """Choose documents for splits that have no file of their own; see `bench.tasks.core.held_out`.

    Args:
        documents: all of them, in order.
        splits: of `valid` and `test`, those to choose for.
        least: words that a document needs to be held out; shorter ones are for training.

    Returns:
        The split of each document that is held out, by its number from 0.

    Raises:
        DataError: there are too few different documents.
    """
    where: Path | str = "the text"
    places: list[float | None] = []
    for document in documents:
        if not places:
            where = document.file
        at = None
        if has_words(document.text, least):
            at = place(document.text)
        places.append(at)
    split_of = choose(places, splits)
    if split_of is None:
        n_different = len(set(places) - {None})
        raise DataError(
            f"{where}: expected at least {len(splits) + 1} different documents of {least} words or more, to hold out "
            f"one for {' and one for '.join(splits)}; found {n_different}; set task.document (line, blank_line or "
            "file), task.prompt_words, or task.valid_path and task.test_path"
        )
    return split_of
