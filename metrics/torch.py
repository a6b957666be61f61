"""Torchmetrics classes, one derived from each metric family: `update(preds, target)`, then a labelled `compute()`.

The state holds the counts of each row, or the row itself if the family is a plain function, as JSON lines in a tensor
of bytes, which torchmetrics can gather, copy and pickle. `compute` sorts the lines of all ranks by id, or by content if
there are no ids, and calls the family's scorer. So the result is the scorer's own, bit for bit, on any number of ranks
and batches; a verifier reads each text once, on the rank of its `update`.
"""

from __future__ import annotations

import inspect
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from bench.base.registry import load
from bench.metrics import CLASSES, METRICS, MetricEntry
from bench.metrics.columns import direction_of, expand, is_named
from bench.metrics.score import Family, Gold, Row, Score

__all__ = ["INPUTS", "FamilyMetric", "metric_class"]

Rows = list[dict[str, Any]]
Inputs = tuple[Rows, Rows]
"""Rows, and for each of them the fields that it is compared with."""

# Arguments of `update` --------------------------------------------------------------------------------------------


def references(preds: Sequence[str], target: Any) -> Inputs:
    """Texts, and for each text a reference or a list of references."""
    texts, targets = _paired(preds, target)
    listed = [[some] if isinstance(some, str) else list(some) for some in targets]
    if not all(listed):
        raise ValueError(f"expected one or more references for each text, got none for text {listed.index([])}")
    return [{"text": text} for text in texts], [{"references": some, "target": some[0]} for some in listed]


def sources(preds: Sequence[str], target: Any) -> Inputs:
    """Texts, and for each text the article or prompt from which it was generated."""
    texts, targets = _paired(preds, target)
    return [{"text": text} for text in texts], [{"source": source} for source in targets]


def fields(preds: Sequence[str], target: Any) -> Inputs:
    """Texts, and for each text a mapping with the fields that the family's entry names under `gold`."""
    texts, targets = _paired(preds, target)
    return [{"text": text} for text in texts], [dict(some) for some in targets]


def continuations(preds: Any, target: Any = None) -> Inputs:
    """Texts or token ids `[n][length]`, and the true continuations if a column compares with them."""
    if isinstance(preds, str):
        raise ValueError("expected a list of texts, got one text")
    if target is None:
        texts, targets = list(preds), None
    else:
        texts, targets = _paired(preds, target)
    rows = [_text_and_ids(text, "text", "token_ids") for text in texts]
    for row, true in zip(rows, targets or (), strict=targets is not None):
        row.update(_text_and_ids(true, "reference", "reference_ids"))
    return rows, [{} for _ in rows]


def likelihoods(preds: Tensor, target: Tensor, ignore_index: int | None = None) -> Inputs:
    """Logits `[B, T, V]` and target token ids `[B, T]`, one text in each row.

    Args:
        preds: logits or log-probabilities.
        target: token ids.
        ignore_index: value of the targets that are not counted.
    """
    if preds.ndim != 3 or preds.shape[:2] != target.shape:
        shapes = f"{tuple(preds.shape)} and {tuple(target.shape)}"
        raise ValueError(f"expected preds [B, T, V] and target [B, T], got {shapes}")
    rows: Rows = []
    for logits, ids in zip(preds, target, strict=True):
        kept = torch.ones_like(ids, dtype=torch.bool) if ignore_index is None else ids != ignore_index
        if (ids[kept] < 0).any():  # `cross_entropy` would leave some out that are counted
            raise ValueError(
                f"expected token ids from 0, got {ids[kept].min()}; set ignore_index to the label of padding"
            )
        losses = cross_entropy(logits[kept].detach().double(), ids[kept], reduction="none")
        rows.append({"nll_sum": math.fsum(losses.tolist()), "n_tokens": len(losses), "n_words": 0, "n_bytes": 0})
    return rows, [{} for _ in rows]


def stored(rows: Sequence[Row], gold: Gold | None = None) -> Inputs:
    """Rows as the store keeps them, each with its id, and by id the fields that they are compared with."""
    return [dict(row) for row in rows], [dict((gold or {}).get(row["id"], {})) for row in rows]


INPUTS: dict[str, Callable[..., Inputs]] = {
    function.__name__: function for function in (references, sources, fields, continuations, likelihoods, stored)
}
"""Name in a family's entry -> function with the arguments of `update`."""


def _paired(preds: Any, target: Any) -> tuple[list[Any], list[Any]]:
    """Return texts and one target for each of them.

    Raises:
        ValueError: the numbers differ, or a text has no list around it.
    """
    if isinstance(preds, str) or isinstance(target, str):
        raise ValueError("expected a list of texts and a list of targets, got one text")
    if len(preds) != len(target):
        raise ValueError(f"expected one target for each of {len(preds)} texts, got {len(target)}")
    return list(preds), list(target)


def _text_and_ids(text: Any, as_text: str, as_ids: str) -> dict[str, Any]:
    """Return the fields of a text, whose words replace token ids, or of token ids, whose numbers replace words."""
    if isinstance(text, str):
        return {as_text: text, as_ids: text.split()}
    ids = [int(token) for token in text]
    return {as_text: " ".join(map(str, ids)), as_ids: ids}


def _number_words(rows: Rows) -> None:
    """Replace words in the place of token ids by their alphabetical rank, which is the same on every process."""
    lists = [(row, name) for row in rows for name in ("token_ids", "reference_ids") if name in row]
    words = sorted({token for row, name in lists for token in row[name] if isinstance(token, str)})
    numbers = {word: number for number, word in enumerate(words)}
    for row, name in lists:
        row[name] = [numbers.get(token, token) for token in row[name]]


# The classes ------------------------------------------------------------------------------------------------------


class FamilyMetric(Metric):
    """A metric family over batches and ranks; `metric_class` makes one class for each name in `CLASSES`.

    >>> metric = metric_class("Rouge")(columns=["rouge-{1,l}"])
    >>> metric.update(["the river is wide"], [["a river is wide", "rivers"]])
    >>> {name: value.item() for name, value in metric.compute().items()}
    {'rouge-1': 75.0, 'rouge-l': 75.0}
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better: bool | None = None
    entry: MetricEntry
    pattern: str

    def __init__(self, *, columns: Sequence[str] | None = None, **kwargs: Any) -> None:
        """Make a metric without rows.

        Args:
            columns: patterns of the columns to compute, as in `bench.metrics.columns`; None for those of the class.
            **kwargs: arguments of `update` that stay the same (`ignore_index`), and those of `torchmetrics.Metric`.

        Raises:
            ValueError: the family has no such column.
        """
        of_update = inspect.signature(INPUTS[self.entry.inputs]).parameters
        self.options = {name: kwargs.pop(name) for name in list(kwargs) if name in of_update}
        super().__init__(**kwargs)
        self.patterns = tuple(columns or [self.pattern])
        if not self.columns and not any("*" in pattern for pattern in self.entry.columns):
            known = ", ".join(pattern[1:] for pattern in self.entry.columns)
            raise ValueError(f"no column for columns={self.patterns}; there are: {known}")
        # A MetricCollection lets metrics share states that have the same name, so the name is that of the scorer.
        self.state = f"rows_of_{self.entry.target.rpartition(':')[2]}"
        self.add_state(self.state, [], dist_reduce_fx="cat")

    @property
    def columns(self) -> list[str]:
        """Names of the columns, except those that contain the name of a tagger or parser."""
        names = [name for pattern in self.entry.columns for name in expand(pattern[1:]) if "*" not in name]
        return [name for name in names if _matches(name, self.patterns)]

    def update(self, *args: Any, ids: Sequence[str] | None = None, inputs: str = "", **kwargs: Any) -> None:
        """Add texts, possibly none.

        Args:
            *args: arguments of the function in `INPUTS` that the family's entry names, such as `preds` and `target`.
            ids: one id for each text. Texts without ids are sorted by content.
            inputs: name of another function in `INPUTS`.
            **kwargs: the same arguments by name.

        Raises:
            ValueError: the number of targets or ids is not that of the texts.
        """
        options = {} if inputs else self.options
        rows, gold = INPUTS[inputs or self.entry.inputs](*args, **{**options, **kwargs})
        if ids is not None and len(ids) != len(rows):
            raise ValueError(f"expected one id for each of {len(rows)} texts, got {len(ids)}")
        if not rows:
            return
        names = [row.pop("id", None) for row in rows] if ids is None else list(ids)
        compared = [{name: each[name] for name in self.entry.gold if name in each} for each in gold]
        kept: Sequence[Any] = list(zip(rows, compared, strict=True))
        scorer = load(self.entry.target)
        if isinstance(scorer, Family):
            keys = [str(place) if name is None else str(name) for place, name in enumerate(names)]
            named = [{**row, "id": key} for row, key in zip(rows, keys, strict=True)]
            kept = scorer.statistic(named, dict(zip(keys, compared, strict=True)))
        lines = [[None if name is None else str(name), each] for name, each in zip(names, kept, strict=True)]
        # Tensors and NumPy values become lists.
        text = "".join(json.dumps(line, sort_keys=True, default=lambda value: value.tolist()) + "\n" for line in lines)
        content = torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8)
        getattr(self, self.state).append(content.to(self.device))

    def compute(self) -> dict[str, Tensor]:
        """Return the value of each column, a float64 scalar; NaN where it is undefined."""
        values = {score.name: score.value for score in self.scores()} or dict.fromkeys(self.columns)
        return {
            name: torch.tensor(math.nan if value is None else value, dtype=torch.float64, device=self.device)
            for name, value in values.items()
        }

    def scores(self) -> list[Score]:
        """Return the scores of all rows so far, with signatures and sufficient statistics; empty without rows.

        Raises:
            ValueError: an id occurs twice.
        """
        held = getattr(self, self.state)
        if isinstance(held, list) and not held:
            return []
        # JSON escapes line breaks inside a row.
        lines = [json.loads(line) for line in sorted(dim_zero_cat(held).cpu().numpy().tobytes().decode().splitlines())]
        names = [f"~{place:012}" if line[0] is None else line[0] for place, line in enumerate(lines)]
        repeated = [name for name, times in Counter(names).items() if times > 1]
        if repeated:
            raise ValueError(f"expected each id once, got {len(repeated)} ids again, such as {repeated[0]!r}")
        kept = dict(sorted(zip(names, (line[1] for line in lines), strict=True)))
        if not kept:
            return []
        scorer = load(self.entry.target)
        if isinstance(scorer, Family):
            scores = scorer.scores(list(kept.values()))
        else:
            rows = [{**row, "id": name} for name, (row, _) in kept.items()]
            _number_words(rows)
            scores = scorer(rows, {name: compared for name, (_, compared) in kept.items()})
        return [score for score in scores if _matches(score.name, self.patterns)]

    def sync(self, *args: Any, **kwargs: Any) -> None:
        """Gather the rows of all ranks; torchmetrics calls this in `compute`."""
        held = getattr(self, self.state)
        if isinstance(held, list) and not held:  # torchmetrics would send floats for an empty list
            held.append(torch.zeros(0, dtype=torch.uint8, device=self.device))
        super().sync(*args, **kwargs)

    def set_dtype(self, dst_type: str | torch.dtype) -> FamilyMetric:
        """Change nothing: the state is bytes, and values are float64."""
        return self


def _matches(column: str, patterns: Sequence[str]) -> bool:
    return any(is_named(column, pattern) for pattern in patterns)


@cache
def metric_class(name: str) -> type[FamilyMetric]:
    """Return the torchmetrics class of a name in `CLASSES`; `from bench.metrics import Rouge` does the same.

    >>> metric_class("Distinct").higher_is_better
    True
    """
    family, pattern = CLASSES[name]
    entry = METRICS[family]
    columns = [column for pattern in entry.columns for column in expand(pattern[1:])]
    directions = {direction_of(column, entry.columns) for column in columns if is_named(column, pattern)}
    members = {
        "__doc__": f"{entry.summary[0].upper()}{entry.summary[1:]}. `update` has the arguments of `{entry.inputs}`.",
        "__module__": "bench.metrics",
        "__qualname__": name,
        "pattern": pattern,
        "entry": entry,
        "higher_is_better": directions.pop() if len(directions) == 1 else None,
    }
    return type(name, (FamilyMetric,), members)
