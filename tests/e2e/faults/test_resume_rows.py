"""One training serves many evaluations: more decodings add rows, never train again, and repeat to the last bit."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.cells.evaluation import evaluate
from bench.store.store import cells_below
from bench.tasks.encode.batches import evaluation_batches
from tests.conftest import Bench, call, forget_data
from tests.e2e import stores

DECODINGS = ("greedy", "topk=3", "nucleus=0.95", "beam=4")


def arguments(results: Path, *sets: str) -> list[str]:
    """A decoding of every mode, of one method on the generation task."""
    return stores.arguments(results, "--decode", ",".join(DECODINGS), task="logicnlg", method="trime", sets=sets)


def refuse(*_: Any, **__: Any) -> Any:
    raise AssertionError("this should not be done again")


@pytest.fixture(scope="module")
def decoded(matrix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trained matrix with all decodings of one cell; training it again would fail."""
    results = Path(shutil.copytree(matrix, tmp_path_factory.mktemp("decoded") / "results"))
    with pytest.MonkeyPatch.context() as patch:
        forget_data(patch, results / "no-cache")
        patch.setattr("bench.cells.work.train", refuse)
        found = call(*arguments(results))
    assert found.code == 0, found.err
    return results


@pytest.fixture
def again(decoded: Path, tmp_path: Path) -> Path:
    """A copy of `decoded` to work on."""
    return Path(shutil.copytree(decoded, tmp_path / "again"))


def cell(results: Path) -> Path:
    (folder,) = results.glob("logicnlg/trime/*")
    return folder


def generations(results: Path) -> dict[str, Sequence[Mapping[str, Any]]]:
    """Rows of each decoding by its name."""
    (folder,) = cells_below(cell(results))
    return {rows.content["decoding"]["name"]: rows.rows for rows in folder.all_rows() if rows.content["decoding"]}


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Time of the last change and bytes of every file."""
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.iterdir()}


def test_running_again_does_nothing(bench: Bench, decoded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("train", "build", "evaluate"):
        monkeypatch.setattr(f"bench.cells.work.{name}", refuse)
    before = state(cell(decoded))
    found = bench(*arguments(decoded))
    assert found.code == 0
    assert len(json.loads(found.out)["stored"]) == 1
    assert state(cell(decoded)) == before
    loud = [word for word in arguments(decoded) if word != "--quiet"]
    assert "stored already" in bench(*loud).err


@pytest.mark.parametrize("size", [3, 1, 8])
def test_samples_do_not_depend_on_batches(
    bench: Bench, decoded: Path, again: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Batches in reverse order, and rows in reverse order within each; or of another size, which is another evaluation.

    Its last bits may differ, and its samples may not.
    """

    def reversed_batches(rows: Any, size: int) -> Any:
        return [batch[::-1] for batch in evaluation_batches(rows, size)][::-1]

    if size == 3:
        monkeypatch.setattr("bench.cells.evaluation.evaluation_batches", reversed_batches)
    for path in cell(again).glob("rows-*"):
        path.unlink()
    assert bench(*arguments(again, f"evaluation.batch_size={size}")).code == 0
    expected = generations(decoded)
    for name, rows in generations(again).items():
        assert [(row["id"], row["token_ids"]) for row in rows] == [
            (row["id"], row["token_ids"]) for row in expected[name]
        ]


def test_another_seed_draws_others(decoded: Path) -> None:
    """With the same weights: samples change, greedy and beam do not."""
    cell, objective, codec = stores.loaded(arguments(decoded))
    for what in cell.evaluations.values():
        if what.decoding:
            first, second = (
                [row["token_ids"] for row in evaluate(objective, cell.task, codec, replace(what, seed=seed))]
                for seed in (0, 1)
            )
            assert (first != second) == what.decoding.samples


@pytest.mark.parametrize(("kind", "not_needed"), [("scores-*", ("train", "build", "evaluate")), ("rows-*", ("train",))])
def test_one_deleted_file_comes_back_alone(
    bench: Bench, decoded: Path, again: Path, monkeypatch: pytest.MonkeyPatch, kind: str, not_needed: tuple[str, ...]
) -> None:
    for name in not_needed:
        monkeypatch.setattr(f"bench.cells.work.{name}", refuse)
    before = state(cell(again))
    gone = sorted(cell(again).glob(kind))[0]
    gone.unlink()
    assert bench(*arguments(again)).code == 0
    assert {name for name, held in state(cell(again)).items() if before[name] != held} <= {gone.name}
    assert stores.contents(again) == stores.contents(decoded)
