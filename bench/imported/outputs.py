"""Outputs: the texts that another system generated, one for each row of a split."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.errors import DataError, MissingError
from bench.tasks.files.bad_rows import BadRow, BadRows
from bench.tasks.files.lines import decoded, lines, unpacked
from bench.tasks.files.records import read_records


def read_outputs(path: Path, ids: Sequence[str]) -> dict[str, str]:
    """Return the text of every row, in the order of the split, without surrounding white space.

    Forms, by the file's name, each packed with gzip or not:

    `.jsonl`: records with `text` and `id`, in any order; or all without `id`, in the order of the split.
    `.json`: texts by id, or lists of texts by the first part of their ids: `{"a": ["x", "y"]}` has the rows `a/0` and
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
    texts: dict[str, str] = {}
    known, has_ids = set(ids), None
    for number, (where, name, text) in enumerate(_outputs(path)):
        if has_ids is not None and has_ids != bool(name):
            raise DataError(f"{path}, {where}: expected an id in every row or in none")
        has_ids = bool(name)
        if not has_ids:
            name = ids[number] if number < len(ids) else f"number {number + 1}"
        if name not in known:
            raise DataError(
                f"{path}, {where}: the split has no row '{name:.80}', only {len(ids):,}, such as '{ids[0]:.80}'"
            )
        if name in texts:
            raise DataError(f"{path}, {where}: the row '{name:.80}' is there twice")
        texts[name] = text
    if missing := [name for name in ids if name not in texts]:
        raise DataError(
            f"{path}: expected a text for each of the {len(ids):,} rows of the split, found {len(texts):,}; the first "
            f"row without one is '{missing[0]}'"
        )
    return {name: texts[name] for name in ids}


def _outputs(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the texts of a file in its order: the place of each, the id of its row or nothing, and the text."""
    form = path.name.lower().removesuffix(".gz")
    if form.endswith((".jsonl", ".ndjson")):
        columns, optional = {"text": "text"}, {"id": "id"}
        for record in read_records(path, BadRows("test"), columns=columns, optional=optional, may_be_empty=True):
            yield record.row, record.texts["id"].strip(), record.texts["text"].strip()
    elif form.endswith(".json"):
        for name, texts in _object(path):
            single = not isinstance(texts, list)
            for number, text in enumerate([texts] if single else texts):
                row = name if single else f"{name}/{number}"
                if not isinstance(text, str) or re.search("[\0\ud800-\udfff]", text):
                    raise DataError(f"{path}, '{row:.80}': expected a text, found {type(text).__name__} {text!r:.60}")
                yield f"'{row:.80}'", row, text.strip()
    else:
        for number, line in lines(path):
            yield f"line {number}", "", line.strip()


def _object(path: Path) -> list[tuple[str, Any]]:
    """Return the names and values of a JSON object, in order, repeated names included."""
    try:
        with unpacked(path) as stream:
            content = decoded(stream.read(), first=True)
        loaded = json.loads(content, object_pairs_hook=lambda pairs: pairs)
        if not content.lstrip().startswith("{"):
            raise BadRow("it is no object")
        return list(loaded)
    except FileNotFoundError as problem:
        raise MissingError(f"{path}: cannot be read ({problem.strerror})") from None
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as problem:
        raise DataError(f"{path}: expected JSON with texts by the ids of rows, found: {problem!s:.150}") from None
