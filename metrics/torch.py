"""Torchmetrics classes, each derived from a metric family's entry: `update(preds, target)`, `compute()`.

A class keeps what its scorer needs of each row: the counts of a `Family`, or the row itself where the family is a plain
function. They are JSON lines in a tensor of bytes, which every habit of torchmetrics (sync, forward, merge, pickle)
carries as it is. `compute` puts the rows of all ranks in the order of their ids, or of their content where they have
none, and calls the scorer. So a class equals the scorer in every bit, on any number of ranks.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from bench.base.own_code import load
from bench.metrics import METRICS, MetricEntry
from bench.metrics.classes import MetricClass, class_named
from bench.metrics.columns import direction_of, expand, is_named
from bench.metrics.inputs import INPUTS, Inputs
from bench.metrics.score import Family, Gold, Row, Score, Scorer

__all__ = ["FamilyMetric", "class_of_entry", "metric_class"]


@dataclass(frozen=True)
class _Stored:
    """Stored rows, and what each is compared with, on their way through `update`."""

    rows: Sequence[Row]
    gold: Sequence[Mapping[str, Any]]


class FamilyMetric(Metric):
    """A metric family over batches and ranks; `metric_class` makes one for each name.

    >>> metric = metric_class("Rouge")(columns=["rouge-{1,l}"])
    >>> metric.update(["the river is wide"], [["a river is wide", "rivers"]])
    >>> {name: value.item() for name, value in metric.compute().items()}
    {'rouge-1': 75.0, 'rouge-l': 75.0}
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better: bool | None = None
    made_of = MetricClass("")
    family_entry: MetricEntry | None = None

    def __init__(
        self,
        *,
        n: int | None = None,
        max_n: int | None = None,
        columns: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """Start from nothing.

        Args:
            n: keep only columns of n-grams of this order.
            max_n: keep only columns of n-grams up to this order.
            columns: patterns of the columns to keep, as in `bench.metrics.columns`; None for those of the class.
            **kwargs: options of `update`'s inputs (`ignore_index`), and what `torchmetrics.Metric` takes.

        Raises:
            ValueError: the family has no such column.
        """
        options = inspect.signature(self.inputs.rows).parameters
        self.options = {name: kwargs.pop(name) for name in list(kwargs) if name in options}
        super().__init__(**kwargs)
        self.n, self.max_n = n, max_n
        self.patterns = tuple(columns or self.made_of.columns)
        if not self.columns and not any("*" in pattern for pattern in self.entry.columns):
            known = ", ".join(pattern[1:] for pattern in self.entry.columns)
            raise ValueError(f"no column for columns={self.patterns}, n={n}, max_n={max_n}; there are: {known}")
        self.target = self._target()
        # Metrics of one collection share states of one name, so the name says what made it.
        self.state = f"rows_of_{self.target.rpartition(':')[2]}"
        self.add_state(self.state, [], dist_reduce_fx="cat")

    @property
    def entry(self) -> MetricEntry:
        """The family's entry."""
        return self.family_entry or METRICS[self.made_of.family]

    @property
    def inputs(self) -> Inputs:
        """What turns `update`'s arguments into rows."""
        return INPUTS[self.entry.inputs]

    @property
    def scorer(self) -> Scorer:
        """The scorer, loaded when it is first used."""
        scorer: Scorer = load(self.target)
        return scorer

    @property
    def columns(self) -> list[str]:
        """Names of the columns, but for those that a machine's tagger or parser names."""
        names = [name for pattern in self.entry.columns for name in expand(pattern[1:]) if "*" not in name]
        return [name for name in names if self._keeps(name)]

    def update(self, *args: Any, ids: Sequence[str] | None = None, **kwargs: Any) -> None:
        """Add texts, possibly none.

        Args:
            *args: `preds` and `target`, as the family's function in `bench.metrics.inputs` takes them.
            ids: one for each text. Without them texts are put in the order of their content.
            **kwargs: the same by name.

        Raises:
            ValueError: not one target or id for each text.
        """
        if args and isinstance(args[0], _Stored):
            self._add(args[0].rows, args[0].gold, [str(row["id"]) for row in args[0].rows])
            return
        rows, gold = self.inputs.rows(*args, **{**self.options, **kwargs})
        if ids is not None and len(ids) != len(rows):
            raise ValueError(f"expected one id for each of {len(rows)} texts, got {len(ids)}")
        if ids is not None:
            ids = list(map(str, ids))
        self._add(rows, gold, ids)

    def update_rows(self, rows: Sequence[Row], gold: Gold) -> None:
        """Add stored rows and what they are compared with, by id; ids without a row are left out."""
        wanted = []
        for row in rows:
            given = gold.get(row["id"], {})
            wanted.append({name: given[name] for name in self.entry.gold if name in given})
        self.update(_Stored(rows, wanted))  # by `update`, which torchmetrics counts

    def compute(self) -> dict[str, Tensor]:
        """Return each column's value, a scalar in float64; not a number where it is not defined."""
        values: dict[str, float | None] = {score.name: score.value for score in self.scores()}
        values = values or dict.fromkeys(self.columns)
        return {name: self._tensor(value) for name, value in values.items()}

    def scores(self) -> list[Score]:
        """Return the scores of the texts so far with signatures, numbers of rows and sums; none before the first."""
        lines = self._lines()
        if not lines:
            return []
        ids, kept = [line[0] for line in lines], [line[1] for line in lines]
        scorer = self.scorer
        if isinstance(scorer, Family):
            scores = scorer.scores(kept)
        else:
            rows = [{**row, "id": name} for name, (row, _) in zip(ids, kept, strict=True)]
            gold = {name: fields for name, (_, fields) in zip(ids, kept, strict=True)}
            scores = scorer(self.inputs.gathered(rows), gold)
        return [score for score in scores if self._keeps(score.name)]

    def sync(self, *args: Any, **kwargs: Any) -> None:
        """Gather the rows of all ranks; called by `compute`."""
        held = getattr(self, self.state)
        if isinstance(held, list) and not held:  # torchmetrics would send floats
            held.append(torch.zeros(0, dtype=torch.uint8, device=self.device))
        super().sync(*args, **kwargs)

    def set_dtype(self, dst_type: str | torch.dtype) -> FamilyMetric:
        """Change nothing: the state is bytes, and values are float64."""
        return self

    def _add(self, rows: Sequence[Row], gold: Sequence[Mapping[str, Any]], ids: list[str] | None) -> None:
        if not rows:
            return
        scorer, names = self.scorer, ids or [str(place) for place in range(len(rows))]
        kept: Sequence[Any] = [(_without_id(row), fields) for row, fields in zip(rows, gold, strict=True)]
        if isinstance(scorer, Family):
            named = [{**row, "id": name} for row, name in zip(rows, names, strict=True)]
            kept = scorer.statistic(named, dict(zip(names, gold, strict=True)))
        given: Sequence[str | None] = ids or [None] * len(rows)
        lines = [json.dumps(line, sort_keys=True, default=_as_list) for line in zip(given, kept, strict=True)]
        content = bytearray("".join(f"{line}\n" for line in lines).encode())
        getattr(self, self.state).append(torch.frombuffer(content, dtype=torch.uint8).to(self.device))

    def _lines(self) -> list[tuple[str, Any]]:
        """Return an id and what is kept of every row, in the order of ids.

        Raises:
            ValueError: an id comes twice.
        """
        held = getattr(self, self.state)
        if isinstance(held, list) and not held:
            return []
        # JSON escapes every line break but those between rows.
        written = dim_zero_cat(held).cpu().numpy().tobytes().decode().splitlines()
        lines = [json.loads(line) for line in sorted(written)]
        for place, line in enumerate(lines):
            if line[0] is None:
                line[0] = f"~{place:012}"
        times = Counter([line[0] for line in lines])
        again = [name for name in times if times[name] > 1]
        if again:
            raise ValueError(f"expected each id once, got {len(again)} ids again, such as {again[0]!r}")
        return sorted(lines, key=lambda line: str(line[0]))

    def _target(self) -> str:
        """Return where the scorer is: that of the class's columns alone, unless others of the family are asked for."""
        for column in self.columns:
            if not any(is_named(column, pattern) for pattern in self.made_of.columns):
                return self.entry.target
        return self.made_of.scores or self.entry.target

    def _keeps(self, column: str) -> bool:
        if not any(is_named(column, pattern) for pattern in self.patterns):
            return False
        if self.n is None and self.max_n is None:
            return True
        order = re.search(r"-(\d+)", column)
        if order is None:
            return False
        if self.n is not None:
            return int(order[1]) == self.n
        return int(order[1]) <= (self.max_n or 0)

    def _tensor(self, value: float | None) -> Tensor:
        if value is None:
            value = math.nan
        return torch.tensor(value, dtype=torch.float64, device=self.device)


def _without_id(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "id"}


def _as_list(value: Any) -> Any:
    """Return a tensor, or a number or array of numpy, as JSON has it."""
    return value.tolist()


@cache
def metric_class(name: str) -> type[FamilyMetric]:
    """Return the torchmetrics class of a name; `from bench.metrics import Rouge` does the same.

    Raises:
        KeyError: there is no such class.

    >>> metric_class("Distinct").higher_is_better
    True
    """
    made_of = class_named(name, METRICS)
    return _class(name, made_of, METRICS[made_of.family])


def class_of_entry(name: str, entry: MetricEntry) -> type[FamilyMetric]:
    """Return the torchmetrics class of a metric family of one's own.

    Args:
        name: of the class.
        entry: of the family.
    """
    return _class(name, MetricClass(name), entry)


def _class(name: str, made_of: MetricClass, entry: MetricEntry) -> type[FamilyMetric]:
    columns = [column for pattern in entry.columns for column in expand(pattern[1:])]
    directions = set()
    for column in columns:
        if any(is_named(column, pattern) for pattern in made_of.columns):
            directions.add(direction_of(column, entry.columns))
    higher_is_better = None
    if len(directions) == 1:
        higher_is_better = directions.pop()
    about = f"{entry.summary[0].upper()}{entry.summary[1:]}. `update` takes what `inputs.{entry.inputs}` takes."
    members = {
        "__doc__": about,
        "__module__": "bench.metrics",
        "__qualname__": name,
        "made_of": made_of,
        "family_entry": entry,
        "higher_is_better": higher_is_better,
    }
    return type(name, (FamilyMetric,), members)
