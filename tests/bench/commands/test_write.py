"""`bench write`: a stored cell writes for a row or for a text of the user's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.store.store import Store
from tests.conftest import Ended

Bench = Callable[..., Ended]
SETS = ("--set", "trainer.steps=2", "backbone.width=16", "trainer.batch_size=4", "evaluation.rows=4")


@pytest.fixture
def cell(bench: Bench, tmp_path: Path) -> Path:
    ended = bench("run", "--task", "logicnlg", "--method", "adadec", "--preset", "small", "--quiet", *SETS,
                  "--results", str(tmp_path / "results"))  # fmt: skip
    assert ended.code == 0, ended.err
    (found,) = Store(tmp_path / "results").cells()
    return found.path


def test_write(bench: Bench, cell: Path) -> None:
    row = "sample-test-000.csv/0"
    plain = json.loads(bench("write", str(cell), "--row", row, "--json").out)
    assert len(plain["written"]) == 1
    assert plain["written"][0]["exemplar"], "the retrieved one"
    given = ["all of the films are old", "no film is older than another"]
    ended = bench("write", str(cell), "--row", row, "--exemplar", given[0], "--exemplar", given[1], "--json")
    found = json.loads(ended.out)
    assert [one["exemplar"] for one in found["written"]] == given
    assert found["source"] == plain["source"]
    own = bench("write", str(cell), "--source", "films : director is nobody", "--exemplar", given[0])
    assert own.code == 0
    assert own.out.splitlines()[:2] == ["source: films : director is nobody", f"exemplar: {given[0]}"]


def test_what_cannot_be_written(bench: Bench, cell: Path, tmp_path: Path) -> None:
    for arguments, code, message in (
        ((str(cell),), 2, "say what to write for"),
        ((str(cell), "--row", "a", "--source", "b"), 2, "say what to write for"),
        ((str(cell), "--row", "nowhere"), 2, "no row 'nowhere' in the test split"),
        ((str(tmp_path), "--row", "a"), 3, "has no config.yaml"),
    ):
        ended = bench("write", *arguments)
        assert (ended.code, len(ended.complaints)) == (code, 1)
        assert message in ended.complaints[0]
