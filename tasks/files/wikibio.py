"""Wikibio files: boxes and first sentences, as published or as the hub has them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from bench.errors import DataError
from bench.tasks.core.pieces import is_blank
from bench.tasks.files.bad_rows import BadRow, BadRows
from bench.tasks.files.expected_files import find, needed
from bench.tasks.files.lines import decoded, numbered
from bench.tasks.files.published import split_files
from bench.tasks.files.records import read_all

__all__ = ["Fields", "Person", "fields_of", "read_people"]

EMPTY = "<none>"
"""What a field without a value has."""


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
        return boxes, _people(boxes, summaries, numbered(summaries), bad_rows)
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
    both = zip_longest(numbered(boxes), sentence_lines)
    for row, (box, sentence) in enumerate(both):
        if box is None or sentence is None:
            raise DataError(
                f"{boxes} and {sentences}: expected as many people in both; one ends after {row}; get them again"
            )
        path, (number, line) = boxes, box
        try:
            fields = fields_of(decoded(line, first=number == 1))
            path, (number, line) = sentences, sentence
            text = " ".join(decoded(line, first=number == 1).split())
            if is_blank(text):
                raise BadRow("is empty; expected a sentence")
        except BadRow as problem:
            bad_rows.add(path, f"line {number}", str(problem))
            continue
        yield Person(row, fields, text)


def _first_sentences(counts: Path, sentences: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the first of each person's sentences; there is no next person to find once a count is wrong."""
    lines = numbered(sentences)
    for number, line in numbered(counts):
        text = line.decode("utf-8", "replace").strip()
        mine = list(islice(lines, int(text))) if re.fullmatch("[1-9][0-9]{0,4}", text) else []
        if not mine or len(mine) < int(text):
            raise DataError(
                f"{counts}, line {number}: expected how many sentences of {sentences} are a person's, found "
                f"'{text:.40}', and {len(mine)} sentences; get both again"
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
    match values.get("input_text"):
        case {"table": {"column_header": list(names), "content": list(texts)}} if len(names) == len(texts):
            cells = [(str(name).strip(), " ".join(str(text).split())) for name, text in zip(names, texts, strict=True)]
            return tuple((name, text) for name, text in cells if name and text not in ("", EMPTY))
        case _:
            raise BadRow("expected input_text.table with column_header and content, two lists of as many texts")
