"""Parquet files of a user or publisher are read a batch at a time, however large their row groups are."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from bench.tasks.files.records import read_records


def resident() -> float:
    """MiB of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc to know the memory of a process")
@pytest.mark.parametrize("row_group", [1000, 40_000])
def test_a_large_file_is_read_in_little_memory(row_group: int, tmp_path: Path) -> None:
    """Measured from before the file is opened, so that a row group that is held as a whole shows."""
    path, schema = tmp_path / "large.parquet", pa.schema({"text": pa.string()})
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for i in range(0, 40_000, row_group):
            texts = [f"{i} {j} " + "some words of a news article " * 130 for j in range(row_group)]
            writer.write_table(pa.table({"text": texts}), row_group_size=row_group)
    del texts
    pa.default_memory_pool().release_unused()
    before, most = resident(), 0.0
    for record in read_records(path, columns={"text": "text"}):
        if record.number % 500 == 0:
            most = max(most, resident() - before)
    assert record.number == 39_999
    assert most < 75, "MiB more than before; the text has 150"
