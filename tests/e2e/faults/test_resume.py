"""What was done of a cell when a run was ended is not done again, and the cell ends as one that nobody has ended."""

from pathlib import Path
from typing import Any

import pytest

from bench.cells import evaluation
from bench.cells.cell import Cell
from bench.cells.evaluation import EVALUATORS
from bench.cells.run import tidy
from bench.cells.work import train_and_evaluate
from bench.launch.signals import Stopped
from bench.store.partial_rows import PARTIAL
from bench.store.state_files import STATE
from bench.training.events import Events
from bench.training.execution import Execution
from tests.conftest import forget_data
from tests.e2e import stores
from tests.e2e.resume import Case, differing

STEPS = 6


def end_after(patch: pytest.MonkeyPatch, kind: str, calls: int) -> list[int]:
    """Let the evaluators of a kind be called so often, then interrupt; return the sizes of their batches."""
    sizes: list[int] = []
    real = EVALUATORS[kind]

    def counted(objective: Any, context: Any, batch: list[Any]) -> Any:
        if len(sizes) == calls:
            raise Stopped
        sizes.append(len(batch))
        return real(objective, context, batch)

    patch.setitem(evaluation.EVALUATORS, kind, counted)
    return sizes


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    """A cell with thirty rows to evaluate, in eight batches of four."""
    return Case("mle", STEPS, batch=4).cell(tmp_path / "results")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The store of a cell that nothing has ended."""
    results = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        forget_data(patch, results / "no-cache")
        cell = Case("mle", STEPS, batch=4).cell(results / "results")
        train_and_evaluate(cell, list(cell.evaluations))
    return stores.contents(results / "results")


@pytest.mark.parametrize("after", [0.0, 1000.0], ids=["kept at once", "kept at the end"])
@pytest.mark.parametrize("kind", ["generation", "likelihood"])
def test_finished_batches_are_not_made_again(
    cell: Cell, undisturbed: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, after: float
) -> None:
    monkeypatch.setattr("bench.store.partial_rows.AFTER_S", after)
    with monkeypatch.context() as patch:
        first = end_after(patch, kind, 5)
        with pytest.raises(Stopped):
            train_and_evaluate(cell, list(cell.evaluations))
    assert len(first) == 5
    assert list((cell.folder.path / PARTIAL).iterdir())
    with monkeypatch.context() as patch:
        second = end_after(patch, kind, 1000)
        missing = [key for key in cell.evaluations if cell.folder.rows(key) is None]
        train_and_evaluate(cell, missing)
    assert sum(first) + sum(second) == 30
    assert stores.contents(tmp_path / "results") == undisturbed


def test_a_training_goes_on_where_it_was(
    cell: Cell, undisturbed: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []

    class Steps(Events):
        def step(self, step: int, of: int, values: dict[str, float]) -> None:
            steps.append(step)
            if steps == [1, 2, 3, 4]:
                raise Stopped

    with pytest.raises(Stopped):
        train_and_evaluate(cell, [], Execution(state_every=0), Steps())
    assert [path.name for path in sorted((cell.folder.path / STATE).iterdir())] == [
        "step-000000002.ckpt",
        "step-000000003.ckpt",
    ]
    train_and_evaluate(cell, list(cell.evaluations), Execution(state_every=0), Steps())
    assert steps == [1, 2, 3, 4, 4, 5, 6]
    assert stores.contents(tmp_path / "results") == undisturbed


def test_what_a_killed_run_has_left_goes(cell: Cell, undisturbed: dict[str, bytes], tmp_path: Path) -> None:
    train_and_evaluate(cell, list(cell.evaluations))
    for folder in (STATE, PARTIAL):
        (cell.folder.path / folder).mkdir()
    (cell.folder.path / STATE / "step-000000002.ckpt").write_bytes(b"old")
    for key in cell.evaluations:
        (cell.folder.path / PARTIAL / f"{key}.0-of-1.jsonl").write_bytes(b"old")
    tidy(cell)
    assert stores.contents(tmp_path / "results") == undisturbed


@pytest.mark.parametrize(
    "case",
    [
        Case("mle", accumulate=2),
        Case("histalign", validate=0.6),
        Case("face"),
        pytest.param(Case("ul_token_seq", precision="bf16-mixed"), marks=pytest.mark.slow),
        pytest.param(Case("f2softmax", accumulate=2, validate=0.4), marks=pytest.mark.slow),
    ],
    ids=lambda case: case.method,
)
def test_from_any_of_three_steps(case: Case, tmp_path: Path) -> None:
    """Within an epoch, at its end (30 rows are 5 steps), and at the last step."""
    assert differing(case, tmp_path, (3, 5, 8)) == []
