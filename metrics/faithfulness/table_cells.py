"""Table cells as text for table verifiers, as the published scripts saw them through pandas.

LogicNLG's and PLOG's scripts read a table with pandas, which turns a column of numbers into numbers and back: "7.10"
becomes "7.1", "01" becomes "1", an integer in a column with an empty cell "1.0", "none" and "n/a" a missing cell.
Published values have this, and signatures call it `cells:plog`.
"""

import importlib
import io
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bench.metrics.faithfulness.checkpoints import NotApplicable
from bench.metrics.score import Gold, Row


class TableText(NamedTuple):
    """Column names, and rows of cells."""

    header: list[str]
    rows: list[list[str]]


def table_text(table: Mapping[str, Any]) -> TableText:
    """Return a table as text.

    Args:
        table: `{"header", "rows"}`, the text of the file.

    Raises:
        ValueError: pandas cannot read the table.

    >>> table_text({"header": ["region", "share"], "rows": [["aldra", "7.10"], ["sorn", ""]]}).rows
    [['aldra', '7.1'], ['sorn', 'nan']]
    """
    lines = "\n".join("#".join(row) for row in (table["header"], *table["rows"]))
    frame = importlib.import_module("pandas").read_csv(io.StringIO(lines), sep="#").reset_index(drop=True)
    # Pandas 3 leaves a missing cell a float, which is not equal to itself, where older ones wrote "nan".
    as_text = frame.astype(object).map(lambda cell: "nan" if cell != cell else str(cell))
    return TableText(list(map(str, frame.columns)), as_text.to_numpy().tolist())


def table_texts(gold: Sequence[Mapping[str, Any]]) -> list[TableText]:
    """Return the table of each row as text; equal tables are one object, read once."""
    known: dict[str, TableText] = {}
    texts = []
    for row in gold:
        key = repr(row["table"])
        if key not in known:
            known[key] = table_text(row["table"])
        texts.append(known[key])
    return texts


def with_tables(rows: Sequence[Row], gold: Gold) -> list[Mapping[str, Any]]:
    """Return the gold of each row.

    Raises:
        NotApplicable: one has no table.
    """
    fields = [gold[row["id"]] for row in rows]
    if not all(isinstance(row.get("table"), Mapping) for row in fields):
        raise NotApplicable("no table")
    return fields
