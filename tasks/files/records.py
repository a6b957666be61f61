"""Records: rows with named texts from jsonl, csv, tsv, parquet or a saved data set, checked one by one.

Files are read by hand, not by `datasets`: it names no line of a bad row, takes a date for a date and `NA` for nothing,
holds a whole row group of parquet where this holds a batch, and costs a second to import.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from bench.errors import DataError, MissingError, UsageError, did_you_mean
from bench.tasks.core.pieces import is_blank
from bench.tasks.fetch.hub import library, message_of
from bench.tasks.files.lines import BadRow, Checking, lines

FORMATS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
"""What a file name says of its form; all but parquet may end with .gz too."""

BATCH = 1024  # rows of a parquet file in memory


@dataclass(frozen=True)
class FileRecord:
    """One row.

    Args:
        file: that has it.
        row: its place in the file, e.g. `line 3`.
        number: its place in all files, from 0.
        texts: the wanted columns, by our names; one that is optional and not there is empty.
        values: the whole row as it was.
    """

    file: Path
    row: str
    number: int
    texts: Mapping[str, str]
    values: Mapping[str, Any] = field(default_factory=dict)


def read_records(
    files: Path | Sequence[Path],
    *,
    columns: Mapping[str, str],
    optional: Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
    may_be_empty: bool = False,
) -> Iterator[FileRecord]:
    """Yield the rows of files with the wanted texts.

    Args:
        files: one or several, in order, of `FORMATS`; or the folder of a split of a saved data set.
        columns: our name of each wanted text to the column of the file; each must be there, and be text.
        optional: the same for those that may be missing or null; a whole number counts as text (ids).
        options: the user option that names a column, by our names, for messages.
        may_be_empty: whether a wanted text may be empty.

    Raises:
        MissingError: a file cannot be opened.
        DataError: it is no file of its form, or a row cannot be used; the message names file and row.
        UsageError: a saved data set has no such column.
    """
    last = -1
    for path in [files] if isinstance(files, Path) else files:
        start = last + 1
        for number, row, values in _rows(path, columns, options):
            with Checking(path, row):
                texts = {}
                for name, column in columns.items():
                    if column not in values:
                        raise BadRow(_absent(values, column, (options or {}).get(name)))
                    texts[name] = checked_text(values[column], column, may_be_empty=may_be_empty)
                for name, column in (optional or {}).items():
                    texts[name] = _optional_text(values.get(column), column)
                last = start + number
                yield FileRecord(path, row, last, texts, values)


def _rows(
    path: Path, columns: Mapping[str, str], options: Mapping[str, str] | None
) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Yield number, place and content of each row."""
    form = path.name.lower().removesuffix(".gz")
    if path.is_dir():
        saved = enumerate(_saved_rows(path, columns, options))
        return ((number, f"row {number + 1}", values) for number, values in saved)
    if form.endswith((".jsonl", ".ndjson", ".json")):
        return _json_lines(path)
    if form.endswith((".csv", ".tsv")):
        return _table(path, "\t" if form.endswith(".tsv") else ",")
    if form.endswith(".parquet"):
        return _parquet(path)
    raise DataError(f"{path}: expected a file named *{', *'.join(FORMATS)}, or those but parquet with .gz")


def _json_lines(path: Path) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    for number, line in lines(path):
        if line.strip():
            with Checking(path, f"line {number}"):
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError) as problem:  # also thousands of digits or brackets
                    raise BadRow(f"expected a JSON object, found: {problem!s:.100}; write one object a line") from None
                if not isinstance(record, dict):
                    found = f"found {described(record)}; write one object a line"
                    raise BadRow(f"expected a JSON object with named fields, {found}")
                yield number - 1, f"line {number}", record


def _table(path: Path, delimiter: str) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Yield the rows of a csv file with a header; a quoted cell may have line feeds."""
    # A text may be longer than the 131,072 characters of all csv readers; a quote without an end takes all after it.
    csv.field_size_limit(1 << 26)
    number = last = 0  # the second: line that the reader has taken

    def counted() -> Iterator[str]:
        nonlocal last
        for number_of_line, line in lines(path):
            last = number_of_line
            yield line

    reader = csv.reader(counted(), delimiter=delimiter, strict=True)
    header = _header(reader, path)
    while True:
        first = last + 1
        with Checking(path, f"line {first}"):
            try:
                cells = next(reader, None)
            except csv.Error as problem:
                raise BadRow(f"expected csv cells, found: {problem}") from None
            if cells and len(cells) != len(header):
                raise BadRow(f"expected {len(header)} cells, as the header has, found {len(cells)}")
        if cells is None:
            return
        if cells:
            yield number, f"line {first}", dict(zip(header, cells, strict=True))
            number += 1


def _header(reader: Iterator[list[str]], path: Path) -> list[str]:
    try:
        header = next(reader, [])
    except csv.Error as problem:
        remedy = "; save the file with line feeds (\\n) at the ends of lines" if "new-line" in str(problem) else ""
        raise DataError(f"{path}, line 1: expected the names of columns, found: {problem}{remedy}") from None
    if not header:
        raise DataError(f"{path}, line 1: expected the names of columns, found nothing")
    name, times = Counter(filter(None, header)).most_common(1)[0] if any(header) else ("", 0)
    if times > 1:  # columns without a name, as after a comma at the end of the line, are not read
        raise DataError(f"{path}, line 1: expected the names of columns, found one name twice: '{name:.40}'")
    return header


def _parquet(path: Path) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    import pyarrow
    import pyarrow.parquet

    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path, buffer_size=1 << 20) as file:
            for batch in file.iter_batches(batch_size=BATCH):
                for values in batch.to_pylist():
                    yield number, f"row {number + 1}", values
                    number += 1
    except (pyarrow.ArrowException, UnicodeDecodeError) as problem:
        message = f"expected a parquet file, found: {str(problem).splitlines()[0]:.150}; get it again"
        raise DataError(f"{path}, row {number + 1}: {message}") from None
    except OSError as problem:
        message = problem.strerror or str(problem).splitlines()[0]
        raise MissingError(f"{path}, row {number + 1}: cannot be read ({message:.150})") from None


def _saved_rows(
    folder: Path, columns: Mapping[str, str], options: Mapping[str, str] | None = None
) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of one split, with the wanted columns only: others may be pictures, which need not be decoded.

    Args:
        folder: of the split.
        columns: our name -> the column.
        options: the user option that names a column, by our names, for messages.

    Raises:
        UsageError: there is no such column; lists those there are.
        DataError: the files are damaged.
    """
    try:
        opened = library().load_from_disk(str(folder))
        for name, column in columns.items():
            if column not in opened.column_names:
                option, near = (options or {}).get(name, "the column"), did_you_mean(column, opened.column_names)
                raise UsageError(f"{option}: {folder} has no column '{column}'{near}")
        wanted = opened.select_columns(list(dict.fromkeys(columns.values())))
        for batch in wanted.with_format("arrow").iter(batch_size=BATCH):
            yield from batch.to_pylist()
    except UsageError:
        raise
    except Exception as error:  # a damaged file can make its reader raise anything
        raise DataError(f"{folder}: cannot be read as a saved data set ({message_of(error)}); save it again") from error


def checked_text(text: Any, name: str, *, may_be_empty: bool = False) -> str:
    """Return a value that is a text.

    Args:
        text: any value.
        name: of its field, for messages.
        may_be_empty: whether nothing of the text need show.

    Raises:
        BadRow: it is something else, or has a character that no text has.
    """
    if not isinstance(text, str):
        raise BadRow(f"expected text in the field '{name}', found {described(text)}")
    if bad := re.search("[\0\ud800-\udfff]", text):
        raise BadRow(f"the field '{name}' has the character {bad[0]!r}, which is no text")
    if not may_be_empty and is_blank(text):
        raise BadRow(f"the field '{name}' is empty; expected a text")
    return text


def _optional_text(value: Any, column: str) -> str:
    """Return a text that may be missing or empty; a whole number is the text of its digits."""
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return checked_text(value, column, may_be_empty=True)


def _absent(values: Mapping[str, Any], column: str, option: str | None) -> str:
    names = ", ".join(f"'{name!s:.40}'" for name in islice(values, 10)) or "none"
    advice = "its fields"
    if option:
        advice = f"set {option} to one of its fields"
    return f"has no field '{column:.40}'; {advice}: {names}"


def described(value: Any) -> str:
    """Name a JSON value for a message without printing a megabyte.

    >>> described([1, 2]), described(None)
    ('list [1, 2]', 'nothing (null)')
    """
    if value is None:
        return "nothing (null)"
    return f"{type(value).__name__} {repr(value)[:60]}"
