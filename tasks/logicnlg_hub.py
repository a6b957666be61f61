"""LogicNLG from the hub, put into the cache in the publisher's own form.

Source: https://huggingface.co/datasets/kasnerz/logicnlg (parquet; 28,450 / 4,260 / 4,305 rows). Columns are strings:
`table` and `linked_columns` are written as Python lists, the table's first row is its header.
"""

from __future__ import annotations

import ast
import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bench.errors import DataError, MissingError

REPOSITORY = "kasnerz/logicnlg"
FILES = {"train": "train_lm.json", "validation": "val_lm.json", "test": "test_lm.json"}


def fetch(folder: Path) -> str:
    """Download all splits and write them to `folder`, whole or not at all.

    Args:
        folder: the task's folder in the cache; must not be there yet.

    Returns:
        Where the rows are from, for people.

    Raises:
        MissingError: the hub cannot give them.
        DataError: its rows do not have the form they should have.
    """
    from datasets import load_dataset

    unfinished = folder.with_name(f".{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    (unfinished / "all_csv").mkdir(parents=True)
    for split, file in FILES.items():
        try:
            rows = load_dataset(REPOSITORY, split=split)
        except Exception as error:  # the library has no common class for what can go wrong on the way
            raise MissingError(f"the hub cannot give {REPOSITORY}: {str(error).splitlines()[0]}") from error
        sentences = write_tables(rows, unfinished / "all_csv", split)
        (unfinished / file).write_text(json.dumps(sentences), encoding="utf-8")
    unfinished.rename(folder)
    return f"hub: {REPOSITORY}, kept in {folder}"


def write_tables(rows: Iterable[Mapping[str, Any]], folder: Path, split: str) -> dict[str, list[list[Any]]]:
    """Write each table once, `#`-separated; return its sentences as the publisher groups them."""
    sentences: dict[str, list[list[Any]]] = {}
    for number, row in enumerate(rows):
        try:
            name, table, columns = (
                row["table_id"],
                ast.literal_eval(row["table"]),
                ast.literal_eval(row["linked_columns"]),
            )
            text = "\n".join("#".join(str(cell).replace("#", " ") for cell in line) for line in table) + "\n"
            sentence = [row["ref"], [int(column) for column in columns], row["title"], row["template"]]
        except (KeyError, ValueError, SyntaxError, TypeError) as error:
            raise DataError(f"{REPOSITORY}, {split}, row {number}: {type(error).__name__}: {error}; expected a table "
                            f"and linked columns written as Python lists") from error  # fmt: skip
        if Path(name).name != name:
            raise DataError(f"{REPOSITORY}, {split}, row {number}: '{name}' is no file name")
        if name not in sentences:
            (folder / name).write_text(text, encoding="utf-8")
        sentences.setdefault(name, []).append(sentence)
    return sentences
