"""Checkpoints by policy: what nobody needs goes when its cell is scored, what somebody needs stays."""

from pathlib import Path

import pytest

from bench.cells import run
from bench.cells.cell import Cell
from bench.errors import BenchError
from tests.conftest import Bench
from tests.e2e import stores


def arguments(results: Path, policy: str, *more: str, method: str = "mle") -> list[str]:
    """A run that says what it does."""
    given = stores.arguments(results, "--keep-checkpoints", policy, *more, task="ambiguous_template", method=method)
    return [text for text in given if text != "--quiet"]


def left(results: Path) -> dict[str, int]:
    """How many checkpoints each method has."""
    found: dict[str, int] = {}
    for path in results.rglob("trained.json"):
        method = path.parent.parent.name
        found[method] = found.get(method, 0) + len(list(path.parent.glob("model-*")))
    return found


def test_none_is_kept_and_it_is_said(bench: Bench, tmp_path: Path) -> None:
    """Nothing else goes: another run finds all it wants."""
    ended = bench(*arguments(tmp_path, "none"))
    assert ended.code == 0, ended.err
    assert left(tmp_path) == {"mle": 0}
    assert ended.err.count("--keep-checkpoints none: removed ") == 1
    scores = list(tmp_path.rglob("scores-*"))
    again = bench(*arguments(tmp_path, "none"))
    assert again.code == 0, again.err
    assert list(tmp_path.rglob("scores-*")) == scores
    assert "removed" not in again.err


def test_a_parent_keeps_its_own_until_its_children_are_done(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, int]] = []
    drop = run.drop_checkpoints

    def looked(*given: object) -> None:
        drop(*given)  # type: ignore[arg-type]
        seen.append(left(tmp_path))

    monkeypatch.setattr("bench.cells.run.drop_checkpoints", looked)
    ended = bench(*arguments(tmp_path, "none", method="face"))
    assert ended.code == 0, ended.err
    assert seen == [{"mle": 1}, {"mle": 0, "face": 0}]


def test_what_a_failed_child_needs_stays(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(cell: Cell, *_: object) -> None:
        if cell.method.name == "face":
            raise BenchError("as asked")

    monkeypatch.setattr("bench.cells.run.score_cell", fails)
    ended = bench(*arguments(tmp_path, "none", method="face"))
    assert ended.code == 1
    assert left(tmp_path) == {"mle": 1, "face": 1}


def test_one_that_cannot_be_removed_is_named(bench: Bench, tmp_path: Path) -> None:
    assert bench(*arguments(tmp_path, "all")).code == 0
    (path,) = tmp_path.rglob("model-*")
    path.unlink()
    path.mkdir()
    ended = bench(*arguments(tmp_path, "none"))
    assert ended.code == 1
    assert [f"cannot remove '{path}'" in line for line in ended.complaints] == [True]
