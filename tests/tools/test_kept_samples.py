"""tools/kept_samples.py: the kept texts are those of the page."""

import json

import pytest

from bench.leaderboards.table import Table, table_ids, tables
from bench.store.store import Store
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
