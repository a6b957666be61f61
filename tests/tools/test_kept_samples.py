"""tools/kept_samples.py: what makes a kept cell again, and that another model is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.leaderboards.table import Table, table_ids, tables
from bench.store.store import Store
from tests.conftest import call
from tools import kept_samples
from tools.regenerate import SAMPLE_TEXTS, without_sweeps

KEPT = Store(kept_samples.BOARD)


@pytest.fixture(scope="module")
def table() -> Table:
    """The kept table whose texts are shown."""
    (found,) = (without_sweeps(table) for table in tables(KEPT, [kept_samples.TASK])[0])
    return found


def test_the_kept_texts_are_of_rows_of_the_page(table: Table) -> None:
    content = json.loads(SAMPLE_TEXTS.read_text(encoding="utf-8"))
    assert set(content["samples"]) == set(content["samples_note"]) == set(table_ids([table]))
    (samples,) = content["samples"].values()
    assert len(samples) == kept_samples.N
    for sample in samples:
        assert set(sample["texts"]) == {row.id for row in kept_samples.shown_rows(table)}
        assert all(sample["texts"].values())
        assert sample["prompt"]
        assert sample["reference"]


def test_every_method_is_shown_once(table: Table) -> None:
    methods = [row.method for row in kept_samples.shown_rows(table)]
    assert sorted(methods) == sorted(kept_samples.METHODS)


@pytest.mark.usefixtures("sample_data")
@pytest.mark.parametrize("method", ["mle", "mle.continued"])
def test_a_record_makes_its_cell_again(method: str, tmp_path: Path) -> None:
    first = Store(tmp_path / "first")
    sets = ("trainer.steps=3", "trainer.batch_size=4", "evaluation.rows=6")
    words = ("run", "--task", "logicnlg", "--method", method, "--no-controls", "--quiet", "--results")
    assert call(*words, str(tmp_path / "first"), "--set", *sets).code == 0
    (one,) = tables(first, ["logicnlg"])[0]
    (row,) = (row for row in one.rows if row.method == method)
    cell = kept_samples.first_cell(first, one, row)
    kept_samples.make_again(kept_samples.record_of(cell), one, tmp_path / "again")
    again = Store(tmp_path / "again").cell("logicnlg", method, cell.path.name)
    kept_samples.check_same(cell, again, one.split)
    path = again.path / next(
        name for name in again.names("scores-*.json") if b"ppl/token" in (again.path / name).read_bytes()
    )
    record = json.loads(path.read_bytes())
    for value in record["content"]["values"]:
        value["value"] *= 1.01
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(SystemExit, match="expected .*, got"):
        kept_samples.check_same(cell, again, one.split)
