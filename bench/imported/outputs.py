"""Outputs: the texts that another system wrote for the rows of a split, checked to be exactly these rows."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.errors import DataError, MissingError
from bench.tasks.files.bad_rows import BadRow, BadRows
from bench.tasks.files.lines import LONGEST_LINE, decoded, lines, unpacked
from bench.tasks.files.records import read_records

__all__ = ["read_outputs"]


class Output(NamedTuple):
    """A text, where it stands in its file, and the id of its row, empty where the order says it."""

    where: str
    id: str
    text: str


def read_outputs(path: Path, ids: Sequence[str]) -> dict[str, str]:
    """Return the text of every row, in the order of the split, without white space around.

    Forms, by the file's name, each packed with gzip or not:

    `.jsonl`: records with `text` and `id`, in any order; or all without `id`, in the order of the split.
    `.json`: texts by id, or lists of texts by the first part of their ids: `{"a": ["x", "y"]}` is of the rows `a/0` and
    `a/1`, as outputs for LogicNLG are published.
    Any other: one text a line, in the order of the split; an empty line is an empty text.

    Args:
        path: the file.
        ids: of the rows of the split, in order.

    Raises:
        MissingError: the file cannot be opened.
        DataError: it cannot be read, or has not exactly one text for each row; the message names the first row that is
            missing, unknown or there twice.
    """
    outputs = list(_outputs(path))
    n_named = sum(bool(output.id) for output in outputs)
    if not n_named:
        return _in_order(path, outputs, ids)
    if n_named < len(outputs):
        first = next(output for output in outputs if not output.id)
        raise DataError(f"{path}, {first.where}: has no id; expected one in every row or in none")
    return _by_id(path, outputs, ids)


def _in_order(path: Path, outputs: Sequence[Output], ids: Sequence[str]) -> dict[str, str]:
    if len(outputs) < len(ids):
        raise DataError(
            f"{path}: expected {len(ids):,} texts, one for each row of the split in its order, found {len(outputs):,}; "
            f"the first row without one is '{ids[len(outputs)]}'"
        )
    if len(outputs) > len(ids):
        raise DataError(
            f"{path}, {outputs[len(ids)].where}: is of no row; expected {len(ids):,} texts, one for each row of the "
            f"split in its order, found {len(outputs):,}"
        )
    return {name: output.text for name, output in zip(ids, outputs, strict=True)}


def _by_id(path: Path, outputs: Sequence[Output], ids: Sequence[str]) -> dict[str, str]:
    known, found = set(ids), dict[str, Output]()
    for output in outputs:
        if output.id not in known:
            raise DataError(f"{path}, {output.where}: the split has no row '{output.id:.80}', only {_some(ids)}")
        if output.id in found:
            raise DataError(f"{path}, {output.where}: has the row '{output.id:.80}' that {found[output.id].where} has")
        found[output.id] = output
    missing = [name for name in ids if name not in found]
    if missing:
        raise DataError(
            f"{path}: expected a text for each of the {len(ids):,} rows of the split, found {len(found):,}; the first "
            f"row without one is '{missing[0]}'"
        )
    return {name: found[name].text for name in ids}


def _some(ids: Sequence[str]) -> str:
    """Show what ids look like."""
    return f"{len(ids):,} rows such as '{ids[0]:.80}'"


def _outputs(path: Path) -> Iterator[Output]:
    """Yield the texts of a file in its order."""
    form = path.name.lower().removesuffix(".gz")
    if form.endswith((".jsonl", ".ndjson")):
        return _records(path)
    if form.endswith(".json"):
        return _object(path)
    return (Output(f"line {number}", "", line.strip()) for number, line in lines(path))


def _records(path: Path) -> Iterator[Output]:
    columns, optional = {"text": "text"}, {"id": "id"}
    for row in read_records(path, BadRows("test"), columns=columns, optional=optional, may_be_empty=True):
        yield Output(row.row, row.texts["id"].strip(), row.texts["text"].strip())


def _object(path: Path) -> Iterator[Output]:
    for name, texts in _loaded(path).items():
        if not isinstance(texts, list):
            yield Output(f"'{name:.80}'", name, _checked(path, name, texts))
            continue
        for number, text in enumerate(texts):
            row = f"{name}/{number}"
            yield Output(f"'{row:.80}'", row, _checked(path, row, text))


def _loaded(path: Path) -> dict[str, Any]:
    try:
        with unpacked(path) as stream:
            content = decoded(stream.read(LONGEST_LINE + 1), LONGEST_LINE, first=True)
        loaded = json.loads(content, object_pairs_hook=_unique)
        if not isinstance(loaded, dict):
            raise BadRow("it is no object")
        return loaded
    except FileNotFoundError as problem:
        raise MissingError(f"{path}: cannot be read ({problem.strerror})") from None
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as problem:
        raise DataError(f"{path}: expected JSON with texts by the ids of rows, found: {problem!s:.150}") from None


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for name, value in pairs:
        if name in content:
            raise BadRow(f"the row '{name:.80}' is there twice")
        content[name] = value
    return content


def _checked(path: Path, row: str, text: Any) -> str:
    if not isinstance(text, str) or re.search("[\0\ud800-\udfff]", text):
        raise DataError(f"{path}, '{row:.80}': expected a text, found {type(text).__name__} {text!r:.60}")
    return text.strip()
