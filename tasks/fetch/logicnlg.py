"""LogicNLG's rows of the hub, put into the cache in the publisher's own form.

Source: https://huggingface.co/datasets/kasnerz/logicnlg (parquet; 28,450 / 4,260 / 4,305 rows). Columns are strings:
`table` and `linked_columns` are written as Python lists, the table's first row is its header.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.errors import DataError
from bench.tasks.fetch import hub
from bench.tasks.fetch.hub_copies import HUB
from bench.tasks.files.records import read_all

COPY = HUB["logicnlg"]
FILES = {"train": "train_lm.json", "validation": "val_lm.json", "test": "test_lm.json"}


def fetch(folder: Path) -> str:
    """Download all splits and write them to `folder`, whole or not at all; see `hub.fetch`."""
    return hub.fetch(COPY, folder, convert=write_tables)


def write_tables(folder: Path) -> None:
    """Replace the parquet files of a folder by the publisher's: tables, and sentences as the publisher groups them.

    Raises:
        DataError: a row does not have the expected form.
    """
    (folder / "all_csv").mkdir()
    for split, name in FILES.items():
        files = sorted(folder.glob(f"{split}-*.parquet"))
        _write_split(files, folder / "all_csv", folder / name, split)
        for file in files:
            file.unlink()


def _write_split(files: Sequence[Path], tables: Path, path: Path, split: str) -> None:
    """Write each table of a split once, `#`-separated, and its sentences."""
    sentences: dict[str, list[list[Any]]] = {}
    for _, number, record in read_all(files, columns={}):
        row = record.values
        where = f"{COPY.repository}, {split}, row {number}"
        try:
            name, columns = str(row["table_id"]), ast.literal_eval(row["linked_columns"])
            text = "".join(map(_table_line, ast.literal_eval(row["table"])))
            sentence = [row["ref"], [int(column) for column in columns], row["title"], row["template"]]
        except (KeyError, ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
            expected = "a table and linked columns written as Python lists"
            raise DataError(f"{where}: {type(error).__name__}: {error}; expected {expected}") from error
        if not re.fullmatch(r"[^/\\\0]{1,200}", name) or name in (".", ".."):
            raise DataError(f"{where}: '{name}' is not a file name")
        if name not in sentences:
            (tables / name).write_text(text, encoding="utf-8")
        sentences.setdefault(name, []).append(sentence)
    path.write_text(json.dumps(sentences), encoding="utf-8")


def _table_line(cells: Iterable[Any]) -> str:
    return "#".join(str(cell).replace("#", " ") for cell in cells) + "\n"
