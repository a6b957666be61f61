"""Frame: every number of a store as a line of one tidy pandas frame; the values of tables are groups of its lines.

A line has the task, split, method, backbone, decoding, seed, sampling seed, metric, value and signature of one stored
number; `table` and `row` are the table and the row that it belongs to. A metric without a value has a line, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bench.leaderboards.row import StoredSums, Value

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["COLUMNS", "column_name", "frame_of", "values_of"]

COLUMNS = (
    "table",
    "row",
    "task",
    "split",
    "method",
    "backbone",
    "decoding",
    "seed",
    "sampling_seed",
    "metric",
    "signature",
    "value",
    "higher_is_better",
    "reason",
    "sums",
)
Line = tuple[int, int, str, str, str, str, str, int, int, str, str, float | None, bool | None, str, StoredSums | None]
"""One stored number, by `COLUMNS`; `row` is the number of its row."""


def frame_of(lines: Sequence[Line]) -> pd.DataFrame:
    """Return stored numbers as a frame, with the `column` of a table that each belongs to.

    A metric that has several signatures in one table has a column for each.
    """
    import pandas as pd

    frame = pd.DataFrame(lines, columns=list(COLUMNS)).astype({"value": float})
    named = [
        (table, metric, signature, column_name(metric, signature, signatures))
        for (table, metric), signatures in frame.groupby(["table", "metric"])["signature"].unique().items()
        for signature in signatures
    ]
    columns = pd.DataFrame(named, columns=["table", "metric", "signature", "column"])
    return frame.merge(columns, on=["table", "metric", "signature"])


def column_name(metric: str, signature: str, signatures: Iterable[str]) -> str:
    """Return the column of a metric under one of its signatures, named by what differs where there are several.

    >>> column_name("bleu-1", "bleu|V:1", ["bleu|V:1", "bleu|V:2"]), column_name("bleu-1", "bleu|V:1", ["bleu|V:1"])
    ('bleu-1 [V:1]', 'bleu-1')
    """
    parts = [set(text.split("|")) for text in signatures]
    if len(parts) == 1:
        return metric
    shared = set.intersection(*parts)
    own = [part for part in signature.split("|") if part not in shared]
    return f"{metric} [{'|'.join(own)}]"


def values_of(frame: pd.DataFrame) -> dict[int, dict[str, Value]]:
    """Return the values of every row by column, in the order of the lines.

    Two different numbers of one seed and sampling seed, or a number and none, are a conflict and are shown as one.
    """
    place, key = ["row", "column"], ["row", "column", "seed", "sampling_seed"]
    numbers = frame.drop_duplicates([*key, "value"], keep="last")
    unlike = numbers[numbers.duplicated(key)]
    conflicts = set(zip(unlike["row"], unlike["column"], strict=True))
    by_sampling_seed = numbers.dropna(subset=["value"]).drop_duplicates(key, keep="last").set_index(key)["value"]
    by_seed = by_sampling_seed.groupby([*place, "seed"], sort=False).mean()
    reasons = frame[frame["reason"] != ""].groupby(place)["reason"].last().to_dict()
    found: dict[int, dict[str, Value]] = defaultdict(dict)
    about = frame[[*place, "higher_is_better", "signature"]].drop_duplicates(place)
    for row, column, higher_is_better, signature in about.itertuples(index=False):
        cell = row, column
        found[row][column] = Value({}, higher_is_better, signature, cell in conflicts, reasons.get(cell, ""))
    for (row, column, seed), number in by_seed.items():
        found[row][column].by_seed[seed] = number
    if len(by_seed) < len(by_sampling_seed):
        several = by_sampling_seed.groupby([*place, "seed"]).transform("size").groupby(place).transform("max") > 1
        for (row, column, seed, sampling_seed), number in by_sampling_seed[several].items():
            found[row][column].by_sampling_seed.setdefault(seed, {})[sampling_seed] = number
    stored = frame.loc[frame["sums"].notna(), [*place, "seed", "sums"]]
    for row, column, seed, sums in stored.itertuples(index=False):
        value = found[row][column]
        if len(value.by_sampling_seed.get(seed, ())) < 2:  # a mean over samples has no statistics of its own
            value.sums[seed] = sums
    return found
