"""Choice: which combination of a search is picked, and the validation values that it is picked by.

The learning rate is picked by the negative log-likelihood under the method's own distribution on the validation split,
for every method alike; never by a method's own loss, of which a ranking or penalty term may be a part. A method's own
options (`method.*`), which only a grid tries, each have their rate picked so. Among these the validation column decides
that the recipe or the user states in `trainer.select`, such as `rouge-l`; the likelihood where none is stated.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cells.cell import Cell
from bench.cells.search.search import method_options
from bench.cells.validation import is_lower_better
from bench.config.config import VALIDATED
from bench.store.store import cells_below

__all__ = ["Stated", "Tried", "best", "tried_of", "validation_nll"]

PERPLEXITY = "ppl/token"
"""The column whose logarithm is the negative log-likelihood per target token."""


@dataclass(frozen=True)
class Stated:
    """The value of the validation column in `trainer.select`, at the step that was kept, as a mean over seeds."""

    column: str
    value: float
    lower_is_better: bool

    @property
    def cost(self) -> float:
        """The value, or its negative where higher is better."""
        return self.value if self.lower_is_better else -self.value


@dataclass(frozen=True)
class Tried:
    """One combination of settings for one task and method.

    Args:
        sets: the combination, as typed after --set.
        keys: of its trained runs, by seed.
        nll: nats per target token of the validation split under the method's own distribution, mean over seeds; None
            where a seed has no finite one, as after a diverged training.
        stated: the stated column, where the combination sets options of the method itself and the run states one.
    """

    sets: tuple[str, ...]
    keys: dict[int, str]
    nll: float | None
    stated: Stated | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain content, keys by seed in their order."""
        keys = {str(seed): key for seed, key in sorted(self.keys.items())}
        content: dict[str, Any] = {"sets": list(self.sets), "keys": keys, "nll": self.nll}
        if self.stated is not None:
            content[self.stated.column] = self.stated.value
        return content


def tried_of(sets: tuple[str, ...], cells: Sequence[Cell]) -> Tried:
    """Return a combination with what it is picked by, from its runs of every seed."""
    stated = stated_column(cells) if cells and method_options(sets) else None
    return Tried(sets, {cell.config.seed: cell.key for cell in cells}, validation_nll(cells), stated)


def best(tried: Sequence[Tried]) -> Tried | None:
    """Return the combination that is picked, the first of equal ones; None where none has a likelihood.

    Of combinations with the same options of the method itself, that with the lowest negative log-likelihood wins. Of
    these winners the one with the best stated column is picked; that with the lowest negative log-likelihood where a
    column is not stated or not measured.
    """
    winners: dict[tuple[str, ...], Tried] = {}
    for each in sorted((each for each in tried if each.nll is not None), key=lambda each: each.nll or 0.0):
        winners.setdefault(method_options(each.sets), each)
    costs = {options: winner.stated.cost for options, winner in winners.items() if winner.stated is not None}
    if not winners or len(costs) < len(winners):
        return next(iter(winners.values()), None)
    return winners[min(costs, key=costs.__getitem__)]


def validation_nll(cells: Sequence[Cell]) -> float | None:
    """Return the nats per target token of the validation split under the method's own distribution, a mean over seeds.

    Runs that were merged from a snapshot have no predictions. For these it is what a stored search over the same runs
    says, or else the logarithm of the stored perplexity, which may differ in its last digit.

    Returns:
        None when a seed has none, as after a diverged training, or one that is not finite.
    """
    found = [_of_rows(cell) for cell in cells]
    if None in found and (recorded := _recorded(cells)) is not None:
        return recorded
    values = [_of_perplexity(cell) if value is None else value for cell, value in zip(cells, found, strict=True)]
    finite = [value for value in values if value is not None and math.isfinite(value)]
    return sum(finite) / len(finite) if finite and len(finite) == len(values) else None


def stated_column(cells: Sequence[Cell]) -> Stated | None:
    """Return the column that the runs state in `trainer.select`; None where it is a likelihood, or a seed has none."""
    trainer = cells[0].config.trainer
    if not trainer.select or trainer.select in VALIDATED:
        return None
    records = [cell.folder.trained() or {} for cell in cells]
    values = [record.get("train", {}).get("kept", {}).get("value") for record in records]
    if None in values:
        return None
    return Stated(trainer.select, statistics.fmean(values), is_lower_better(trainer, cells[0].task))


def _of_rows(cell: Cell) -> float | None:
    """Return the value of the predictions of a run's one evaluation; None where there are none."""
    (key,) = cell.evaluations
    stored = cell.folder.rows(key)
    if stored is None:
        return None
    nll = float(sum(row["nll_sum"] for row in stored.rows))
    return nll / sum(row["n_tokens"] for row in stored.rows)


def _recorded(cells: Sequence[Cell]) -> float | None:
    """Return the value that a stored search of the method has recorded for these runs; None where none tried them."""
    keys = {str(cell.config.seed): cell.key for cell in cells}
    for tried in _tried(cells[0].folder.path.parent, cells[0].config.evaluation.rows):
        if tried["keys"] == keys and tried["nll"] is not None and math.isfinite(tried["nll"]):
            return float(tried["nll"])
    return None


def _tried(method: Path, rows: int | None) -> Iterator[Mapping[str, Any]]:
    """Yield what the stored searches of a method have tried and repeated, if they were scored on as many rows."""
    for folder in cells_below(method):
        for search in folder.grids():
            if search.get("rows") == rows:
                yield from search["tried"]
                yield from search.get("play_off", ())


def _of_perplexity(cell: Cell) -> float | None:
    """Return the value that a run's stored perplexity stands for; None where there is none."""
    for content in cell.folder.all_scores():
        if content["rows"] not in cell.evaluations:
            continue
        for value in content["values"]:
            if value["name"] == PERPLEXITY and value["value"] is not None:
                return math.log(value["value"])
    return None
