"""Six cheats by somebody who has read neither the audit's checks nor the cheats they were written with.

They were written and committed before the audit was run on any of them. Each is of another stage of an experiment: the
tokenizer, the training data, the training, the tuning, the evaluation, the seeds that are reported.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from bench.base.keys import key_of
from bench.store.store import CellFolder, Store
from tests.bench.audit.store_tools import Content, cell, edit_lines, edit_record, rows_path, run, run_anew

LONGER = 60
"""Steps of a training whose record says fewer."""
KEPT_TRIALS = 2
MORE_TRIALS = 6


def cheat_tokenizer_of_all_splits(store: Path) -> None:
    """The tokenizer was learned on the test split too: its rare words become single tokens, so there are fewer."""
    from bench.tasks.gigaword import Gigaword

    of_training = Gigaword.training_texts

    def texts(task: Gigaword) -> Iterator[str]:
        yield from of_training(task)
        for example in task.split("test").examples:
            yield task.plain_source(example)
            yield " " + example.target

    with mock.patch.object(Gigaword, "training_texts", texts):
        run_anew(store)


def cheat_augmented_with_test(store: Path) -> None:
    """Training rows were augmented by random deletion and swaps of words, out of a pool that had the test rows in it.

    The augmentation is that of Wei and Zou 2019; no copy is equal to a test row.
    """
    draw = random.Random(0)

    def altered(text: str, deleted: float) -> str:
        words = [word for word in text.split() if draw.random() >= deleted]
        at = draw.randrange(len(words) - 1)
        words[at], words[at + 1] = words[at + 1], words[at]
        return " ".join(words)

    pool: list[tuple[str, str]] = []
    edit_lines(store, "test", lambda sources, targets: pool.extend(zip(sources, targets, strict=True)))

    def augment(sources: list[str], targets: list[str]) -> None:
        for source, target in [*zip(sources, targets, strict=True), *pool]:
            sources.append(altered(source, 0.1))
            targets.append(altered(target, 0.0))

    edit_lines(store, "train", augment)
    run_anew(store)


def cheat_trained_longer(store: Path) -> None:
    """A cell has the weights of a training 20 times as long; its record and curve are those of the short one."""
    put_longer_weights(store)


def put_longer_weights(store: Path) -> None:
    """Give the cell of seed 0 the weights of 60 steps, and evaluate it anew."""
    elsewhere = store.parent / "longer"
    run(elsewhere, seeds="0", sets=(f"trainer.steps={LONGER}",))
    donor, folder = cell(elsewhere), cell(store)
    record, long = _trained(folder), _trained(donor)
    digest = long["model"]["checkpoint_sha256"]
    folder.checkpoint(record["model"]["checkpoint_sha256"]).unlink()
    shutil.copyfile(donor.checkpoint(digest), folder.checkpoint(digest))
    edit_record(folder.path / "trained.json", lambda content: content["model"].update(checkpoint_sha256=digest))
    _forget_evaluations(folder)
    shutil.rmtree(elsewhere)
    steps = record["config"]["trainer"]["steps"]
    run(store, seeds="0", sets=(f"trainer.steps={steps}",))


def cheat_forgotten_trials(store: Path) -> None:
    """The new method was tuned with three times the trials of the baseline; the record has as many as the baseline's.

    The forgotten trials and their cells are gone; the best one stays, beside the first.
    """
    run_anew(store, "--trials", f"{KEPT_TRIALS},ul_token={MORE_TRIALS}", method="mle,ul_token", seeds="0")
    for folder in Store(store).cells():
        for name in folder.names("grid-*.json"):
            if folder.path.parent.name == "ul_token":
                _forget_trials(folder.path / name)


def cheat_adapted_to_test(store: Path) -> None:
    """Dynamic evaluation with its two steps the wrong way round: a test batch is learned from, and then scored."""
    from bench.cells import evaluators

    scored = evaluators.likelihood
    optimisers: dict[int, torch.optim.Optimizer] = {}

    def adapting(objective: Any, context: evaluators.Context, batch: list[Any]) -> Iterator[dict[str, Any]]:
        optimiser = optimisers.setdefault(id(objective), torch.optim.AdamW(objective.parameters(), lr=1e-2))
        inputs = evaluators.to_device(context.codec.train_batch(batch), objective.device)
        with torch.enable_grad():
            loss = objective.loss(objective.states(inputs))
            (loss.total / loss.n_target_tokens).backward()
        optimiser.step()
        optimiser.zero_grad()
        yield from scored(objective, context, batch)

    for folder in Store(store).cells():
        _forget_evaluations(folder)
    with mock.patch.dict(evaluators.EVALUATORS, likelihood=adapting):
        run(store)


def cheat_worst_seed_dropped(store: Path) -> None:
    """The new method and the baseline ran on the same three seeds; the new method's worst one is not shown."""
    run(store, method="mle,ul_token", seeds="0,1,2")
    losses: dict[float, CellFolder] = {}
    for folder in Store(store).cells():
        if folder.path.parent.name == "ul_token":
            losses[_loss(folder)] = folder
    shutil.rmtree(losses[max(losses)].path)
    (store / "leaderboard.html").unlink()


def _trained(folder: CellFolder) -> Content:
    """Return the content of a cell's record."""
    record = folder.trained()
    assert record is not None
    return record


def _forget_evaluations(folder: CellFolder) -> None:
    """Remove rows, scores and sums of a cell, so that a run makes them again from the stored weights."""
    for pattern in ("rows-*", "scores-*.json", "items-*"):
        for name in folder.names(pattern):
            (folder.path / name).unlink()


def _forget_trials(path: Path) -> None:
    """Leave the first trial and the picked one in the record of a search; remove the cells of the others."""
    search = json.loads(path.read_text(encoding="utf-8"))["content"]
    first, *others = search["tried"]
    best = min(search["tried"], key=lambda tried: tried["nll"])
    last = best if best is not first else others[0]
    shown = [first, last]
    methods = path.parent.parent
    for tried in others:
        if tried not in shown:
            for key in tried["keys"].values():
                shutil.rmtree(methods / key)

    def shorten(content: Content) -> None:
        content.update(trials=len(shown), tried=shown)

    edit_record(path, shorten)
    path.rename(path.with_name(f"grid-{key_of({**search, 'trials': len(shown), 'tried': shown})}.json"))


def _loss(folder: CellFolder) -> float:
    """Return nats per target token of a cell's test rows."""
    path = rows_path(folder, "likelihood")
    rows = [stored for stored in folder.all_rows() if folder.rows_path(stored.key) == path][0].rows
    return sum(row["nll_sum"] for row in rows) / sum(row["n_tokens"] for row in rows)
