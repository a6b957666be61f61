"""Gigaword's files: sentences and headlines line by line as Rush et al. 2015 published them, or rows of the hub."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.errors import MissingError
from bench.tasks.core.example import Example
from bench.tasks.core.mapped_examples import held
from bench.tasks.fetch.hub_copies import HUB
from bench.tasks.files.bad_rows import BadRows
from bench.tasks.files.expected_files import find
from bench.tasks.files.gigaword_form import gigaword_form, one_unknown
from bench.tasks.files.lines import aligned
from bench.tasks.files.published import published_rows, split_files
from bench.tasks.samples import sample_rows

__all__ = ["SIZES", "read_pairs", "sample_pairs", "split_pair"]

SIZES: Mapping[str, int] = {"train": 3803957, "valid": 189651, "test": 1951}

PAIRS: Mapping[str, Sequence[tuple[str, str]]] = {
    "train": [("train.article.txt", "train.title.txt")],
    "valid": [("valid.article.filter.txt", "valid.title.filter.txt"), ("valid.article.txt", "valid.title.txt")],
    "test": [("input.txt", "task1_ref0.txt")],
}
PLACES: Mapping[str, Sequence[str]] = {
    "train": ("sumdata/train", "train", "."),
    "valid": ("sumdata/train", "train", "."),
    "test": ("sumdata/[Gg]iga", "[Gg]iga", "."),
}
"""Where they lie below the task's folder, in the publisher's archive or beside each other."""

ADVICE = f"get sumdata from https://github.com/harvardnlp/sent-summary, or rows from {HUB['gigaword'].page}"
NO_FIELDS: dict[str, Any] = {}  # one for millions of rows


def split_pair(folder: Path, split: str) -> tuple[Path, Path] | None:
    """Return the files of a split's sentences and headlines, or None where there are none.

    Raises:
        MissingError: only one of the two is there.
    """
    for place in PLACES[split]:
        for names in PAIRS[split]:
            sentences, headlines = (find(folder, [f"{place}/{name}"]) for name in names)
            if sentences is not None and headlines is not None:
                return sentences, headlines
            if alone := sentences or headlines:
                raise MissingError(
                    f"{folder / place}: expected {names[0]} and {names[1]} (.gz too), found only {alone.name}; {ADVICE}"
                )
    return None


def read_pairs(folder: Path, split: str, bad_rows: BadRows) -> tuple[Sequence[Example], str]:
    """Read sentences and headlines, `UNK` written `<unk>`; evaluated rows have their headline as reference.

    Returns:
        Rows, named by split and line from 0, and the file they are from.

    Raises:
        MissingError: the split is in none of the places and forms.
        DataError: a row may not be skipped; the message names file and line.
    """
    pair = split_pair(folder, split)
    rows: Iterable[tuple[int, str, str]]
    if pair is None:
        files = split_files(folder, split, ADVICE, also=[f"{place}/{PAIRS[split][0][0]}" for place in PLACES[split]])
        origin = files[0]
        records = published_rows(files, bad_rows, source="document", target="summary")
        rows = ((number, row.source, row.target) for number, row in enumerate(records, 1))
    else:
        origin = pair[0]
        rows = aligned(*pair, bad_rows)
    return held(_examples(split, rows)), str(origin)


def _examples(split: str, rows: Iterable[tuple[int, str, str]]) -> Iterator[Example]:
    """Yield rows, given their number from 1, sentence and headline."""
    for number, sentence, headline in rows:
        headline = one_unknown(headline)
        references: tuple[str, ...] = ()
        if split != "train":
            references = (headline,)
        yield Example(f"{split}/{number - 1}", one_unknown(sentence), headline, references, NO_FIELDS)


def sample_pairs(split: str) -> list[Example]:
    """Return the first sentences and the headlines of the built-in articles, in Gigaword's form."""
    made = []
    for article in sample_rows("news", split):
        title = gigaword_form(article["headlines"][0])
        made.append(Example(article["id"], gigaword_form(article["body"][0]), title, (title,)))
    return made
