"""After training: batches are made when they are asked for, and processes wait for the first one."""

from typing import Any

import pytest
import torch

from bench.cells.build import build
from bench.cells.work import SplitBatches, fitted
from bench.errors import UsageError
from bench.training.events import SILENT, Events
from tests.bench.cells.plan.planned import TABLES, plan

pytestmark = pytest.mark.usefixtures("sample_data")
SMALL = ("backbone.width=16", "backbone.layers=1", "trainer.batch_size=3", "backbone.vocabulary=300")


def cell_of(method: str, *sets: str) -> Any:
    return plan(task=TABLES, method=method, sets=(*SMALL, *sets)).cells[-1]


def test_batches_are_those_of_the_split_in_order() -> None:
    cell = cell_of("mle")
    _, codec = build(cell)
    beats: list[tuple[str, int]] = []
    batches = SplitBatches(cell, codec, "train", torch.device("cpu"), Beats(beats))
    assert len(batches) == 3
    assert beats == []
    every = list(batches)
    assert [len(batch["labels"]) for batch in every] == [3, 3, 2]
    assert beats == [("after training", number) for number in (1, 2, 3)]
    whole = cell.task.encoded("train", codec)
    expected = codec.picked(whole, torch.arange(3, 6).numpy())
    assert torch.equal(batches[1]["labels"], expected["labels"])
    assert torch.equal(batches[-2]["labels"], expected["labels"])
    assert [len(batch["labels"]) for batch in batches[1:]] == [3, 2]
    with pytest.raises(IndexError):
        batches[3]


def test_validation_rows_are_those_that_validation_reads() -> None:
    _, codec = build(cell_of("mle"))
    some = SplitBatches(cell_of("mle", "trainer.validate_rows=4"), codec, "valid", torch.device("cpu"))
    assert [len(batch["labels"]) for batch in some] == [3, 1]


def test_no_validation_rows_are_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = cell_of("mle.cache")
    objective, codec = build(cell)
    monkeypatch.setattr(SplitBatches, "__len__", lambda self: 0)
    with pytest.raises(UsageError, match="which has no rows that fit the model; give the task more validation text"):
        fitted(cell, objective, codec, "ok", SILENT)


class Beats(Events):
    """Writes down every beat."""

    def __init__(self, beats: list[tuple[str, int]]) -> None:
        self.beats = beats

    def beat(self, stage: str, done: int) -> None:
        self.beats.append((stage, done))
