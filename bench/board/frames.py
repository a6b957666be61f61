"""Frames: the content of a board as pandas frames of one line each value, or each row, and its training curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bench.store.reading import readable
from bench.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LONG", "ROW", "curves_frame", "long_frame", "parameters_of", "wide_frame"]

ROW = ("task", "split", "rows", "preset", "method", "backbone", "decoding", "settings")
"""What names a row of a board."""

LONG = (*ROW, "metric", "mean", "half", "n_seeds", "p", "higher_is_better", "watermark", "marks", "signature", "cells")
"""Columns of the long frame: `half` of the 95 % interval over seeds, `p` of the difference from the baseline."""

CURVE = ("task", "method", "backbone", "settings", "seed", "step", "quantity", "value")


def rows_of(content: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any], dict[str, Any]]]:
    """Yield every row of a board with its table and with what names the row."""
    for table in content["tables"]:
        for row in table["methods"]:
            yield table, row, {name: (table if name in ROW[:4] else row)[name] for name in ROW}


def long_frame(content: Mapping[str, Any]) -> pd.DataFrame:
    """Return a frame of one line for each value; a mean that is not there is None."""
    import pandas as pd

    records = []
    for table, row, named in rows_of(content):
        directions = {column["name"]: column["higher_is_better"] for column in table["columns"]}
        for column, value in row["values"].items():
            records.append(
                {
                    **named,
                    "metric": column,
                    **{name: value[name] for name in ("mean", "half", "n_seeds", "p", "signature")},
                    "higher_is_better": directions[column],
                    "watermark": table["watermark"],
                    "marks": ", ".join(row["marks"]),
                    "cells": list(row["cells"]),
                }
            )
    return pd.DataFrame(records, columns=list(LONG))


def wide_frame(content: Mapping[str, Any]) -> pd.DataFrame:
    """Return a frame of one line for each row of the board, with the means of its metrics as columns."""
    import pandas as pd

    lines = []
    for table, row, named in rows_of(content):
        means = {column: value["mean"] for column, value in row["values"].items()}
        lines.append({**named, "n_seeds": row["n_seeds"], "watermark": table["watermark"], **means})
    metrics = dict.fromkeys(column["name"] for table in content["tables"] for column in table["columns"])
    return pd.DataFrame(lines, columns=[*ROW, "n_seeds", "watermark", *metrics])


def curves_frame(content: Mapping[str, Any], store: Store) -> pd.DataFrame:
    """Return the points of the training curves of a board: `train/loss`, and what was validated, by step and seed.

    A row that only decodes another row's model, or reads its run otherwise, has no curve of its own.
    """
    import pandas as pd

    points, drawn = [], set[str]()
    for table, row, named in rows_of(content):
        trained = row["folder"].rpartition("/")[2]
        for key in row["cells"]:
            if trained != row["method"] or key in drawn:
                continue
            drawn.add(key)
            record = readable(store, store.cell(table["task"], trained, key).trained)
            if record is None:
                continue
            train, of_run = record.get("train", {}), {**named, "seed": record["config"]["seed"]}
            for step, loss in train.get("curve", ()):
                points.append({**of_run, "step": step, "quantity": "train/loss", "value": loss})
            for step, columns in train.get("validation", ()):
                for name, value in columns.items():
                    points.append({**of_run, "step": step, "quantity": f"validation/{name}", "value": value})
    return pd.DataFrame(points, columns=list(CURVE))


def parameters_of(content: Mapping[str, Any], store: Store) -> dict[str, int]:
    """Return the number of parameters of the trained model of each row of a board, by the row's id."""
    found = {}
    for table, row, _ in rows_of(content):
        trained = row["folder"].rpartition("/")[2]
        for key in row["cells"][:1]:
            record = readable(store, store.cell(table["task"], trained, key).trained)
            if record is not None and "parameters" in record.get("model", {}):
                found[row["id"]] = int(record["model"]["parameters"])
    return found
