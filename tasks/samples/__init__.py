"""The built-in samples: rows of every task as data, so that every task runs on a bare machine.

Each file holds one kind of text, which this project made up; `news` serves all tasks about news articles. A line is a
row with its split, a list of words, or a form: a sentence with a slot for a word of each list that it names. A sentence
of a row is the number of its form, and then the number of a word for each slot, both counted from 0. Text among the
numbers stands for itself, as a sentence or as a word; so a list may be empty.

    {"list":"fruit","words":"apple|plum"}
    {"list":"dish","words":"cake|tart"}
    "The {dish} had no {fruit} in it."
    {"split":"train","story":[0,1,0,"Nobody ate it."]}

So the story of this row has two sentences: "The tart had no apple in it." and "Nobody ate it." A list of such lists is
a text of paragraphs. The rows of a file without forms are what they say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from bench.errors import DataError

__all__ = ["sample_lines", "sample_rows"]

FOLDER = Path(__file__).parent


class Language(NamedTuple):
    """The lists of words and the forms of a file; a form is split into text, name of a list, text, ... , text."""

    lists: Mapping[str, Sequence[str]]
    forms: Sequence[Sequence[str]]


@cache
def sample_rows(name: str, split: str) -> tuple[Mapping[str, Any], ...]:
    """Return the rows of `train`, `valid` or `test`, in order.

    Each has its `id` and the fields of its line. In a file with forms a field is a tuple of sentences, or a tuple of
    such tuples where it has paragraphs.

    Raises:
        DataError: the file is damaged, or has no row of the split.

    >>> row = sample_rows("news", "test")[1]
    >>> row["id"], row["headlines"][0]
    ('sample-test-001', 'Six hurt as fire destroys warehouse in Isterford')
    """
    language, rows = _language(name), list[Mapping[str, Any]]()
    for number, line in _numbered(name):
        if isinstance(line, str) or line.get("split") != split:
            continue
        fields = {key: value for key, value in line.items() if key != "split"}
        if language.forms:
            try:
                fields = {key: _texts(value, language) for key, value in fields.items()}
            except ValueError as error:
                raise _damaged(name, number, str(error)) from None
        rows.append({"id": f"sample-{split}-{len(rows):03d}", **fields})
    if not rows:
        raise DataError(f"{_path(name)}: expected rows of the split {split!r}, found none; install bench again")
    return tuple(rows)


def sample_lines(name: str) -> list[Any]:
    """Return the content of every line as it is in the file.

    Raises:
        DataError: the file cannot be read, or a line of it is neither an object nor text.
    """
    return [line for _, line in _numbered(name)]


def _path(name: str) -> Path:
    return FOLDER / f"{name}.jsonl"


def _numbered(name: str) -> Iterator[tuple[int, Any]]:
    """Yield the number of each line, from 1, and its content."""
    try:
        lines = _path(name).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{_path(name)}: expected a built-in sample, {error}; install bench again") from None
    for number, line in enumerate(lines, 1):
        try:
            content = json.loads(line)
        except ValueError as error:
            raise _damaged(name, number, str(error)) from None
        if not isinstance(content, dict | str):
            raise _damaged(name, number, "it is neither an object nor text")
        yield number, content


@cache
def _language(name: str) -> Language:
    lists, forms = dict[str, Sequence[str]](), list[Sequence[str]]()
    for number, line in _numbered(name):
        if isinstance(line, str):
            pieces = re.split(r"\{(\w+)\}", line)
            if unknown := set(pieces[1::2]) - set(lists):
                raise _damaged(name, number, f"no list above it is called {' or '.join(sorted(unknown))}")
            forms.append(pieces)
        elif "list" in line:
            lists[line["list"]] = [word for word in line["words"].split("|") if word]
    return Language(lists, forms)


def _texts(value: Sequence[Any], language: Language) -> tuple[Any, ...]:
    """Return the sentences of a text, or those of each of its paragraphs.

    Raises:
        ValueError: a number has no form or no word, or a word is missing.
    """
    if value and isinstance(value[0], list):
        return tuple(_texts(paragraph, language) for paragraph in value)
    numbers, sentences = iter(value), list[str]()
    for number in numbers:
        if isinstance(number, str):
            sentences.append(number)
            continue
        pieces = list(_at(language.forms, number, "form"))
        for place in range(1, len(pieces), 2):
            word = next(numbers, None)
            if not isinstance(word, str):
                word = _at(language.lists[pieces[place]], word, pieces[place])
            pieces[place] = word
        sentences.append("".join(pieces))
    return tuple(sentences)


def _at(values: Sequence[Any], number: Any, what: str) -> Any:
    if not isinstance(number, int) or not 0 <= number < len(values):
        raise ValueError(f"expected the number of a {what}, below {len(values)}, found {number}")
    return values[number]


def _damaged(name: str, number: int, reason: str) -> DataError:
    return DataError(f"{_path(name)}, line {number}: {reason}; the file is damaged, install bench again")
