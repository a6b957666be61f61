"""A large parquet file, and how much memory this process has while somebody reads it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.resident import STATUS

__all__ = ["NEEDS_PROC", "ROWS", "write_large"]

ROWS = 40_000
NEEDS_PROC = pytest.mark.skipif(not STATUS.exists(), reason="needs /proc to know the memory of a process")


def write_large(path: Path, row_group: int) -> None:
    """Write a column `text` of 150 MiB, so many rows in a group."""
    schema = pa.schema({"text": pa.string()})
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for i in range(0, ROWS, row_group):
            texts = [f"{i} {j} " + "some words of a news article " * 130 for j in range(row_group)]
            writer.write_table(pa.table({"text": texts}), row_group_size=row_group)
    pa.default_memory_pool().release_unused()
