"""Wikibio files: boxes and first sentences, as published or as the hub has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from bench.errors import DataError
from bench.tasks.core.pieces import is_blank
from bench.tasks.files.bad_rows import BadRow, BadRows
from bench.tasks.files.expected_files import find, needed
from bench.tasks.files.lines import LONGEST_LINE, decoded, numbered
from bench.tasks.files.published import split_files
from bench.tasks.files.records import read_all

__all__ = ["Fields", "Person", "fields_of", "read_people"]

EMPTY = "<none>"
"""What a field without a value has."""

MOST_SENTENCES = 10_000  # of one biography's introduction

Fields = tuple[tuple[str, str], ...]


class Person(NamedTuple):
    """A row: its number from 0, the fields of the box that have a value, and the first sentence."""

    number: int
    fields: Fields
    sentence: str


def read_people(folder: Path, split: str, bad_rows: BadRows, advice: str) -> tuple[Path, Iterator[Person]]:
    """Return the first file of a split and its rows.

    Args:
        folder: with SPLIT.box and SPLIT.summary, or SPLIT.box, SPLIT.nb and SPLIT.sent, or the hub's rows; below it may
            be a folder for each split, as in the publisher's archive.
        split: `train`, `valid` or `test`.
        bad_rows: told about rows that cannot be used.
        advice: where to get them.

    Raises:
        MissingError: files are not there.
        DataError: files of a split do not go together, or a row may not be skipped.
    """
    boxes = find(folder, _names(split, "box"))
    if boxes is None:
        files = split_files(folder, split, f"or {split}.box and {split}.summary; {advice}")
        return files[0], _hub_people(files, bad_rows)
    if summaries := find(folder, _names(split, "summary")):
        return boxes, _people(boxes, summaries, numbered(summaries, LONGEST_LINE), bad_rows)
    counts, sentences = (needed(folder, _names(split, end), advice) for end in ("nb", "sent"))
    return boxes, _people(boxes, sentences, _first_sentences(counts, sentences), bad_rows)


def fields_of(box: str) -> Fields:
    r"""Join the tokens of a published box to fields, in the order of their first tokens.

    Raises:
        BadRow: a token has no field.

    >>> fields_of("name_1:tova\tname_2:lind\timage:<none>\thome_page_1:http://x")
    (('name', 'tova lind'), ('home_page', 'http://x'))
    """
    words: dict[str, list[str]] = {}
    for token in filter(None, box.strip("\r\n").split("\t")):
        place, colon, word = token.partition(":")
        name, _, position = place.rpartition("_")
        if not colon or not place.strip():
            raise BadRow(f"expected field_1:word between tabs, found '{token:.60}'")
        if word.strip() not in ("", EMPTY):
            if not name or not position.isdecimal():  # no number: the field has one word
                name = place
            words.setdefault(name, []).append(word.strip())
    return tuple((name, " ".join(texts)) for name, texts in words.items())


def _names(split: str, ending: str) -> list[str]:
    return [f"{split}.{ending}", f"{split}/{split}.{ending}"]


def _people(
    boxes: Path, sentences: Path, sentence_lines: Iterator[tuple[int, bytes]], bad_rows: BadRows
) -> Iterator[Person]:
    """Yield the rows of files that go together; a sentence comes with the number of its line."""
    both = zip_longest(numbered(boxes, LONGEST_LINE), sentence_lines)
    for row, (box, sentence) in enumerate(both):
        if box is None or sentence is None:
            raise DataError(
                f"{boxes} and {sentences}: expected as many people in both; one ends after {row}; get them again"
            )
        path, (number, line) = boxes, box
        try:
            fields = fields_of(decoded(line, LONGEST_LINE, first=number == 1))
            path, (number, line) = sentences, sentence
            text = " ".join(decoded(line, LONGEST_LINE, first=number == 1).split())
            if is_blank(text):
                raise BadRow("is empty; expected a sentence")
        except BadRow as problem:
            bad_rows.add(path, f"line {number}", str(problem))
            continue
        yield Person(row, fields, text)


def _first_sentences(counts: Path, sentences: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the first of each person's sentences; there is no next person to find once a count is wrong."""
    lines = numbered(sentences, LONGEST_LINE)
    for number, line in numbered(counts, LONGEST_LINE):
        text = line.decode("utf-8", "replace").strip()
        if not (text.isdecimal() and 1 <= int(text[:9]) <= MOST_SENTENCES):
            raise DataError(
                f"{counts}, line {number}: expected a number of sentences from 1 to {MOST_SENTENCES:,}, found "
                f"'{text:.40}'; get it again"
            )
        mine = list(islice(lines, int(text)))
        if len(mine) < int(text):
            raise DataError(
                f"{counts}, line {number}: expected {text} sentences more, and {sentences} has {len(mine)}; get them "
                "again"
            )
        yield mine[0]
    if (rest := next(lines, None)) is not None:
        raise DataError(f"{sentences}, line {rest[0]}: is of no person of {counts}; get them again")


def _hub_people(files: Sequence[Path], bad_rows: BadRows) -> Iterator[Person]:
    """Yield rows with a record `input_text` that has a `table`, and all sentences of `target_text`, one a line."""
    for path, number, record in read_all(files, bad_rows, columns={"text": "target_text"}):
        try:
            fields = _table(record.values)
        except BadRow as problem:
            bad_rows.add(path, record.row, str(problem))
            continue
        sentences = [line for line in record.texts["text"].splitlines() if not is_blank(line)]
        yield Person(number, fields, " ".join(sentences[0].split()))


def _table(values: Mapping[str, Any]) -> Fields:
    """Return the fields of a hub row.

    >>> _table({"input_text": {"table": {"column_header": ["name", "image"], "content": ["tova lind", "<none>"]}}})
    (('name', 'tova lind'),)
    """
    table = _part(_part(values, "input_text"), "table")
    names, texts = _part(table, "column_header"), _part(table, "content")
    if not _are_texts(names) or not _are_texts(texts):
        raise BadRow("expected input_text.table with column_header and content, two lists of texts")
    if len(names) != len(texts):
        raise BadRow(f"expected as many texts as names in input_text.table, found {len(texts)} and {len(names)}")
    cells = [(name.strip(), " ".join(text.split())) for name, text in zip(names, texts, strict=True)]
    return tuple((name, text) for name, text in cells if name and text not in ("", EMPTY))


def _part(record: Any, name: str) -> Any:
    """Return a part of what should be a record, None where it is none."""
    if isinstance(record, Mapping):
        return record.get(name)
    return None


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)
