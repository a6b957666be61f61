"""Parquet files of a user or publisher are read a batch at a time, however large their row groups are."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.tasks.files.records import read_records
from tests.resident import resident
from tests.tasks.large_parquet import NEEDS_PROC, ROWS, write_large


@NEEDS_PROC
@pytest.mark.parametrize("row_group", [1000, pytest.param(ROWS, marks=pytest.mark.slow)])
def test_a_large_file_is_read_in_little_memory(row_group: int, tmp_path: Path) -> None:
    """Measured from before the file is opened, so that a row group that is held as a whole shows."""
    path = tmp_path / "large.parquet"
    write_large(path, row_group)
    before, most = resident(), 0.0
    for record in read_records(path, columns={"text": "text"}):
        if record.number % 500 == 0:
            most = max(most, resident() - before)
    assert record.number == ROWS - 1
    assert most < 75, "MiB more than before; the text has 150"
