"""What a method says of its training: a remark in the record that tables show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench.store.store import Store
from tests.conftest import Ended

Bench = Callable[..., Ended]
SMALL = ("run", "--task", "logicnlg", "--preset", "small", "--limit", "16", "--decode", "greedy", "--json",
         "--set", "trainer.steps=2", "trainer.batch_size=4", "backbone.width=16", "backbone.layers=1",
         "backbone.vocabulary=300")  # fmt: skip


def test_maximum_likelihood_all_along_is_said(bench: Bench, tmp_path: Path) -> None:
    """The first cut needs 1,000 rows; two steps of four have eight. With fewer there is nothing to say."""
    short = bench(*SMALL, "--method", "loss_truncation", "--results", str(tmp_path / "short"))
    long = bench(*SMALL, "method.size=4", "method.min_count=4", "--method", "loss_truncation",
                 "--results", str(tmp_path / "long"))  # fmt: skip
    assert (short.code, long.code) == (0, 0), short.err + long.err
    said = "no row was left out, so this is maximum likelihood: its training saw 8 rows, and the first cut needs 1,000"
    assert short.err.count(said) == 1
    assert "no row was left out" not in long.err
    (found,), (without,) = (
        [folder.trained() for folder in Store(tmp_path / name).cells()] for name in ("short", "long")
    )
    assert found is not None
    assert without is not None
    assert found["remarks"] == [said]
    assert "remarks" not in without


def test_smoothed_likelihoods_are_said(bench: Bench, tmp_path: Path) -> None:
    ended = bench(*SMALL, "--method", "mle,entmax", "--results", str(tmp_path / "results"))
    assert ended.code == 0, ended.err
    remarks = {}
    for folder in Store(tmp_path / "results").cells():
        record = folder.trained()
        assert record is not None
        remarks[record["config"]["method"]] = record.get("remarks")
    assert remarks["mle"] is None
    (said,) = remarks["entmax"]
    assert "(p + 1e-06) / (1 + 1e-06 V)" in said
    assert f"small-encdec · seed 0: {said}" in ended.err
