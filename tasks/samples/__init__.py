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
a text of paragraphs. The rows of a file without forms are what they say. The logic of a statement of `logicnlg` is an
operation with its arguments: a column is an index, a name a cell of column 0, and values are written as in the text.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["sample_lines", "sample_rows"]

FOLDER = Path(__file__).parent


@cache
def sample_rows(name: str, split: str) -> tuple[Mapping[str, Any], ...]:
    """Return the rows of `train`, `valid` or `test`, in order.

    Each has its `id` and the fields of its line. In a file with forms a field is a tuple of sentences, or a tuple of
    such tuples where it has paragraphs.

    >>> row = sample_rows("news", "test")[1]
    >>> row["id"], row["headlines"][0]
    ('sample-test-001', 'Six hurt as fire destroys warehouse in Isterford')
    """
    lists: dict[str, Sequence[str]] = {}
    forms: list[Sequence[str]] = []  # each split into text, name of a list, text, ..., text
    rows: list[Mapping[str, Any]] = []
    for line in sample_lines(name):
        if isinstance(line, str):
            forms.append(re.split(r"\{(\w+)\}", line))
        elif "list" in line:
            lists[line["list"]] = [word for word in line["words"].split("|") if word]
        elif line.get("split") == split:
            fields = {key: value for key, value in line.items() if key != "split"}
            if forms:
                fields = {key: _texts(value, lists, forms) for key, value in fields.items()}
            rows.append({"id": f"sample-{split}-{len(rows):03d}", **fields})
    return tuple(rows)


def sample_lines(name: str) -> list[Any]:
    """Return the content of every line as it is in the file."""
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def _texts(value: Sequence[Any], lists: Mapping[str, Sequence[str]], forms: Sequence[Sequence[str]]) -> tuple[Any, ...]:
    """Return the sentences of a text, or those of each of its paragraphs."""
    if value and isinstance(value[0], list):
        return tuple(_texts(paragraph, lists, forms) for paragraph in value)
    numbers, sentences = iter(value), list[str]()
    for number in numbers:
        if isinstance(number, str):
            sentences.append(number)
            continue
        pieces = list(forms[number])
        for place in range(1, len(pieces), 2):
            word = next(numbers)
            pieces[place] = word if isinstance(word, str) else lists[pieces[place]][word]
        sentences.append("".join(pieces))
    return tuple(sentences)
