"""Table cells as text for table verifiers: as in the file, or as the published scripts saw them through pandas.

LogicNLG's and PLOG's scripts read a table with pandas, which turns a column of numbers into numbers and back: "7.10"
becomes "7.1", "01" becomes "1", an integer beside an empty cell "1.0", "none" and "n/a" a missing cell. Published
values have this, so it is the default (`plog`); `raw` keeps the text.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

__all__ = ["Cells", "TableText", "missing_tables", "table_text", "table_texts"]

Cells = Literal["plog", "raw"]


class TableText(NamedTuple):
    """Column names, and rows of cells."""

    header: list[str]
    rows: list[list[str]]


def table_text(table: Mapping[str, Any], cells: Cells = "plog") -> TableText:
    """Return a table as text.

    Args:
        table: `{"header", "rows"}`, the text of the file.
        cells: see the first lines of this file.

    Raises:
        ValueError: pandas cannot read the table, or a name of `cells` is unknown.

    >>> table = {"header": ["region", "share"], "rows": [["aldra", "7.10"], ["sorn", ""]]}
    >>> table_text(table).rows, table_text(table, "raw").rows
    ([['aldra', '7.1'], ['sorn', 'nan']], [['aldra', '7.10'], ['sorn', '']])
    """
    if cells == "raw":
        return TableText(
            [str(name) for name in table["header"]], [[str(cell) for cell in row] for row in table["rows"]]
        )
    if cells != "plog":
        raise ValueError(f"expected cells plog or raw, got {cells!r}")
    lines = "\n".join("#".join(row) for row in (table["header"], *table["rows"]))
    frame = importlib.import_module("pandas").read_csv(io.StringIO(lines), sep="#").reset_index(drop=True)
    # Pandas 3 leaves a missing cell a float where older ones wrote "nan".
    as_text = frame.astype(object).map(lambda cell: "nan" if cell != cell else str(cell))
    return TableText([str(name) for name in frame.columns], as_text.to_numpy().tolist())


def table_texts(gold: Sequence[Mapping[str, Any]], cells: Cells = "plog") -> list[TableText]:
    """Return the table of each row as text; equal tables are one object, read once."""
    known: dict[str, TableText] = {}
    for one in gold:
        key = repr(one["table"])
        if key not in known:
            known[key] = table_text(one["table"], cells)
    return [known[repr(one["table"])] for one in gold]


def missing_tables(gold: Sequence[Mapping[str, Any]]) -> str:
    """Return why rows without a table cannot be scored; empty where each has one."""
    return "" if all(isinstance(one.get("table"), Mapping) for one in gold) else "no table"
