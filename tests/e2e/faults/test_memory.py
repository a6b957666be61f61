"""Too little memory: smaller micro-batches of the same step give the same weights; what was needed is remembered."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load

from bench.cells.work import failure_of, with_less_memory
from bench.errors import BenchError
from bench.store.state_files import STATE
from bench.training.execution import Execution
from tests.conftest import Bench
from tests.e2e import children, stores
from tests.e2e.children import Run

LARGE = "tests.e2e.methods:Large"
NOTE = "out of memory; it is trained with"


def arguments(results: Path, *more: str) -> list[str]:
    """A cell with batches of four rows."""
    return stores.arguments(results, *more, task="ambiguous_template", method=LARGE)


def left(results: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Provenance and weights of every trained cell, in order of their folders."""
    found = []
    for path in sorted(results.rglob("trained.json")):
        record = json.loads(path.read_text())
        (checkpoint,) = path.parent.glob("model-*")
        found.append((record["provenance"], load(checkpoint.read_bytes())))
    return found


@pytest.fixture
def whole(bench: Bench, tmp_path: Path) -> dict[str, Any]:
    """The weights of a run with memory enough."""
    assert bench(*arguments(tmp_path / "whole")).code == 0
    ((provenance, weights),) = left(tmp_path / "whole")
    assert provenance["accumulate"] == 1
    assert "out_of_memory" not in provenance
    return weights


def assert_close(weights: dict[str, Any], others: dict[str, Any]) -> None:
    """Equal but for rounding."""
    assert weights.keys() == others.keys()
    for name, weight in weights.items():
        assert float((weight - others[name]).abs().max()) <= 1e-6, name


@pytest.mark.parametrize(
    ("asked", "fits", "tries", "rows"),
    [
        ("", 1, 2, 1),  # halved from all four rows of a step
        ("", 2, 1, 2),  # all four rows at once do not fit
        ("1", 2, 0, 1),
        ("3", 2, 0, 2),  # three and one would be a larger one than two and two
    ],
)
def test_the_largest_micro_batch_that_fits(
    bench: Bench,
    tmp_path: Path,
    whole: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    asked: str,
    fits: int,
    tries: int,
    rows: int,
) -> None:
    """A step has four rows, whatever is asked for."""
    monkeypatch.setenv("FITS", str(fits))
    ended = bench(*arguments(tmp_path / "results", *(("--micro-batch", asked) if asked else ())))
    assert (ended.code, ended.err.count(NOTE)) == (0, tries), ended.err
    ((provenance, weights),) = left(tmp_path / "results")
    assert provenance["accumulate"] == 4 // rows
    assert provenance.get("out_of_memory", False) == (tries > 0)
    assert_close(weights, whole)
    assert not list((tmp_path / "results").rglob(STATE))


def test_a_micro_batch_has_rows(bench: Bench, tmp_path: Path) -> None:
    for wrong in ("0", "all", "1.5"):
        assert bench(*arguments(tmp_path / "results", "--micro-batch", wrong)).code == 2


@pytest.mark.slow
def test_not_even_one_row_fits(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FITS", "0")
    ended = bench(*arguments(tmp_path / "results"))
    assert ended.code == 1
    (said,) = json.loads(ended.out)["failed"].values()
    assert said.startswith(
        "out of memory with one row in a micro-batch (OutOfMemoryError: no memory for 1 rows); make "
    )


def test_the_last_try_has_one_row_in_a_micro_batch(tmp_path: Path) -> None:
    (cell,) = stores.planned(arguments(tmp_path / "results"))
    rows, error = cell.config.trainer.batch_size, torch.OutOfMemoryError("CUDA out of memory")
    assert with_less_memory(cell, Execution(accumulate=rows - 1), error).accumulate == rows
    assert "out of memory with 2 rows in a micro-batch" in failure_of(cell, rows - 1, error)


def test_an_evaluation_is_not_tried_again(bench: Bench, tmp_path: Path) -> None:
    """Its batches are no micro-batches of a step: the same would be tried, and notes would say what is not so."""
    given = arguments(tmp_path / "results")
    assert bench(*given).code == 0
    (cell,) = stores.planned(given)
    with pytest.raises(BenchError, match=r"in the evaluation .* batches smaller: --set evaluation\.batch_size=1"):
        with_less_memory(cell, Execution(), torch.OutOfMemoryError("CUDA out of memory"))


@pytest.mark.ddp
@pytest.mark.parametrize("large", [pytest.param("01", id="both", marks=pytest.mark.slow), pytest.param("1", id="one")])
def test_several_processes_say_which_setting_needs_less(run: Run, log: Path, tmp_path: Path, large: str) -> None:
    """Their run fails, and no other; with the setting it is done."""
    results = tmp_path / "results"
    asked = stores.arguments(results, "--devices", "2", task="ambiguous_template", method=f"{LARGE},mle")
    assert run(asked, children.fork_workers, FITS="1", LARGE=large) == 1, children.read(log)
    said = "failed: out of memory with 2 rows in a micro-batch (OutOfMemoryError: no memory for 2 rows); give it fewer "
    assert f" of 2 {said}rows: --micro-batch 1" in children.read(log)
    assert len(list(results.rglob("trained.json"))) == 1
    assert run([*asked, "--micro-batch", "1"], children.fork_workers, FITS="1", LARGE=large) == 0, children.read(log)
    assert len(list(results.rglob("trained.json"))) == 2
