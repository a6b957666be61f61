"""Validation while training: its curve, the step that is kept, an early end, and a schedule by epochs."""

from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import pytest

from bench.cells.cell import Cell
from bench.cells.work import train_and_evaluate
from bench.errors import UsageError
from bench.store.state_files import StateFiles
from bench.training.training import train
from tests.conftest import forget_data, penalised_method
from tests.e2e.resume import Case

pytestmark = pytest.mark.usefixtures("sample_data")

STEPS, EPOCH = 8, 5  # 30 rows in batches of 6


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Cell:
    """A training of mle without anything more."""
    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        forget_data(patch, folder / "no-cache")
        return Case("mle", STEPS).cell(folder)


def with_trainer(cell: Cell, **options: Any) -> Cell:
    """Return a cell with other options of its trainer."""
    return replace(cell, config=replace(cell.config, trainer=replace(cell.config.trainer, **options)))


def trained(cell: Cell, measured: list[float] | None = None, **options: Any) -> tuple[bytes, dict[str, Any]]:
    """Train with options; validations find what `measured` says, if it says something."""
    case = Case("mle", STEPS)
    if measured is None:
        return case.train(with_trainer(cell, **options))
    values = iter(measured)
    scores = {"of_texts": lambda: {"score": next(values)}, "lower_is_better": False}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "tests.e2e.resume.train",
            lambda *given, **named: train(*given, **named, **scores),
        )
        return case.train(with_trainer(cell, select="score", **options))


def test_a_validation_changes_no_weight(cell: Cell) -> None:
    weights, result = trained(cell)
    validated, found = trained(cell, validate=0.4)
    assert validated == weights
    assert [step for step, _ in found["validation"]] == [2, 4, 6, 8]
    assert set(found["validation"][0][1]) == {"nll", "loss", "ppl"}
    assert "validation" not in result
    assert "kept" not in found
    assert [step for step, _ in trained(cell, validate=9.0)[1]["validation"]] == [STEPS], "at the end, if not before"


def test_the_best_step_is_kept(cell: Cell) -> None:
    weights, found = trained(cell, [1.0, 3.0, 2.0, 2.5], validate=0.4)
    assert found["kept"] == {"by": "score", "of": 4, "step": 4, "value": 3.0}
    assert found["steps"] == STEPS
    last, _ = trained(cell, [1.0, 2.0, 3.0, 4.0], validate=0.4)
    first, _ = trained(cell, [4.0, 3.0, 2.0, 1.0], validate=0.4)
    assert last == trained(cell)[0]
    assert len({weights, last, first}) == 3


@pytest.mark.parametrize(
    ("measured", "patience", "steps", "kept"),
    [
        ([2.0, 2.0, 2.0, 2.0], 0, STEPS, 2),
        ([float("inf"), 1.0, float("nan"), 0.5], 0, STEPS, 4),
        ([3.0, 2.0, 1.0, 9.0], 2, 6, 2),
    ],
    ids=["the first of equals", "what is not finite", "patience"],
)
def test_which_step_is_kept(cell: Cell, measured: list[float], patience: int, steps: int, kept: int) -> None:
    found = trained(cell, measured, validate=0.4, patience=patience)[1]
    assert (found["steps"], found["kept"]["step"]) == (steps, kept)
    assert [step for step, columns in found["validation"] if "score" not in columns] == [
        step for (step, _), value in zip(found["validation"], measured, strict=False) if not isfinite(value)
    ], "no infinite value and no NaN is stored"


@pytest.mark.parametrize("column", ["nll", "ppl", "loss"])
def test_the_lowest_of_a_column_is_kept(cell: Cell, column: str) -> None:
    found = trained(cell, validate=0.4, select=column)[1]
    lowest = min(found["validation"], key=lambda point: point[1][column])
    assert found["kept"] == {"by": column, "of": 4, "step": lowest[0], "value": lowest[1][column]}


@pytest.fixture(scope="module")
def penalised(tmp_path_factory: pytest.TempPathFactory) -> Cell:
    """A method whose penalty is twice its likelihood: its loss falls with every step, and its likelihood with it."""
    folder = tmp_path_factory.mktemp("penalised")
    method = penalised_method(folder)
    with pytest.MonkeyPatch.context() as patch:
        forget_data(patch, folder / "no-cache")
        return Case(method, STEPS).cell(folder / "results")


def test_by_likelihood_and_not_by_a_loss_with_a_penalty(penalised: Cell) -> None:
    case = Case(penalised.method.name, STEPS)
    kept = {}
    for column in ("nll", "loss"):
        _, found = case.train(with_trainer(penalised, validate=0.4, select=column))
        kept[column] = found["kept"]["step"]
        points = [point for _, point in found["validation"]]
        assert [point["loss"] for point in points] == sorted((point["loss"] for point in points), reverse=True)
        assert [point["nll"] for point in points] == sorted(point["nll"] for point in points)
    assert kept == {"nll": 2, "loss": STEPS}


def test_patience_is_about_likelihood_unless_a_column_is_named(penalised: Cell) -> None:
    case = Case(penalised.method.name, STEPS)
    _, found = case.train(with_trainer(penalised, validate=0.4, patience=2))
    assert (found["steps"], found["kept"]["by"], found["kept"]["step"]) == (6, "nll", 2)
    assert with_trainer(penalised, validate=0.4, patience=2).config.trainer.content()["select"] == "nll"
    _, found = case.train(with_trainer(penalised, validate=0.4, patience=2, select="loss"))
    assert (found["steps"], found["kept"]["by"], found["kept"]["step"]) == (STEPS, "loss", STEPS)


def test_a_training_that_has_ended_early_does_not_go_on(penalised: Cell, tmp_path: Path) -> None:
    case, ends_early = Case(penalised.method.name, STEPS), with_trainer(penalised, validate=0.4, patience=2)
    states = StateFiles(tmp_path, 1)
    assert case.train(ends_early, states) == case.train(ends_early, states)


def test_a_rate_that_falls_by_epochs(cell: Cell) -> None:
    """A decay of 0 leaves the weights as they are after the first epoch."""
    after, _ = trained(cell, schedule="steps", warmup=0.0, decay=0.0, decay_epochs=1.0)
    at_end, _ = trained(cell, schedule="steps", warmup=0.0, decay=0.0, decay_epochs=1.0, steps=EPOCH)
    assert after == at_end


def test_the_record_says_what_was_measured_and_kept(tmp_path: Path) -> None:
    cell = Case("mle", 4).cell(tmp_path)
    cell = with_trainer(cell, validate=0.4, watch="table_bleu", select="bleu-1")
    train_and_evaluate(cell, [])
    record = cell.folder.trained()
    assert record is not None
    assert [step for step, _ in record["train"]["validation"]] == [2, 4]
    assert {"nll", "loss", "ppl", "bleu-1"} <= set(record["train"]["validation"][0][1])
    assert record["train"]["kept"]["by"] == "bleu-1"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"watch": "tabel_bleu"}, "did you mean 'table_bleu'"),
        (
            {"select": "bleu-1"},
            "'bleu-1', which this validation does not measure; there are: loss, nll, ppl; trainer.watch adds",
        ),
        ({"watch": "table_bleu", "select": "rouge-1"}, "sentence-bleu"),
        ({"validate": 0.0, "select": "loss"}, "need trainer.validate"),
    ],
)
def test_what_cannot_be_measured_is_refused(cell: Cell, options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        train_and_evaluate(with_trainer(cell, **{"validate": 1.0, **options}), [])
