"""Replay: the first steps of a training and some rows of its evaluations once more, from the code and data here.

What comes out must be what is stored, to the rounding of another machine. So a checkpoint of another cell, a training
on other rows, a changed loss, edited rows and a distribution that does not sum to one show, however well the files fit
each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from bench.audit.finding import Finding, alarm, question
from bench.audit.remade import StoredCell, evaluation_of
from bench.base.autocast import autocast
from bench.base.seeds import seed_of
from bench.cells.build import build, exemplars_of, start
from bench.cells.cell import Cell
from bench.cells.evaluation import evaluate, wanted_rows, written
from bench.cells.evaluators import to_device
from bench.cells.validation import measure_of
from bench.cells.wanted import Evaluation
from bench.cells.watched import is_lower_better
from bench.models.core.objective import Objective
from bench.models.core.states import slices
from bench.store.checkpoints import load_checkpoint, load_verified
from bench.store.store import StoredRows
from bench.tasks.encode.codec import Codec, Encoded, tokenizer_hash
from bench.training.training import train

__all__ = ["Effort", "replay"]

LOSS_TOLERANCE = 1e-3
"""Relative difference of a loss or a likelihood that another machine explains; of the same one there is none."""
SUM_TOLERANCE = 1e-3
"""By how much the probabilities of all tokens may miss one."""
LOG_TOLERANCE = 0.02
"""By how much rounding may move a log-probability between two batches of one shape."""
FEW = 0.2
"""Share of texts, or of weights, that rounding may turn on another machine."""
COUNTED = ("n_tokens", "n_words", "n_bytes", "truncated")
NOT_REPLAYED = ("spectrum",)
"""Kinds of rows that are left out: one row of all examples together, in float64."""


@dataclass(frozen=True)
class Effort:
    """How much is done once more.

    Args:
        steps: first optimiser steps of a training; all of one that has no more.
        rows: of each evaluation, rounded up to whole batches.
    """

    steps: int = 10
    rows: int = 64


class Enough(Exception):
    """Ends a training that was to be replayed so far only."""


def replay(stored: StoredCell, cell: Cell, effort: Effort) -> list[Finding]:
    """Compare a cell with what its code, data and seed give once more, on as many CPU threads as it was made on.

    Raises:
        BenchError: its checkpoint is missing or damaged, or a model that it starts from is.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(stored.folder.provenance().get("environment", {}).get("threads") or threads)
    try:
        return list(replayed(stored, cell, effort))
    finally:
        torch.set_num_threads(threads)


def replayed(stored: StoredCell, cell: Cell, effort: Effort) -> Iterator[Finding]:
    """Yield what a replay finds."""
    if cell.method.is_baseline:
        for rows in stored.rows:
            yield from compare_texts(rows.rows, rows_of_baseline(cell, rows), place_of(stored, rows), exactly=True)
        return
    objective, codec = build(cell)
    said = stored.record["model"]
    if tokenizer_hash(codec.tokenizer) != said["tokenizer_sha256"]:
        yield alarm("tokenizer", stored.place, "its tokenizer is not the one that its training text gives")
        return
    weights = load_verified(stored.folder, dict(stored.record))
    yield from replay_training(stored, cell, objective, codec, weights, effort)
    load_checkpoint(objective, weights, stored.folder.path)
    objective.eval()
    yield from replay_rows(stored, cell, objective, codec, effort)


def rows_of_baseline(cell: Cell, rows: StoredRows) -> list[dict[str, Any]]:
    """Return what a baseline writes."""
    baseline: Any = cell.method.kind
    return list(written(baseline(), cell.task, evaluation_of(rows, cell.task)))


def place_of(stored: StoredCell, rows: StoredRows) -> str:
    """Name a rows file for people."""
    return f"{stored.place}, {rows.content['kind']} rows {rows.key}"


# Training ---------------------------------------------------------------------------------------------------------


def replay_training(
    stored: StoredCell, cell: Cell, objective: Objective, codec: Codec, weights: Mapping[str, Tensor], effort: Effort
) -> Iterator[Finding]:
    """Take the first steps of a training again; of a short one compare the weights that it ends with."""
    said = stored.record["train"]
    if said["steps"] and not said["curve"]:
        yield alarm("training", stored.place, "it has no curve of its losses, which every training leaves")
        return
    points = [(step, loss) for step, loss in said["curve"] if step <= effort.steps]
    is_whole = bool(said["steps"]) and said["steps"] <= effort.steps
    if said["steps"] and not points:
        yield question("training", stored.place, f"its curve has no loss of the first {effort.steps} steps to replay")
        return
    start(objective, cell, codec)
    curve: list[tuple[int, float]] = []

    def on_step(step: int, steps: int, values: dict[str, float]) -> None:
        curve.append((step, values["loss"]))
        if not is_whole and len(curve) == len(points):
            raise Enough

    result: Mapping[str, Any] = {}
    with suppress(Enough):
        result = train_again(cell, objective, codec, on_step)
    for (step, loss), (_, now) in zip(points, curve, strict=False):
        if not math.isclose(loss, now, rel_tol=LOSS_TOLERANCE, abs_tol=LOSS_TOLERANCE):
            text = f"the loss of step {step} is {loss}, and {now:.6f} when it is replayed"
            yield alarm("training", stored.place, text)
            return
    for name in ("steps", "tokens", "rows", "truncated", "status"):
        here = {**said, "status": stored.record["status"]}.get(name)
        if name in result and result[name] != here:
            yield alarm("training", stored.place, f"it says {name} {here}; a replay has {result[name]}")
    if is_whole or not said["steps"]:
        yield from compare_weights(stored, objective, weights)


def train_again(cell: Cell, objective: Objective, codec: Codec, on_step: Any) -> Mapping[str, Any]:
    """Train an objective as its cell says, in this process."""
    return train(
        objective,
        cell.task,
        codec,
        cell.config.trainer,
        cell.config.seed,
        exemplars=partial(exemplars_of, cell),
        on_step=on_step,
        measure=measure_of(cell, objective, codec, 0, 1),
        lower_is_better=is_lower_better(cell.config.trainer, cell.task),
    )


def compare_weights(stored: StoredCell, objective: Objective, weights: Mapping[str, Tensor]) -> Iterator[Finding]:
    """Compare the weights that a replay ends with and those that are stored; shared ones are stored once."""
    here = objective.state_dict()
    n = n_other = 0
    for name, tensor in weights.items():
        if name not in here or here[name].shape != tensor.shape:
            yield alarm("weights", stored.place, f"its checkpoint has a tensor '{name}' that its model does not have")
            return
        now = here[name].detach().cpu()
        close = torch.isclose(now.double(), tensor.double(), rtol=1e-3, atol=1e-5)
        n, n_other = n + close.numel(), n_other + int((~close).sum())
    if n_other > FEW * n:
        yield alarm("weights", stored.place, f"{n_other} of {n} weights are not those that its training ends with")


# Rows -------------------------------------------------------------------------------------------------------------


def replay_rows(
    stored: StoredCell, cell: Cell, objective: Objective, codec: Codec, effort: Effort
) -> Iterator[Finding]:
    """Make some rows of each evaluation again, likelihoods first: they say whether this machine has the same bits."""
    exactly = False
    for rows in sorted(stored.rows, key=lambda rows: rows.content["kind"] != "likelihood"):
        kind, place = rows.content["kind"], place_of(stored, rows)
        if kind in NOT_REPLAYED:
            continue
        what = evaluation_of(rows, cell.task)
        again = rows_again(cell, objective, codec, what, effort)
        if kind == "likelihood":
            yield from check_distribution(cell, objective, codec, what, place)
            yield from compare_likelihoods(rows.rows, again, place)
            exactly = same_bits(rows.rows, again)
        elif kind == "generation":
            yield from compare_texts(rows.rows, again, place, exactly)
        else:
            yield from compare_probes(rows.rows, again, place)


def rows_again(
    cell: Cell, objective: Objective, codec: Codec, what: Evaluation, effort: Effort
) -> list[dict[str, Any]]:
    """Return the rows of some batches of an evaluation, chosen by the key of the cell."""
    n_rows = len(wanted_rows(cell.task, codec, what, getattr(objective, "equal_targets", True))[1])
    n_batches = -(-n_rows // what.batch_size)
    n_again = min(n_batches, -(-effort.rows // what.batch_size))
    first = seed_of("audit", cell.key, what.kind) % max(1, n_batches)
    rows = []
    for number in range(first, first + n_again):
        rows += list(evaluate(objective, cell.task, codec, what, number % n_batches, n_batches))
    return rows


def paired(
    stored: Sequence[Mapping[str, Any]], again: Sequence[Mapping[str, Any]]
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return stored rows beside those made again, by id."""
    by_id = {row["id"]: row for row in stored}
    return [(by_id[row["id"]], row) for row in again if row["id"] in by_id]


def same_bits(stored: Sequence[Mapping[str, Any]], again: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether likelihoods are the same to the last bit, so that texts must be too."""
    pairs = paired(stored, again)
    return bool(pairs) and all(before["nll_sum"] == now["nll_sum"] for before, now in pairs)


def compare_likelihoods(
    stored: Sequence[Mapping[str, Any]], again: Sequence[Mapping[str, Any]], place: str
) -> Iterator[Finding]:
    """Compare log-likelihoods and counts."""
    for name in COUNTED:
        wrong = [now["id"] for before, now in paired(stored, again) if before[name] != now[name]]
        if wrong:
            yield alarm("rows", place, f"{name} of {len(wrong)} rows is another one, such as of {wrong[0]}")
    wrong = []
    for before, now in paired(stored, again):
        if not math.isclose(before["nll_sum"], now["nll_sum"], rel_tol=LOSS_TOLERANCE, abs_tol=LOSS_TOLERANCE):
            wrong.append(now["id"])
    if wrong:
        yield alarm("rows", place, f"the model gives {len(wrong)} of {len(again)} rows another likelihood")


def compare_texts(
    stored: Sequence[Mapping[str, Any]], again: Sequence[Mapping[str, Any]], place: str, exactly: bool
) -> Iterator[Finding]:
    """Compare texts: all of them where the bits are the same, else most."""
    pairs = paired(stored, again)
    wrong = [now["id"] for before, now in pairs if not same_text(before, now)]
    if not wrong:
        return
    text = f"the model writes another text for {len(wrong)} of {len(pairs)} rows, such as {wrong[0]}"
    if exactly or len(wrong) > FEW * len(pairs):
        yield alarm("rows", place, text)
    else:
        yield question("rows", place, f"{text}; another machine may explain it")


def same_text(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Return whether a row of a text is the same, with all it carries."""
    return all(before.get(name) == value for name, value in now.items())


def compare_probes(
    stored: Sequence[Mapping[str, Any]], again: Sequence[Mapping[str, Any]], place: str
) -> Iterator[Finding]:
    """Compare what was to be found, and the best token of each ranking."""
    pairs = paired(stored, again)
    if any(before["wanted"] != now["wanted"] for before, now in pairs):
        yield alarm("rows", place, "the words that are to be found are others")
    other = 0
    for before, now in pairs:
        rankings = [name for name in now if name not in ("id", "wanted")]
        other += any(before[name][:1] != now[name][:1] for name in rankings)
    if other > FEW * len(pairs):
        yield alarm("rows", place, f"the model has another best token for {other} of {len(pairs)} prompts")


def check_distribution(
    cell: Cell, objective: Objective, codec: Codec, what: Evaluation, place: str
) -> Iterator[Finding]:
    """Look whether the probabilities of all tokens sum to one, and know nothing of the token that is to be predicted.

    In one batch: each row's last token is exchanged for another one, which changes nothing that the model reads.
    """
    encoded = wanted_rows(cell.task, codec, what, getattr(objective, "equal_targets", True))[1][: what.batch_size]
    others = [replace(row, target=(*row.target[:-1], row.target[0])) for row in encoded]
    off_one = changed = 0.0
    both = zip(
        distributions(objective, codec, encoded, what), distributions(objective, codec, others, what), strict=True
    )
    for before, now in both:  # [n, V] each
        off_one = max(off_one, float(before.logsumexp(-1).exp().sub(1).abs().max()))
        differences = (before - now).nan_to_num(0.0).abs()  # both may have probability 0, -inf - -inf
        changed = max(changed, float(differences.max()))
    if not off_one <= SUM_TOLERANCE:
        yield alarm("distribution", place, f"the probabilities of all tokens miss 1 by up to {off_one:.3g}")
    if not changed <= LOG_TOLERANCE:
        text = f"log-probabilities change by up to {changed:.3g} with the token that is to be predicted"
        yield alarm("distribution", place, text)


def distributions(objective: Objective, codec: Codec, encoded: Sequence[Encoded], what: Evaluation) -> Iterator[Tensor]:
    """Yield the log-probabilities at every position of a batch, slice by slice, [n, V].

    Nothing is yielded inside `with`: two of these read side by side would end with gradients off for whoever comes
    next.
    """
    batch = to_device(codec.train_batch(list(encoded)), objective.device)
    with torch.no_grad(), autocast(what.precision, objective.device):
        states = objective.states(batch)  # type: ignore[arg-type]
    for rows in slices(states, objective.slice_size):
        with torch.no_grad(), autocast(what.precision, objective.device):
            log_probs = objective.log_probs(rows).double()
        yield log_probs
