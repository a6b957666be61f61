"""Frames: training curves and comparisons of a board as pandas frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bench.errors import UsageError, did_you_mean
from bench.leaderboards.audit import CellRecord, audit, only_the_objective
from bench.leaderboards.row import TableRow
from bench.leaderboards.statistics.analysis import adjusted, differences
from bench.leaderboards.table import Table
from bench.store.reading import read_cell, readable
from bench.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

CURVE = ("task", "method", "backbone", "settings", "seed", "step", "quantity", "value")


def curves_frame(content: Mapping[str, Any], store: Store) -> pd.DataFrame:
    """Return the points of the training curves of a board: `train/loss` and validation metrics, by step and seed.

    A row that evaluates the model of another row has no curve.
    """
    import pandas as pd

    points, drawn = [], set[str]()
    rows = [(table["task"], row) for table in content["tables"] for row in table["methods"]]
    for task, row in rows:
        trained = row["folder"].rpartition("/")[2]
        for key in row["cells"] if trained == row["method"] else ():
            record = None if key in drawn else readable(store, store.cell(task, trained, key).trained)
            drawn.add(key)
            if record is None:
                continue
            train, about = record.get("train", {}), {name: row[name] for name in ("method", "backbone", "settings")}
            curves = [(step, "train/loss", loss) for step, loss in train.get("curve", ())]
            for step, columns in train.get("validation", ()):
                curves += [(step, f"validation/{name}", value) for name, value in columns.items()]
            for step, quantity, value in curves:
                of_point = {"seed": record["config"]["seed"], "step": step, "quantity": quantity, "value": value}
                points.append({"task": task, **about, **of_point})
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

    lines, pairs = [], []
    for table in tables:
        alike = [
            (ours, theirs)
            for ours in table.rows
            for theirs in table.rows
            if (ours.method, theirs.method) == (first, second)
            and (ours.backbone, ours.decoding) == (theirs.backbone, theirs.decoding)
        ]
        for ours, theirs in alike:
            fair = _only_the_objective(store, table, ours, theirs)
            for metric, value in ours.values.items():
                other = theirs.values.get(metric)
                if value.mean is None or other is None or other.mean is None:
                    continue
                pairs.append((value, other))
                lines.append(
                    {
                        "task": table.task,
                        "split": table.split,
                        "rows": table.n,
                        "preset": table.preset,
                        "backbone": ours.backbone,
                        "decoding": ours.decoding,
                        "metric": metric,
                        "first": value.mean,
                        "second": other.mean,
                        "n_seeds": len(value.by_seed.keys() & other.by_seed.keys()),
                        "higher_is_better": value.higher_is_better,
                        "only_the_objective": fair,
                        "watermark": table.watermark,
                    }
                )
    if not lines:
        methods = {row.method for table in tables for row in table.rows}
        missing = [name for name in (first, second) if name not in methods]
        hint = did_you_mean(missing[0], methods) if missing else "; they share no table, backbone and decoding"
        raise UsageError(f"the board cannot compare '{first}' with '{second}'{hint}")
    found = pd.concat([pd.DataFrame(lines), differences(pairs)], axis=1)
    return found.assign(p=adjusted(found["p"]), p_items=adjusted(found["p_items"]))


def _only_the_objective(store: Store, table: Table, ours: TableRow, theirs: TableRow) -> bool | None:
    """Return whether the runs of two rows differ in nothing else, over the seeds that both have; None without any."""
    first, second = (_by_seed(store, table, row) for row in (ours, theirs))
    shared = sorted(first.keys() & second.keys())
    return all(only_the_objective(audit(first[seed], second[seed])) for seed in shared) if shared else None


def _by_seed(store: Store, table: Table, row: TableRow) -> dict[int, CellRecord]:
    records = {}
    for key in sorted(row.keys):
        cell = store.cell(table.task, row.config["method"], key)
        trained = readable(store, cell.trained)
        if trained is not None:
            evaluations = [score["of"] for score in read_cell(store, cell).scores]
            records[trained["config"]["seed"]] = CellRecord(trained, cell.provenance(), evaluations)
    return records
