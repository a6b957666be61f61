"""Frames: values, rows, training curves and comparisons of a board as pandas frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bench.errors import UsageError, did_you_mean
from bench.leaderboards.audit import CellRecord, audit, only_the_objective
from bench.leaderboards.render.formats import ROW, rows_of
from bench.leaderboards.row import TableRow
from bench.leaderboards.statistics.analysis import Difference, differences, with_holm
from bench.leaderboards.table import Table
from bench.store.reading import read_cell, readable
from bench.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

CURVE = ("task", "method", "backbone", "settings", "seed", "step", "quantity", "value")


def wide_frame(content: Mapping[str, Any]) -> pd.DataFrame:
    """Return a frame with a line for each row of the board and the means of its metrics as columns."""
    import pandas as pd

    lines = []
    for table, row, named in rows_of(content):
        means = {column: value["mean"] for column, value in row["values"].items()}
        lines.append({**named, "n_seeds": row["n_seeds"], "watermark": table["watermark"], **means})
    metrics = dict.fromkeys(column["name"] for table in content["tables"] for column in table["columns"])
    return pd.DataFrame(lines, columns=[*ROW, "n_seeds", "watermark", *metrics])


def curves_frame(content: Mapping[str, Any], store: Store) -> pd.DataFrame:
    """Return the points of the training curves of a board: `train/loss` and validation metrics, by step and seed.

    A row that evaluates the model of another row has no curve.
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


def comparison_frame(store: Store, tables: Sequence[Table], first: str, second: str) -> pd.DataFrame:
    """Return the differences of two methods in every table that has both, on the same backbone and decoding.

    `difference` is the mean of the first less the second over the seeds that both have, with its 95 % t interval
    (`low`, `high`) and the p-value of the t test (`p`), from three seeds on. `p_items` is the p-value of the paired
    randomisation test over test items, where the metric is a sum over items: it says that these trained models differ,
    not that another seed would. Both are corrected by Holm over all metrics of the tables, also those that
    `Board.compare` leaves out. `only_the_objective` is the verdict of `bench compare` on the runs of these seeds.

    Args:
        store: of the tables.
        tables: of a board.
        first, second: names of methods.

    Raises:
        UsageError: no table has both.
    """
    import pandas as pd

    records = [
        record
        for table in tables
        for ours in table.rows
        for theirs in table.rows
        if (ours.method, theirs.method) == (first, second)
        and (ours.backbone, ours.decoding) == (theirs.backbone, theirs.decoding)
        for record in _differences(store, table, ours, theirs)
    ]
    if not records:
        methods = {row.method for table in tables for row in table.rows}
        missing = [name for name in (first, second) if name not in methods]
        hint = did_you_mean(missing[0], methods) if missing else "; they share no table, backbone and decoding"
        raise UsageError(f"the board cannot compare '{first}' with '{second}'{hint}")
    corrected = with_holm([Difference(**{name: record[name] for name in vars(Difference())}) for record in records])
    return pd.DataFrame([{**record, **vars(known)} for record, known in zip(records, corrected, strict=True)])


def _differences(store: Store, table: Table, ours: TableRow, theirs: TableRow) -> Iterator[dict[str, Any]]:
    """Yield the metrics of two rows with their differences, whose p-values are not corrected."""
    ours_by_seed, theirs_by_seed = _by_seed(store, table, ours), _by_seed(store, table, theirs)
    shared = sorted(ours_by_seed.keys() & theirs_by_seed.keys())
    fair = all(only_the_objective(audit(ours_by_seed[seed], theirs_by_seed[seed])) for seed in shared)
    pairs = {
        metric: (value, theirs.values[metric])
        for metric, value in ours.values.items()
        if metric in theirs.values and None not in (value.mean, theirs.values[metric].mean)
    }
    for (metric, (value, other)), known in zip(pairs.items(), differences(list(pairs.values())), strict=True):
        yield {
            "task": table.task,
            "split": table.split,
            "rows": table.n,
            "preset": table.preset,
            "backbone": ours.backbone,
            "decoding": ours.decoding,
            "metric": metric,
            "first": value.mean,
            "second": other.mean,
            **vars(known or Difference()),
            "n_seeds": len(value.by_seed.keys() & other.by_seed.keys()),
            "higher_is_better": value.higher_is_better,
            "only_the_objective": fair if shared else None,
            "watermark": table.watermark,
        }


def _by_seed(store: Store, table: Table, row: TableRow) -> dict[int, CellRecord]:
    records = {}
    for key in sorted(row.keys):
        cell = store.cell(table.task, row.config["method"], key)
        trained = readable(store, cell.trained)
        if trained is not None:
            evaluations = [score["of"] for score in read_cell(store, cell).scores]
            records[trained["config"]["seed"]] = CellRecord(trained, cell.provenance(), evaluations)
    return records
