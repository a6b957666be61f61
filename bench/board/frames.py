"""Frames: the content of a board as records, one value each, and as pandas frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bench.errors import MissingError
from bench.store.reading import readable
from bench.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "LONG",
    "ROW",
    "curve_records",
    "curves_frame",
    "frame",
    "long_frame",
    "long_records",
    "parameters_of",
    "table_of_means",
    "wide_frame",
]

ROW = ("task", "split", "rows", "preset", "method", "backbone", "decoding", "settings")
"""What names a row of a board."""

LONG = (*ROW, "metric", "mean", "half", "n_seeds", "p", "higher_is_better", "watermark", "marks", "signature", "cells")
"""Columns of the long frame: `half` of the 95 % interval over seeds, `p` of the difference from the baseline."""

CURVE = ("task", "method", "backbone", "settings", "seed", "step", "quantity", "value")


def frame(records: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Return records as a frame, a line each. Nothing but frames needs pandas.

    Args:
        records: values by column.
        columns: their names, in order.

    Raises:
        MissingError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingError(f"frames need pandas, which cannot be imported ({error}); pip install pandas") from error
    return pd.DataFrame(list(records), columns=list(columns))


def row_of(table: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what names a row of a table."""
    named = {name: table[name] for name in ("task", "split", "rows", "preset")}
    return {**named, **{name: row[name] for name in ("method", "backbone", "decoding", "settings")}}


def long_records(content: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one record for each value of a board, by the names of `LONG`; a mean that is not there is None."""
    for table in content["tables"]:
        directions = {column["name"]: column["higher_is_better"] for column in table["columns"]}
        for row in table["methods"]:
            named = row_of(table, row)
            for column, value in row["values"].items():
                yield {
                    **named,
                    "metric": column,
                    "mean": value["mean"],
                    "half": value["half"],
                    "n_seeds": value["n_seeds"],
                    "p": value["p"],
                    "higher_is_better": directions[column],
                    "watermark": table["watermark"],
                    "marks": ", ".join(row["marks"]),
                    "signature": value["signature"],
                    "cells": list(row["cells"]),
                }


def long_frame(content: Mapping[str, Any]) -> pd.DataFrame:
    """Return a frame of one line for each value."""
    return frame(long_records(content), LONG)


def wide_frame(content: Mapping[str, Any]) -> pd.DataFrame:
    """Return a frame of one line for each row of the board, with the means of its metrics as columns."""
    lines, metrics = [], dict[str, None]()
    for table in content["tables"]:
        metrics |= dict.fromkeys(column["name"] for column in table["columns"])
        for row in table["methods"]:
            means = {column: value["mean"] for column, value in row["values"].items()}
            lines.append({**row_of(table, row), "n_seeds": row["n_seeds"], "watermark": table["watermark"], **means})
    return frame(lines, [*ROW, "n_seeds", "watermark", *metrics])


def table_of_means(table: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """Return the columns and rows of one table of a board, for whoever shows tables and has no pandas.

    Behind each mean stands half of its 95 % interval over seeds, None where there is none.
    """
    metrics = [column["name"] for column in table["columns"]]
    columns = ["method", "backbone", "decoding", "settings", "n_seeds", "marks", "watermark"]
    for metric in metrics:
        columns += [metric, f"{metric} half"]
    rows = []
    for row in table["methods"]:
        line = [row["method"], row["backbone"], row["decoding"], row["settings"], row["n_seeds"]]
        line += [", ".join(row["marks"]), table["watermark"]]
        for metric in metrics:
            value = row["values"].get(metric, {})
            line += [value.get("mean"), value.get("half")]
        rows.append(line)
    return columns, rows


def curve_records(content: Mapping[str, Any], store: Store) -> Iterator[dict[str, Any]]:
    """Yield the points of the training curves of a board: `train/loss`, and what was validated, by step and seed.

    A row that only decodes another row's model, or reads its cell otherwise, has no curve of its own.
    """
    drawn = set[str]()
    for table in content["tables"]:
        for row in table["methods"]:
            trained = row["folder"].rpartition("/")[2]
            for key in row["cells"]:
                if trained != row["method"] or key in drawn:
                    continue
                drawn.add(key)
                record = readable(store, store.cell(table["task"], trained, key).trained)
                if record is not None:
                    named = {name: row[name] for name in ("method", "backbone", "settings")}
                    yield from _points({"task": table["task"], **named}, record)


def _points(named: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    train, seed = record.get("train", {}), record["config"]["seed"]
    for step, loss in train.get("curve", ()):
        yield {**named, "seed": seed, "step": step, "quantity": "train/loss", "value": loss}
    for step, columns in train.get("validation", ()):
        for column, value in columns.items():
            yield {**named, "seed": seed, "step": step, "quantity": f"validation/{column}", "value": value}


def curves_frame(records: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the frame of `curve_records`."""
    return frame(records, CURVE)


def parameters_of(content: Mapping[str, Any], store: Store) -> dict[str, int]:
    """Return the number of parameters of the trained model of each row of a board, by the row's id."""
    found = {}
    for table in content["tables"]:
        for row in table["methods"]:
            trained = row["folder"].rpartition("/")[2]
            for key in row["cells"][:1]:
                record = readable(store, store.cell(table["task"], trained, key).trained)
                if record is not None and "parameters" in record.get("model", {}):
                    found[row["id"]] = int(record["model"]["parameters"])
    return found
