"""LogicNLG's published files: sentences, tables and titles as the publisher and TabFact have them.

Chen et al. 2020, "Logical Natural Language Generation from Open-Domain Tables". A folder holds `train_lm.json`,
`val_lm.json`, `test_lm.json`, the tables as `all_csv/` or `all_csv.zip`, and for the proxy also `table_to_page.json`;
every .json may be .json.gz. Or it holds the parquet files of the hub's copy. Valid and test are used whole or not at
all.
"""

from __future__ import annotations

import ast
import lzma
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from bench.errors import DataError
from bench.tasks.core.example import Example
from bench.tasks.files.expected_files import find, needed
from bench.tasks.files.lines import BadRow, Checking, read_json
from bench.tasks.files.records import checked_text, described, read_records
from bench.tasks.files.tables import Table, read_table

Train = Literal["official", "proxy"]

ADVICE = "get it from github.com/wenhuchen/LogicNLG, folder data (tables: all_csv.zip there)"
PROXY_ADVICE = "it is made from pairwise_data of github.com/wenhuchen/Table-Fact-Checking"
SENTENCES = {"train": "train_lm.json", "valid": "val_lm.json", "test": "test_lm.json"}
PROXY = "train_proxy_tabfact_pairs.json"
TITLES = "table_to_page.json"
UNREADABLE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, LookupError, RuntimeError, OSError, ValueError)


class _Row(NamedTuple):
    """A row as it lies in the file: nothing but `where` and `number` has been checked."""

    where: str  # for messages
    number: int  # among the rows of its table
    table_id: Any
    sentence: Any
    columns: Any  # None: derived from the sentence
    title: Any


def read_split(folder: Path, split: str, train: Train = "official") -> list[Example]:
    """Read one split in file order.

    An example's `references` are all sentences of its table in the split, its `source` is empty, and its `fields` are
    `table` (Table), `title` (str), `columns` (indices of the linked columns, empty where unknown) and `table_id`.

    Args:
        folder: where the published files lie.
        split: which split.
        train: what train is read from. The proxy is TabFact's true statements about a part of the same tables; it
            comes without linked columns, see `linked_columns`. TabFact's statements are in lower case and LogicNLG's
            are not, so with the proxy sentences and titles of every split are lower-cased.

    Raises:
        MissingError: a file is not there.
        DataError: a file or a row cannot be used; the message names both.
    """
    tables = _Tables(folder)
    if split == "train" and train == "proxy":
        path = needed(folder, [PROXY], PROXY_ADVICE)
        rows = _proxy_rows(path, needed(folder, [TITLES], ADVICE))
    elif find(folder, [SENTENCES[split]]) is None and (files := _hub_files(folder, split)):
        path, rows = files[0], _hub_rows(files, tables)
    else:
        path = needed(folder, [SENTENCES[split]], ADVICE)
        rows = _published_rows(path)
    examples = []
    for row in rows:
        with Checking(path, row.where):
            examples.append(_example(row, tables, lower_case=train == "proxy"))
    if not examples:
        raise DataError(f"{path}: expected sentences, found no usable one; download it again")
    sentences: dict[str, list[str]] = {}
    for example in examples:
        sentences.setdefault(example.fields["table_id"], []).append(example.target)
    references = {table_id: tuple(texts) for table_id, texts in sentences.items()}
    return [replace(example, references=references[example.fields["table_id"]]) for example in examples]


def has_only_the_proxy(folder: Path) -> bool:
    """Return whether a folder has the training rows of the proxy and not the published ones."""
    has_published = find(folder, [SENTENCES["train"]]) is not None or bool(_hub_files(folder, "train"))
    return not has_published and all(find(folder, [name]) is not None for name in (PROXY, TITLES))


def linked_columns(table: Table, sentence: str) -> tuple[int, ...]:
    """Guess which columns a sentence speaks of: the proxy does not say.

    A column is linked when its name or one of its cells is in the sentence word for word, or when a word of four
    letters or more of a cell does; a plural -s does not count. On LogicNLG's valid sentences, whose columns are
    published, 84 % of the columns found are right and 85 % of the right ones are found.

    >>> linked_columns(Table(("player", "goals", "club"), (("ada lund", "7", "vale"),)), "lund scored 7 goal")
    (0, 1)
    """
    words = _words(sentence).split()
    text = f" {' '.join(words)} "
    long_words = {word for word in words if len(word) >= 4 and not word.isdigit()}
    linked = []
    for column, name in enumerate(table.header):
        cells = _words("\n".join(row[column] for row in table.rows))  # all at once, for speed
        phrases = map(str.strip, [_words(name), *cells.split("\n")])
        if not long_words.isdisjoint(cells.split()) or any(f" {phrase} " in text for phrase in phrases if phrase):
            linked.append(column)
    return tuple(linked)


def _words(text: str) -> str:
    """Return the words of a text in lower case, without a plural -s, with spaces between; lines stay lines."""
    return re.sub(r"[^\w\n]+", " ", re.sub(r"s\b(?<=\w{4})", "", text.lower()))


def _published_rows(path: Path) -> Iterator[_Row]:
    """Yield the rows of {table: [[sentence, columns, title, template], ...]}."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise DataError(f"{path}: expected {{table: [row, ...]}}, found {described(content)}")
    for table_id, rows in content.items():
        if not isinstance(rows, list):
            raise DataError(f"{path}, table '{table_id:.80}': expected a list of rows, found {described(rows)}")
        for number, row in enumerate(rows):
            sentence = columns = title = [row]  # of what is no row each part is refused
            if isinstance(row, list) and len(row) == 4:
                sentence, columns, title, _ = row
            yield _Row(f"table '{table_id:.80}', row {number}", number, table_id, sentence, columns, title)


def _hub_files(folder: Path, split: str) -> list[Path]:
    """Return the files of a split as the hub's copy has them, nothing where there are none."""
    return sorted(folder.glob(f"{'validation' if split == 'valid' else split}-*.parquet"))


def _hub_rows(files: Sequence[Path], tables: _Tables) -> Iterator[_Row]:
    """Yield the rows of kasnerz/logicnlg, those of a table together, as the publisher has them.

    Tables and linked columns are written as Python lists, a table's first row is its header. The tables read are put
    into `tables`.
    """
    by_table: dict[str, list[_Row]] = {}
    texts = {"table_id": "table_id", "table": "table", "columns": "linked_columns", "title": "title", "ref": "ref"}
    for record in read_records(files, columns=texts, may_be_empty=True):
        row, where = record.texts, f"row {record.number + 1}"
        try:
            columns = ast.literal_eval(row["columns"])
            if row["table_id"] not in tables.known:
                cells = ast.literal_eval(row["table"])
                text = "".join("#".join(str(cell).replace("#", " ") for cell in line) + "\n" for line in cells)
                tables.known[row["table_id"]] = read_table(text, row["table_id"])
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as problem:
            raise DataError(
                f"{record.file}, {where}: expected lists written in Python, found: {problem!s:.100}"
            ) from None
        mine = by_table.setdefault(row["table_id"], [])
        mine.append(_Row(where, len(mine), row["table_id"], row["ref"], columns, row["title"]))
    return chain.from_iterable(by_table.values())


def _proxy_rows(path: Path, titles_path: Path) -> Iterator[_Row]:
    """Yield the rows of [[table, true statement, false statement], ...]; the false ones are not used."""
    content, titles = read_json(path), read_json(titles_path)
    if not isinstance(content, list) or not isinstance(titles, dict):
        raise DataError(f"{path} and {titles_path}: expected a JSON list of statements and titles by table")
    n_rows: Counter[str] = Counter()  # of each table so far
    for number, row in enumerate(content):
        table_id = sentence = [row]  # of what is no row each part is refused
        if isinstance(row, list) and len(row) == 3:
            table_id, sentence, _ = row
        title = titles.get(str(table_id))
        if isinstance(title, list) and title:  # title and address of the page
            title = title[0]
        yield _Row(f"row {number}", n_rows[str(table_id)], table_id, sentence, None, title)
        n_rows[str(table_id)] += 1


def _example(row: _Row, tables: _Tables, lower_case: bool) -> Example:
    table_id = checked_text(row.table_id, "table")
    sentence, title = checked_text(row.sentence, "sentence"), checked_text(row.title, "title")
    table = tables.table(table_id)
    columns = linked_columns(table, sentence) if row.columns is None else _checked_columns(row.columns, table)
    if lower_case:
        sentence, title = sentence.lower(), title.lower()
    content = {"table": table, "title": title, "columns": columns, "table_id": table_id}
    return Example(f"{table_id}/{row.number}", source="", target=sentence, fields=content)


def _checked_columns(value: Any, table: Table) -> tuple[int, ...]:
    width = len(table.header)
    if not isinstance(value, list) or any(type(column) is not int for column in value):
        raise BadRow(f"expected a list of column numbers, found {described(value)}")
    if any(not 0 <= column < width for column in value) or len(set(value)) < len(value):
        raise BadRow(f"expected different column numbers from 0 to {width - 1}, found {value[:20]}")
    return tuple(value)


class _Tables:
    """The tables of a folder, each read when a row first needs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known: dict[str, Table] = {}

    @cached_property
    def place(self) -> Path | zipfile.Path:
        """The folder of the tables, which may be one in an archive."""
        if (self.folder / "all_csv").is_dir():
            return self.folder / "all_csv"
        path = needed(self.folder, ["all_csv.zip"], ADVICE)
        try:
            root = zipfile.Path(path)
        except UNREADABLE as problem:
            raise DataError(f"{path}: expected a zip archive, found: {problem!s:.200}; download it again") from None
        return root / "all_csv" if (root / "all_csv").is_dir() else root

    def table(self, table_id: str) -> Table:
        if table_id not in self.known:
            if re.search(r"[/\\]|^\.*$", table_id):
                raise BadRow(f"expected a table's file name, found {table_id!r:.80}")
            path = self.place / table_id
            try:
                self.known[table_id] = read_table(path.read_bytes().decode("utf-8-sig"), f"all_csv/{table_id}")
            except DataError as problem:
                raise BadRow(str(problem)) from None
            except UNREADABLE as problem:
                raise BadRow(f"table '{table_id:.80}' cannot be read from all_csv: {problem!s:.200}") from None
        return self.known[table_id]
