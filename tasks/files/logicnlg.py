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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

from bench.errors import DataError, MissingError
from bench.tasks.core.example import Example
from bench.tasks.files.bad_rows import BadRow, Skipped
from bench.tasks.files.tables import Table, read_table

__all__ = ["Skipped", "SplitName", "Train", "linked_columns", "missing_files", "read_pairs", "read_split"]

SplitName = Literal["train", "valid", "test"]
Train = Literal["official", "proxy"]

PUBLISHER = "github.com/wenhuchen/LogicNLG, folder data (tables: all_csv.zip there)"
PROXY = "train_proxy_tabfact_pairs.json"
TITLES = "table_to_page.json"
PAIRS = ("test_lm_pos_neg.json", "val_lm_pos_neg.json")
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
    split: SplitName,
    train: Train = "official",
    lower_case: bool | None = None,
    skipped: list[Skipped] | None = None,
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
        skipped: collects unusable training rows, which raise when this is None. Valid and test always raise.

    Raises:
        MissingError: a file is not there.
        DataError: a file or a row cannot be used; the message names both.
    """
    proxy = split == "train" and train == "proxy"
    reader = _Reader(folder, lower_case=train == "proxy" if lower_case is None else lower_case)
    rows, file = (_proxy_rows(folder), PROXY) if proxy else (_published_rows(folder, split), _sentences_file(split))
    path = _find(folder, file) or folder / file
    kept, tables = [], set()
    for row in rows:
        try:
            tables.add(_checked_text(row.table_id, "a table's file name"))
            kept.append(reader.example(row))
        except BadRow as problem:
            if split != "train" or skipped is None:
                raise DataError(f"{path}, {row.where}: {problem}") from None
            skipped.append(Skipped(path.name, row.where, str(problem)))
    if not kept:
        raise DataError(f"{path}: expected sentences, found no usable one; download it again")
    _check_tables(folder, split, tables, complete=not proxy)
    return _with_references(kept)


def read_pairs(folder: Path) -> list[tuple[Example, bool]]:
    """Read true sentences, each followed by its corrupted twin, of the test split, or of valid where test has none.

    Returns:
        Examples as `read_split` makes them, without references, and whether the sentence is true.

    Raises:
        MissingError: a file is not there.
        DataError: a file or a row cannot be used; the message names both.
    """
    name = next((name for name in PAIRS if _find(folder, name)), PAIRS[0])
    content, reader, found = _read_json(folder, name), _Reader(folder, lower_case=False), []
    expected = "{table: [{pos: [sentence, columns, title, template], neg: [...]}, ...]}"
    try:
        for table_id, pairs in content.items():
            for number, pair in enumerate(pairs):
                for side in ("pos", "neg"):
                    sentence, columns, title, _ = pair[side]
                    example = reader.example(_Row("", number, table_id, sentence, columns, title))
                    found.append((replace(example, id=f"{example.id}/{side}"), side == "pos"))
    except (AttributeError, KeyError, TypeError, ValueError, BadRow) as problem:
        where = f"after {len(found)} sentences"
        raise DataError(f"{folder / name}, {where}: expected {expected}: {problem!s:.200}") from None
    return found


def missing_files(folder: Path, train: Train = "official") -> dict[SplitName, list[str]]:
    """Return for each split which of the files it needs are not in the folder; an empty list means it can be read."""
    needed: dict[SplitName, list[str]] = {
        "train": [PROXY, TITLES] if train == "proxy" else [_sentences_file("train")],
        "valid": [_sentences_file("valid")],
        "test": [_sentences_file("test")],
    }
    tables = [] if (folder / "all_csv").is_dir() or (folder / "all_csv.zip").is_file() else ["all_csv.zip"]
    return {split: [*(name for name in names if _find(folder, name) is None), *tables]
            for split, names in needed.items()}  # fmt: skip


def linked_columns(table: Table, sentence: str) -> tuple[int, ...]:
    """Guess which columns a sentence speaks of: the proxy does not say.

    A column is linked when its name or one of its cells stands in the sentence word for word, or when a word of four
    letters or more of a cell does; a plural -s does not count. On LogicNLG's valid sentences, whose columns are
    published, 84 % of the columns found are right and 85 % of the right ones are found.

    >>> linked_columns(Table(("player", "goals", "club"), (("ada lund", "7", "vale"),)), "lund scored 7 goal")
    (0, 1)
    """
    words = _words(sentence)
    text, single = f" {' '.join(words)} ", {word for word in words if len(word) >= 4 and not word.isdigit()}

    def spoken(words: list[str]) -> bool:
        return bool(words) and f" {' '.join(words)} " in text

    return tuple(
        column
        for column, name in enumerate(table.header)
        if spoken(_words(name)) or any(spoken(cell) or single & set(cell) for cell in _cells(table, column))
    )


def _cells(table: Table, column: int) -> Iterator[list[str]]:
    return (_words(row[column]) for row in table.rows)


def _words(text: str) -> list[str]:
    words = re.findall(r"\w+", text.lower())
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words]


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
        columns = linked_columns(table, sentence) if row.columns is None else _checked_columns(row.columns, table)
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
        raise _missing(folder, "all_csv.zip", "or the unpacked folder all_csv")
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
        return path.read_bytes()
    except _UNREADABLE as problem:  # ValueError: a NUL in the name
        raise DataError(f"table '{path.name:.80}' cannot be read from all_csv: {problem!s:.200}") from None


def _archive_bytes(archive: zipfile.ZipFile, places: dict[str, str], table_id: str) -> bytes:
    if table_id not in places:
        raise DataError(f"table '{table_id:.80}' is not in all_csv.zip, which has {len(places)} tables")
    try:
        with archive.open(places[table_id]) as stream:
            return _read_capped(stream, f"table '{table_id:.80}'")
    except _UNREADABLE as problem:
        raise DataError(f"table '{table_id:.80}' cannot be unpacked from all_csv.zip: {problem!s:.200}") from None


def _published_rows(folder: Path, split: SplitName) -> Iterator[_Row]:
    """{table: [[sentence, columns, title, template], ...]}"""
    name = _sentences_file(split)
    content = _read_json(folder, name)
    if not isinstance(content, dict):
        raise DataError(f"{folder / name}: expected {{table: [row, ...]}}, found {_kind(content)}")
    for table_id, rows in content.items():
        if not isinstance(rows, list) or not rows:
            raise DataError(f"{folder / name}, table '{table_id:.80}': expected a list of rows, found {_kind(rows)}")
        for number, row in enumerate(rows):
            where = f"table '{table_id:.80}', row {number}"
            wrong = _Wrong(row, "[sentence, columns, title, template]")
            parts = row if isinstance(row, list) and len(row) == 4 else [wrong] * 4
            yield _Row(where, number, table_id, *parts[:3])


def _proxy_rows(folder: Path) -> Iterator[_Row]:
    """[[table, true statement, false statement], ...]; the false ones, some of them junk, are not used."""
    content, titles = _read_json(folder, PROXY), _read_json(folder, TITLES)
    for name, value, wanted in ((PROXY, content, list), (TITLES, titles, dict)):
        if not isinstance(value, wanted):
            raise DataError(f"{folder / name}: expected a JSON {wanted.__name__}, found {_kind(value)}")
    n_rows: Counter[str] = Counter()  # of each table so far
    for number, row in enumerate(content):
        wrong = _Wrong(row, "[table, true statement, false statement]")
        table_id, sentence, _ = row if isinstance(row, list) and len(row) == 3 else [wrong] * 3
        page = titles.get(table_id) if isinstance(table_id, str) else None
        title = page[0] if isinstance(page, list) and page else page
        yield _Row(f"row {number}", n_rows[str(table_id)], table_id, sentence, None, title)
        n_rows[str(table_id)] += 1


class _Wrong(NamedTuple):
    """Stands in every part of what is no row, so that it is reported where parts are checked."""

    row: Any
    expected: str


def _checked_text(value: Any, what: str) -> str:
    if isinstance(value, _Wrong):
        raise BadRow(f"expected {value.expected}, found {_kind(value.row)}")
    if not isinstance(value, str):
        raise BadRow(f"expected {what}, found {_kind(value)}")
    if not value.strip():
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


def _check_tables(folder: Path, split: SplitName, tables: set[str], complete: bool) -> None:
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
        raise _missing(folder, name, "or the same with .gz")
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
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
    content = dict(pairs)
    if len(content) < len(pairs):
        twice = next(name for name, n in Counter(name for name, _ in pairs).items() if n > 1)
        raise ValueError(f"the key {twice!r:.80} twice")
    return content


def _no_number(name: str) -> None:
    raise ValueError(f"{name}, which JSON does not have")


def _find(folder: Path, name: str) -> Path | None:
    """The plain file first: whoever unpacked it may have changed it."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _sentences_file(split: SplitName) -> str:
    return f"{_PUBLISHED_NAME[split]}_lm.json"


def _missing(folder: Path, name: str, other: str) -> MissingError:
    origin = "it is made from pairwise_data of github.com/wenhuchen/Table-Fact-Checking" if name == PROXY else PUBLISHER
    return MissingError(f"{folder / name} is not there, {other}; the publisher has it: {origin}")


def _kind(value: Any) -> str:
    """Name a value for a message without printing a megabyte.

    >>> _kind([1, 2]), _kind(None), _kind("")
    ('list [1, 2]', 'nothing (null)', "str ''")
    """
    if value is None:
        return "nothing (null)"
    shown = repr(value)
    return f"{type(value).__name__} {shown if len(shown) <= 60 else shown[:60] + '...'}"
