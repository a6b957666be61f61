"""Parquet files of a user or publisher are read a batch at a time, however large their row groups are."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from bench.tasks.files.records import read_records
from tests.resident import STATUS, resident

ROWS = 40_000


def write_large(path: Path, row_group: int) -> None:
    """Write a column `text` of 150 MiB, so many rows in a group."""
    schema = pa.schema({"text": pa.string()})
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for i in range(0, ROWS, row_group):
            texts = [f"{i} {j} " + "some words of a news article " * 130 for j in range(row_group)]
            writer.write_table(pa.table({"text": texts}), row_group_size=row_group)
    pa.default_memory_pool().release_unused()


@pytest.mark.skipif(not STATUS.exists(), reason="needs /proc to know the memory of a process")
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
