"""LogicNLG's published files: sentences, tables and titles as the publisher and TabFact have them.

Chen et al. 2020, "Logical Natural Language Generation from Open-Domain Tables". A folder holds `train_lm.json`,
`val_lm.json`, `test_lm.json`, the tables as `all_csv/` or `all_csv.zip`, and for the proxy also `table_to_page.json`;
every .json may be .json.gz. Valid and test are used whole or not at all.
"""

from __future__ import annotations

import gzip
import json
import lzma
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

from bench.errors import DataError, MissingError
from bench.tasks.core.example import Example
from bench.tasks.core.pieces import is_blank
from bench.tasks.files.bad_rows import BadRow, BadRows
from bench.tasks.files.lines import line_feeds, unpacked
from bench.tasks.files.tables import Table, read_table

__all__ = ["Train", "linked_columns", "missing_files", "read_split"]

Train = Literal["official", "proxy"]

PUBLISHER = "github.com/wenhuchen/LogicNLG, folder data (tables: all_csv.zip there)"
PROXY = "train_proxy_tabfact_pairs.json"
TITLES = "table_to_page.json"
_PUBLISHED_NAME = {"train": "train", "valid": "val", "test": "test"}
_LARGEST_FILE = 1 << 28  # bytes after unpacking: an archive that promises more is broken or hostile
_UNREADABLE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, OSError, ValueError)


class _Row(NamedTuple):
    """A row as it lies in the file: nothing but `where` and `number` has been checked."""

    where: str  # for messages
    number: int  # among the rows of its table, usable or not: ids must not move when a row is skipped
    table_id: Any
    sentence: Any
    columns: Any  # None: derived from the sentence
    title: Any


def read_split(
    folder: Path,
    split: str,
    train: Train = "official",
    lower_case: bool | None = None,
    bad_rows: BadRows | None = None,
) -> list[Example]:
    """Read one split in file order.

    An example's `references` are all sentences of its table in the split, its `source` is empty, and its `fields` are
    `table` (Table), `title` (str), `columns` (indices of the linked columns, empty where unknown) and `table_id`.

    Args:
        folder: where the published files lie.
        split: which split.
        train: what train is read from. The proxy is TabFact's true statements about a part of the same tables; it
            comes without linked columns, see `linked_columns`.
        lower_case: lower-case sentences and titles. TabFact's statements are lower-cased and LogicNLG's are not, so
            None means: for the proxy, in every split.
        bad_rows: told about rows that cannot be used; None refuses them.

    Raises:
        MissingError: a file is not there.
        DataError: a file or a row cannot be used; the message names both.
    """
    if bad_rows is None:
        bad_rows = BadRows(split)
    if lower_case is None:
        lower_case = train == "proxy"
    proxy = split == "train" and train == "proxy"
    file, rows = _sentences_file(split), _published_rows(folder, split)
    if proxy:
        file, rows = PROXY, _proxy_rows(folder)
    path = _find(folder, file) or folder / file
    reader = _Reader(folder, lower_case)
    examples, tables = [], set()
    for row in rows:
        try:
            tables.add(_checked_text(row.table_id, "a table's file name"))
            examples.append(reader.example(row))
        except BadRow as problem:
            bad_rows.add(path, row.where, str(problem))
    if not examples:
        raise DataError(f"{path}: expected sentences, found no usable one; download it again")
    _check_tables(folder, split, tables, complete=not proxy)
    return _with_references(examples)


def missing_files(folder: Path, train: Train = "official") -> dict[str, list[str]]:
    """Return for each split which of the files it needs are not in the folder; an empty list means it can be read."""
    needed: dict[str, list[str]] = {
        "train": [_sentences_file("train")],
        "valid": [_sentences_file("valid")],
        "test": [_sentences_file("test")],
    }
    if train == "proxy":
        needed["train"] = [PROXY, TITLES]
    missing: dict[str, list[str]] = {}
    for split, names in needed.items():
        missing[split] = [name for name in names if _find(folder, name) is None]
        if not (folder / "all_csv").is_dir() and not (folder / "all_csv.zip").is_file():
            missing[split].append("all_csv.zip")
    return missing


def linked_columns(table: Table, sentence: str) -> tuple[int, ...]:
    """Guess which columns a sentence speaks of: the proxy does not say.

    A column is linked when its name or one of its cells stands in the sentence word for word, or when a word of four
    letters or more of a cell does; a plural -s does not count. On LogicNLG's valid sentences, whose columns are
    published, 84 % of the columns found are right and 85 % of the right ones are found.

    >>> linked_columns(Table(("player", "goals", "club"), (("ada lund", "7", "vale"),)), "lund scored 7 goal")
    (0, 1)
    """
    words = _words(sentence)
    text = f" {' '.join(words)} "
    long_words = {word for word in words if len(word) >= 4 and not word.isdigit()}

    def is_named(column: int, name: str) -> bool:
        name_words = _words(name)
        if name_words and _spaced(name_words) in text:
            return True
        for row in table.rows:
            cell = _words(row[column])
            if cell and (_spaced(cell) in text or not long_words.isdisjoint(cell)):
                return True
        return False

    return tuple(column for column, name in enumerate(table.header) if is_named(column, name))


def _spaced(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "


def _words(text: str) -> list[str]:
    """Return the words of a text in lower case, without a plural -s."""
    return [_singular(word) for word in re.findall(r"\w+", text.lower())]


def _singular(word: str) -> str:
    if len(word) > 3:
        return word.removesuffix("s")
    return word


@dataclass(slots=True)
class _Reader:
    """Turns rows into examples, reading each table once and only when a row needs it."""

    folder: Path
    lower_case: bool
    tables: dict[str, Table | str] = field(default_factory=dict)  # a table, or what is wrong with it
    text_of: Callable[[str], str] | None = None

    def example(self, row: _Row) -> Example:
        table_id = str(row.table_id)
        sentence = _checked_text(row.sentence, "a sentence")
        title = _checked_text(row.title, f"a title (proxy rows have theirs in {TITLES})")
        table = self._table(table_id)
        if row.columns is None:
            columns = linked_columns(table, sentence)
        else:
            columns = _checked_columns(row.columns, table)
        if self.lower_case:
            sentence, title = sentence.lower(), title.lower()
        content = {"table": table, "title": title, "columns": columns, "table_id": table_id}
        return Example(f"{table_id}/{row.number}", source="", target=sentence, fields=content)

    def _table(self, table_id: str) -> Table:
        if table_id not in self.tables:
            self.tables[table_id] = self._read(table_id)
        table = self.tables[table_id]
        if isinstance(table, str):
            raise BadRow(table)
        return table

    def _read(self, table_id: str) -> Table | str:
        if re.search(r"[/\\]|^\.*$", table_id):
            return f"expected a table's file name, found {table_id!r:.80}"
        self.text_of = self.text_of or _table_source(self.folder)
        try:
            return read_table(self.text_of(table_id), f"all_csv/{table_id}")
        except DataError as problem:
            return str(problem)


def _table_source(folder: Path) -> Callable[[str], str]:
    """Return a function from a table's id to its text, from the folder all_csv or else from the archive."""
    if (folder / "all_csv").is_dir():
        return lambda table_id: _decode(_folder_bytes(folder / "all_csv" / table_id), f"all_csv/{table_id}")
    path = folder / "all_csv.zip"
    if not path.is_file():
        raise _missing(folder, "all_csv.zip", "nor is the unpacked folder all_csv")
    try:
        archive = zipfile.ZipFile(path)
        places = {name.rsplit("/", 1)[-1]: name for name in archive.namelist()}
    except _UNREADABLE as problem:
        raise DataError(
            f"{path}: expected a zip archive of tables, found: {problem!s:.200}; download it again"
        ) from None
    return lambda table_id: _decode(_archive_bytes(archive, places, table_id), f"all_csv.zip, table '{table_id:.80}'")


def _folder_bytes(path: Path) -> bytes:
    try:
        return line_feeds(path.read_bytes())
    except _UNREADABLE as problem:  # ValueError: a NUL in the name
        raise DataError(f"table '{path.name:.80}' cannot be read from all_csv: {problem!s:.200}") from None


def _archive_bytes(archive: zipfile.ZipFile, places: dict[str, str], table_id: str) -> bytes:
    if table_id not in places:
        raise DataError(f"table '{table_id:.80}' is not in all_csv.zip, which has {len(places)} tables")
    try:
        with archive.open(places[table_id]) as stream:
            return line_feeds(_read_capped(stream, f"table '{table_id:.80}'"))
    except _UNREADABLE as problem:
        raise DataError(f"table '{table_id:.80}' cannot be unpacked from all_csv.zip: {problem!s:.200}") from None


def _published_rows(folder: Path, split: str) -> Iterator[_Row]:
    """Yield the rows of {table: [[sentence, columns, title, template], ...]}."""
    name = _sentences_file(split)
    content = _read_json(folder, name)
    if not isinstance(content, dict):
        raise DataError(f"{folder / name}: expected {{table: [row, ...]}}, found {_kind(content)}")
    for table_id, rows in content.items():
        if not isinstance(rows, list) or not rows:
            raise DataError(f"{folder / name}, table '{table_id:.80}': expected a list of rows, found {_kind(rows)}")
        for number, row in enumerate(rows):
            where = f"table '{table_id:.80}', row {number}"
            sentence, columns, title, _ = _parts(row, 4, "[sentence, columns, title, template]")
            yield _Row(where, number, table_id, sentence, columns, title)


def _proxy_rows(folder: Path) -> Iterator[_Row]:
    """Yield the rows of [[table, true statement, false statement], ...]; the false ones are not used."""
    content, titles = _read_json(folder, PROXY), _read_json(folder, TITLES)
    for name, value, wanted in ((PROXY, content, list), (TITLES, titles, dict)):
        if not isinstance(value, wanted):
            raise DataError(f"{folder / name}: expected a JSON {wanted.__name__}, found {_kind(value)}")
    n_rows: Counter[str] = Counter()  # of each table so far
    for number, row in enumerate(content):
        table_id, sentence, _ = _parts(row, 3, "[table, true statement, false statement]")
        title = None
        if isinstance(table_id, str):
            title = titles.get(table_id)
        if isinstance(title, list) and title:  # title and address of the page
            title = title[0]
        yield _Row(f"row {number}", n_rows[str(table_id)], table_id, sentence, None, title)
        n_rows[str(table_id)] += 1


class _Wrong(NamedTuple):
    """Stands in every part of what is no row, so that it is reported where parts are checked."""

    row: Any
    expected: str


def _parts(row: Any, n: int, expected: str) -> list[Any]:
    """Return the parts of a row, which is a list of n; of anything else, n times what is wrong."""
    if isinstance(row, list) and len(row) == n:
        return row
    return [_Wrong(row, expected)] * n


def _checked_text(value: Any, what: str) -> str:
    if isinstance(value, _Wrong):
        raise BadRow(f"expected {value.expected}, found {_kind(value.row)}")
    if not isinstance(value, str):
        raise BadRow(f"expected {what}, found {_kind(value)}")
    if is_blank(value):
        raise BadRow(f"expected {what}, found an empty text")
    if bad := re.search("[\0\ud800-\udfff]", value):
        raise BadRow(f"expected {what}, found one with the character {bad[0]!r}, which is no text")
    return value


def _checked_columns(value: Any, table: Table) -> tuple[int, ...]:
    width = len(table.header)
    if not isinstance(value, list) or any(type(column) is not int for column in value):
        raise BadRow(f"expected a list of column numbers, found {_kind(value)}")
    if any(not 0 <= column < width for column in value) or len(set(value)) < len(value):
        raise BadRow(f"expected different column numbers from 0 to {width - 1}, found {value[:20]}")
    return tuple(value)


def _check_tables(folder: Path, split: str, tables: set[str], complete: bool) -> None:
    """Compare with the split's list of tables where the folder has one: a shortened file must not pass unnoticed."""
    name = f"{_PUBLISHED_NAME[split]}_ids.json"
    if _find(folder, name) is None:
        return
    listed = _read_json(folder, name)
    if not isinstance(listed, list) or not all(isinstance(table_id, str) for table_id in listed):
        raise DataError(f"{folder / name}: expected a list of tables' file names, found {_kind(listed)}")
    strangers, absent = sorted(tables - set(listed)), sorted(set(listed) - tables)
    if strangers or (absent and complete):
        raise DataError(
            f"{folder / name}: lists the tables of {split}, but {len(strangers)} of those read are not in it "
            f"{strangers[:3]} and {len(absent)} in it were not read {absent[:3]}; take all files from one place"
        )


def _with_references(examples: list[Example]) -> list[Example]:
    """Give each sentence all sentences of its table, itself among them."""
    sentences: dict[str, list[str]] = {}
    for example in examples:
        sentences.setdefault(example.fields["table_id"], []).append(example.target)
    references = {table_id: tuple(texts) for table_id, texts in sentences.items()}
    return [replace(example, references=references[example.fields["table_id"]]) for example in examples]


def _read_json(folder: Path, name: str) -> Any:
    path = _find(folder, name)
    if path is None:
        raise _missing(folder, name, "nor is the same with .gz")
    try:
        with unpacked(path) as stream:
            content = _read_capped(stream, path.name)
    except _UNREADABLE as problem:
        raise DataError(f"{path}: cannot be read: {problem!s:.200}; download it again") from None
    try:
        return json.loads(_decode(content, str(path)), object_pairs_hook=_unique, parse_constant=_no_number)
    except (ValueError, RecursionError) as problem:
        raise DataError(f"{path}: expected JSON, found: {problem!s:.200}; download it again") from None


def _read_capped(stream: IO[bytes] | gzip.GzipFile, name: str) -> bytes:
    content = stream.read(_LARGEST_FILE + 1)
    if len(content) > _LARGEST_FILE:
        raise DataError(f"{name}: is larger than {_LARGEST_FILE} bytes, no published file is")
    return content


def _decode(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise DataError(f"{name}: byte {problem.start} is not UTF-8 ({problem.reason}); save it as UTF-8") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for name, value in pairs:
        if name in content:
            raise ValueError(f"the key {name!r:.80} twice")
        content[name] = value
    return content


def _no_number(name: str) -> None:
    raise ValueError(f"{name}, which JSON does not have")


def _find(folder: Path, name: str) -> Path | None:
    """The plain file first: whoever unpacked it may have changed it."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _sentences_file(split: str) -> str:
    return f"{_PUBLISHED_NAME[split]}_lm.json"


def _missing(folder: Path, name: str, also: str) -> MissingError:
    origin = PUBLISHER
    if name == PROXY:
        origin = "it is made from pairwise_data of github.com/wenhuchen/Table-Fact-Checking"
    return MissingError(f"{folder / name} is not there, {also}; the publisher has it: {origin}")


def _kind(value: Any) -> str:
    """Name a value for a message without printing a megabyte.

    >>> _kind([1, 2]), _kind(None), _kind("")
    ('list [1, 2]', 'nothing (null)', "str ''")
    """
    if value is None:
        return "nothing (null)"
    shown = repr(value)
    if len(shown) > 60:
        shown = shown[:60] + "..."
    return f"{type(value).__name__} {shown}"
