"""What a method says of its training: a line before it, and a remark in the record that tables show."""

from pathlib import Path

from bench.store.store import Store
from tests.conftest import Bench

SMALL = ("run", "--task", "logicnlg", "--preset", "small", "--limit", "16", "--decode", "greedy", "--json",
         "--set", "trainer.steps=2", "trainer.batch_size=4", "backbone.width=16", "backbone.layers=1",
         "backbone.vocabulary=300")  # fmt: skip


def remarks(results: Path) -> dict[str, object]:
    """The remarks of each method's record."""
    records = [folder.trained() or {} for folder in Store(results).cells()]
    return {record["config"]["method"]: record.get("remarks") for record in records}


def test_a_remark_is_in_the_record_and_in_a_warning(bench: Bench, tmp_path: Path) -> None:
    """Loss truncation needs 1,000 rows before its first cut: two steps of four have eight, unless it is set to four."""
    short = bench(*SMALL, "--method", "mle,entmax,loss_truncation", "--results", str(tmp_path / "short"))
    long = bench(*SMALL, "method.size=4", "method.min_count=4", "--method", "loss_truncation",
                 "--results", str(tmp_path / "long"))  # fmt: skip
    assert (short.code, long.code) == (0, 0), short.err + long.err
    truncated = (
        "no row was left out, so this is maximum likelihood: its training saw 8 rows, and the first cut needs 1,000"
    )
    found = remarks(tmp_path / "short")
    assert (found["mle"], found["loss_truncation"]) == (None, [truncated])
    assert "(p + 1e-06) / (1 + 1e-06 V)" in found["entmax"][0]  # type: ignore[index]
    assert short.err.count(truncated) == 1
    assert f"small-encdec · seed 0: {found['entmax'][0]}" in short.err  # type: ignore[index]
    assert remarks(tmp_path / "long") == {"loss_truncation": None}
